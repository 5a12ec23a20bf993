import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf, vacuum } from '../../test/kit/blocks.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { listStock, listStockAsOf, type StockWalk } from './list-store.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
});
afterAll(() => service.stop());

/**
 * Products with a level each, whose names and SKUs are in the order of their numbers. All have the
 * word "oil", and the last eleven "rare"; behind the first 2,000, all have "late".
 */
async function shopOf(products: number) {
  const merchant = await service.given.merchant();
  const owner = await service.given.credential(merchant);
  const location = await service.given.location(merchant);
  await addLedger(service.db, owner, location, { levels: products, movements: 1 });
  await service.db.sql(
    `update products set name_key = 'oil ' || substr(id, 20), sku = substr(id, 20),
       search = (case when right(id, 6)::int > $2 - 11 then 'oil late rare'
         when right(id, 6)::int > $3 then 'oil late' else 'oil' end)::tsvector
     where merchant_id = $1`,
    [merchant, products, limits.levelsLookedAtMax],
  );
  await vacuum(service.db, 'products');
  return { merchant, location, products, api: service.api.as(owner.token) };
}

type Shop = Awaited<ReturnType<typeof shopOf>>;

/** What pages cost: the first, one in the middle, and the last. */
function costsOf(shop: Shop, sort: 'name' | 'sku', q: string | undefined): Promise<number[]> {
  const digits = (n: number) => String(n).padStart(26, '0');
  const places = [undefined, shop.products / 2, shop.products - 20].map((n) =>
    n === undefined
      ? undefined
      : {
          product: `prod_${digits(n)}`,
          key: (sort === 'name' ? 'oil ' : '0') + `prod_${digits(n)}`.slice(19),
        },
  );
  const walks = places.map((after): StockWalk => {
    const of = { merchant: shop.merchant as MerchantId, limit: 51, status: 'active', isLow: false };
    return { ...of, location: shop.location as GrantedLocationId, sort, q, after };
  });
  const position = String(shop.products / 2);
  const statements = walks.flatMap((walk) => [
    listStock(walk),
    listStockAsOf({ ...walk, position }),
  ]);
  return Promise.all(statements.map((one) => blocksOf(service.db, one)));
}

async function walk(shop: Shop, more: string): Promise<{ lengths: number[]; ids: string[] }> {
  const lengths: number[] = [];
  const ids: string[] = [];
  const path = `/stock?location_id=${shop.location}&limit=200${more}`;
  for (let cursor = ''; ; ) {
    const { status, body } = await shop.api.get(path + cursor);
    expect([status, body.error]).toEqual([200, undefined]);
    lengths.push(body.data.length);
    ids.push(...body.data.map((one: { product_id: string }) => one.product_id));
    if (body.meta.next_cursor === undefined) return { lengths, ids };
    cursor = `&cursor=${encodeURIComponent(body.meta.next_cursor)}`;
  }
}

test('a page costs its length wherever it lies, also of a moment and of words', async () => {
  const few = await shopOf(3_000);
  const many = await shopOf(30_000);
  for (const sort of ['name', 'sku'] as const) {
    for (const q of [undefined, 'oil', 'rare']) {
      const [before, after] = [await costsOf(few, sort, q), await costsOf(many, sort, q)];
      for (const [n, cost] of after.entries()) {
        const what = `${sort} ${q} ${n}: ${before} and ${after}`;
        // Three indexes have a level more; of rare words, 2,000 products are looked at before.
        const most = q === 'rare' ? 1.5 * Math.max(...before) : 1.5 * (before[n] ?? 0) + 50;
        expect(cost, what).toBeLessThanOrEqual(most);
      }
    }
  }
}, 120_000);

test('words that more than 20,000 have, far behind, are found over short pages', async () => {
  const first = 2 * limits.levelsLookedAtMax;
  const shop = await shopOf(first + limits.stockSortedMax + 100);
  await service.db.sql(
    `update products set search = 'oil'::tsvector
     where merchant_id = $1 and right(id, 6)::int <= $2`,
    [shop.merchant, first],
  );
  for (const more of ['', '&as_of=now']) {
    const { lengths, ids } = await walk(shop, `&q=late${more}`);
    expect(ids).toHaveLength(limits.stockSortedMax + 100);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(lengths.slice(0, 3)).toEqual([0, 0, 200]);
    const rare = await walk(shop, `&q=rare${more}`);
    expect(rare.lengths).toEqual([11]);
  }
}, 120_000);
