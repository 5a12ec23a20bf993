import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../test/kit/api.ts';
import { blocksOf, vacuum } from '../../test/kit/blocks.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { listStock } from './list-store.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
});
afterAll(() => service.stop());

async function newShop() {
  const merchant = await service.given.merchant();
  const owner = await service.given.credential(merchant);
  const location = await service.given.location(merchant);
  const api = service.api.as(owner.token);
  /** All that has run out, over pages of so many. */
  const low = async (more: string, limit = 200) => {
    const names: string[] = [];
    const lengths: number[] = [];
    const path = `/stock?location_id=${location}&low_stock=true&limit=${limit}${more}`;
    for (let cursor = ''; ; ) {
      const { status, body }: Answer = await api.get(path + cursor);
      expect([status, body.error]).toEqual([200, undefined]);
      names.push(...body.data.map(({ name }: { name: string }) => name));
      lengths.push(body.data.length);
      if (body.meta.next_cursor === undefined) return { names, lengths };
      cursor = `&cursor=${encodeURIComponent(body.meta.next_cursor)}`;
    }
  };
  return { merchant, owner, location, api, low };
}

describe('what has run out of the stock of a location', () => {
  let shop: Awaited<ReturnType<typeof newShop>>;
  const made = [
    { name: 'Never moved', sku: 'G', low_stock_at: '0' },
    { name: 'Much there', sku: 'F', low_stock_at: '5', there: 6 },
    { name: 'As little as that', sku: 'E', low_stock_at: '5', there: 5 },
    { name: 'Put aside', sku: 'D', low_stock_at: '5', there: 7, aside: 2 },
    { name: 'Says nothing', sku: 'C', low_stock_at: null, there: 1 },
    { name: 'Less than that', sku: 'B', low_stock_at: '100', there: 1 },
    { name: 'Gone', sku: 'A', low_stock_at: '2', there: 1, status: 'archived' },
    { name: 'Not counted', sku: '0', low_stock_at: '2', there: 1, inventory_tracked: false },
  ];

  beforeAll(async () => {
    shop = await newShop();
    const elsewhere = await service.given.location(shop.merchant);
    for (const { there, aside, status, inventory_tracked, ...body } of made) {
      const { data } = (await shop.api.post('/products', body)).body;
      const lines = (quantity = 0) => [{ product_id: data.id, quantity: `${quantity}` }];
      const receive = async (to_location_id: string, quantity: number) => {
        const sent = { to_location_id, reason: 'receipt', lines: lines(quantity) };
        expect((await shop.api.post('/inventory/transfers', sent)).status).toBe(201);
      };
      await receive(elsewhere, 1_000);
      if (there !== undefined) await receive(shop.location, there);
      const held = { location_id: shop.location, expires_at: null, lines: lines(aside) };
      if (aside !== undefined) await shop.api.post('/inventory/reservations', held);
      const change = {
        ...(status && { status }),
        ...(inventory_tracked === false && { inventory_tracked }),
      };
      const changed = await shop.api.patch(`/products/${data.id}`, change);
      expect(changed.status).toBe(200);
    }
  });

  test('is available at its low_stock_at or below, in each order, on any pages', async () => {
    const byName = ['As little as that', 'Less than that', 'Never moved', 'Put aside'];
    const bySku = ['Less than that', 'Put aside', 'As little as that', 'Never moved'];
    const byQuantity = ['Never moved', 'Less than that', 'As little as that', 'Put aside'];
    for (const limit of [1, 2, 3, 200]) {
      expect((await shop.low('', limit)).names).toEqual(byName);
      expect((await shop.low('&sort=sku', limit)).names).toEqual(bySku);
      expect((await shop.low('&sort=quantity', limit)).names).toEqual(byQuantity);
      const words = ['Less than that', 'As little as that'];
      expect((await shop.low('&q=that&sort=quantity', limit)).names).toEqual(words);
      expect((await shop.low('&q=that', limit)).names).toEqual(words.toReversed());
    }
    expect((await shop.low('&status=archived')).names).toEqual([]);
    const { body } = await shop.api.get(`/stock?location_id=${shop.location}&q=put%20aside`);
    const shown = { low_stock_at: '5', quantity: '7', available_quantity: '5' };
    expect(body.data).toMatchObject([shown]);
  });

  test('is asked for of now only, and by true', async () => {
    for (const [more, fields] of [
      ['&as_of=now', ['query.as_of', 'query.low_stock']],
      ['&as_of=now&sort=quantity', ['query.as_of', 'query.low_stock', 'query.sort']],
    ] as const) {
      const answer = await shop.api.get(
        `/stock?location_id=${shop.location}&low_stock=true${more}`,
      );
      expect([answer.status, answer.code]).toEqual([400, 'invalid_parameter']);
      const named = answer.body.error.details.map(({ field }: { field: string }) => field);
      expect(named).toEqual(fields);
    }
    const other = await shop.api.get(`/stock?location_id=${shop.location}&low_stock=false`);
    expect([other.status, other.code]).toEqual([400, 'invalid_parameter']);
  });
});

test('a page of what has run out looks at what may have, and at no more than may be', async () => {
  const costs: number[] = [];
  for (const products of [2 * limits.levelsLookedAtMax, limits.stockSortedMax + 2_000]) {
    const shop = await newShop();
    await addLedger(service.db, shop.owner, shop.location, { levels: products, movements: 1 });
    const say = (what: string) =>
      service.db.sql(
        `update products set name_key = substr(id, 20), low_stock_at = ${what}
         where merchant_id = $1`,
        [shop.merchant],
      );
    // One is there of each. Of a few it is little.
    await say(`case when right(id, 6)::int > ${products - 30} then 1 end`);
    await vacuum(service.db, 'products');
    const few = await shop.low('');
    expect(few.lengths).toEqual([30]);
    costs.push(
      await blocksOf(
        service.db,
        listStock({
          merchant: shop.merchant as MerchantId,
          location: shop.location as GrantedLocationId,
          ...{ status: 'active', sort: 'name', q: undefined, isLow: true, limit: 51 },
          after: undefined,
        }),
      ),
    );
    // All say what is little, and only the last are: so many are not sorted.
    await say(`case when right(id, 6)::int > ${products - 30} then 1 else 0 end`);
    await vacuum(service.db, 'products');
    const all = await shop.low('');
    expect(all.names).toEqual(few.names);
    const isShort = products > limits.stockSortedMax;
    expect(all.lengths.slice(0, 2)).toEqual(isShort ? [0, 30] : [30]);
  }
  const [few = 0, many = 0] = costs;
  expect(many, `${costs}`).toBeLessThanOrEqual(1.5 * few);
}, 120_000);
