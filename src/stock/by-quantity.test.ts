import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Api } from '../../test/kit/api.ts';
import { blocksOf, vacuum } from '../../test/kit/blocks.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { listByQuantity } from './by-quantity-store.ts';

interface Item {
  readonly product_id: string;
  readonly name: string;
  readonly quantity: string;
  readonly updated_at: string | null;
}

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
  return { merchant, owner, location, api: service.api.as(owner.token) };
}

async function adjust(api: Api, location_id: string, product_id = '', target = 0) {
  const body = { product_id, location_id, target_quantity: `${target}`, reason: 'correction' };
  expect((await api.post('/inventory/adjustments', body)).status).toBe(201);
}

const path = (location: string, more = '') => `/stock?location_id=${location}&sort=quantity${more}`;

async function walk(api: Api, one: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let rest: string | undefined = one; rest !== undefined; ) {
    const answer: Answer = await api.get(rest);
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    items.push(...answer.body.data);
    const { next_cursor: next } = answer.body.meta;
    rest = next === undefined ? undefined : `${one}&cursor=${encodeURIComponent(next)}`;
  }
  return items;
}

describe('the stock of a location by quantity', () => {
  let shop: Awaited<ReturnType<typeof newShop>>;
  /** In the order of their IDs: what is on hand of each, or null where it never moved. */
  const given = [7, null, 0.5, 100, null, 9, 7, 0, null];
  const ids: string[] = [];

  beforeAll(async () => {
    shop = await newShop();
    const elsewhere = await service.given.location(shop.merchant);
    for (const [n, quantity] of given.entries()) {
      const unit = { code: 'kg', precision: 1 };
      const name = `${n % 3 === 0 ? 'Third' : 'Other'} ${n}`;
      ids.push((await shop.api.post('/products', { name, unit })).body.data.id);
      await adjust(shop.api, elsewhere, ids[n], 50 - n);
      if (quantity === null) continue;
      await adjust(shop.api, shop.location, ids[n], quantity === 0 ? 3 : quantity);
      if (quantity === 0) await adjust(shop.api, shop.location, ids[n], 0);
    }
    for (const body of [{ inventory_tracked: false }, { status: 'archived' }]) {
      const { data } = (await shop.api.post('/products', { name: 'Third of all' })).body;
      await adjust(shop.api, shop.location, data.id, 8);
      await adjust(shop.api, shop.location, data.id, 0);
      await adjust(shop.api, shop.location, data.id, 8);
      await shop.api.patch(`/products/${data.id}`, body);
    }
  });

  const order = [1, 4, 7, 8, 2, 0, 6, 5, 3];

  test('is in the order of quantities, what never moved among zeros, on any pages', async () => {
    for (const limit of [1, 2, 3, 4, 9, 200]) {
      const items = await walk(shop.api, path(shop.location, `&limit=${limit}`));
      expect(items.map(({ product_id }) => ids.indexOf(product_id))).toEqual(order);
      expect(items.map(({ quantity }) => Number(quantity))).toEqual(
        order.map((n) => given[n] ?? 0),
      );
      expect(items.map(({ updated_at }) => updated_at === null)).toEqual(
        order.map((n) => given[n] === null),
      );
      const found = await walk(shop.api, path(shop.location, `&q=third&limit=${limit}`));
      expect(found.map(({ product_id }) => ids.indexOf(product_id))).toEqual(
        order.filter((n) => n % 3 === 0),
      );
    }
    const archived = await walk(shop.api, path(shop.location, '&status=archived'));
    expect(archived).toMatchObject([{ name: 'Third of all', quantity: '8' }]);
  });

  test('goes on from where a page ended, whatever has moved since', async () => {
    const first = await shop.api.get(path(shop.location, '&limit=6'));
    expect(first.body.data.at(-1)).toMatchObject({ product_id: ids[0], quantity: '7' });
    await adjust(shop.api, shop.location, ids[0], 1);
    await adjust(shop.api, shop.location, ids[8], 8);
    const { next_cursor: cursor } = first.body.meta;
    const rest = await walk(shop.api, path(shop.location, `&cursor=${cursor}`));
    expect(rest.map(({ product_id }) => ids.indexOf(product_id))).toEqual([6, 8, 5, 3]);
  });

  test('is refused of a moment, by the name of the parameter', async () => {
    for (const more of ['&as_of=now', '&as_of_position=0']) {
      const answer = await shop.api.get(path(shop.location, more));
      expect([answer.status, answer.code]).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toEqual([
        {
          field: 'query.sort',
          code: 'value_not_allowed',
          message: 'cannot be quantity with as_of or as_of_position',
        },
      ]);
    }
  });
});

describe('a page of stock by quantity', () => {
  const blocks = (shop: { merchant: string; location: string }, after?: [string, string]) =>
    blocksOf(
      service.db,
      listByQuantity({
        merchant: shop.merchant as MerchantId,
        location: shop.location as GrantedLocationId,
        ...{ status: 'active', q: undefined, isLow: false, limit: 51 },
        after: after && { key: after[0], product: after[1] },
      }),
    );

  const product = (n: number) => `prod_${String(n).padStart(26, '0')}`;

  const largest = extent(4_000, 20_000);

  test(`costs as much in ${largest} products as in 1,000, by what has moved there`, async () => {
    const costs: number[][] = [];
    for (const products of [1_000, largest]) {
      const shop = await newShop();
      const full = await service.given.location(shop.merchant);
      await addLedger(service.db, shop.owner, full, { levels: products, movements: 1 });
      // 200 of them are here as well, the last ones.
      const session = await service.db.session();
      await session.query("set session_replication_role = 'replica'");
      await session.query(
        `insert into inventory_levels select merchant_id, product_id, $2, 5, sequence,
           last_movement_id, first_position, updated_at
         from inventory_levels where merchant_id = $1 and product_id > $3`,
        [shop.merchant, shop.location, product(products - 200)],
      );
      await session.end();
      for (const table of ['products', 'inventory_levels']) await vacuum(service.db, table);
      const items = await walk(shop.api, path(shop.location, '&limit=200'));
      expect(items).toHaveLength(products);
      expect(items.at(-200)).toMatchObject({ quantity: '5', product_id: product(products - 199) });
      costs.push([
        await blocks(shop),
        await blocks(shop, ['0', product(products / 2)]),
        await blocks(shop, ['0', product(products - 200)]),
        await blocks(shop, ['5', product(products - 20)]),
      ]);
    }
    const [few = [], many = []] = costs;
    for (const [n, cost] of many.entries()) {
      // Three indexes have a level more, and 200 products are sought in them.
      expect(cost, `page ${n}: ${few} and ${many}`).toBeLessThanOrEqual((few[n] ?? 0) * 2);
    }
  }, 120_000);

  test('sorts 20,000 levels, looks at no more, and says so; words find what to sort', async () => {
    const shop = await newShop();
    const most = limits.stockSortedMax;
    await addLedger(service.db, shop.owner, shop.location, { levels: most, movements: 1 });
    for (const table of ['products', 'inventory_levels']) await vacuum(service.db, table);
    // All are there: the first page looks at every product, finds none that is not, and goes on.
    const first = await shop.api.get(path(shop.location));
    expect([first.status, first.body.data]).toEqual([200, []]);
    const { next_cursor: cursor } = first.body.meta;
    const second = await shop.api.get(path(shop.location, `&cursor=${cursor}`));
    expect(second.body.data[0]).toMatchObject({ product_id: product(1), quantity: '1' });
    const late = await service.given.product(shop.merchant);
    await adjust(shop.api, shop.location, late, 1);
    const cost = await blocks(shop);
    const more = await service.given.product(shop.merchant);
    await adjust(shop.api, shop.location, more, 1);
    expect(await blocks(shop)).toBeLessThanOrEqual(cost + 10);
    const refused = await shop.api.get(path(shop.location));
    expect([refused.status, refused.code]).toEqual([400, 'invalid_parameter']);
    expect(refused.body.error.details).toEqual([
      {
        field: 'query.sort',
        code: 'value_not_allowed',
        message: 'cannot be quantity with more than 20,000 levels at the location',
      },
    ]);
    await service.db.sql(
      'update products set search = $2::tsvector where merchant_id = $1 and name like $3',
      [shop.merchant, 'olive 1999', 'Olive oil 1999%'],
    );
    const found = await walk(shop.api, path(shop.location, '&q=olive%201999'));
    expect(found).toHaveLength(11);
  }, 120_000);
});
