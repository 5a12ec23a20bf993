import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;
let api: Api;
let merchant: string;
let store: string;
let warehouse: string;
let products: string[];

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  store = await service.given.location(merchant);
  warehouse = await service.given.location(merchant);
  products = [];
  for (let i = 0; i < 12; i += 1) products.push(await service.given.product(merchant));
  api = service.api.as((await service.given.credential(merchant)).token);
  for (const [index, product] of products.entries()) {
    await adjust(product, store, String(index + 1));
    if (index % 3 === 0) await adjust(product, warehouse, '50', 'external_adjustment');
  }
  await adjust(products[0] ?? '', store, '99', 'correction');
});
afterAll(() => service.stop());

async function adjust(product: string, location: string, target: string, reason = 'stock_count') {
  const answer = await api.post('/inventory/adjustments', {
    product_id: product,
    location_id: location,
    target_quantity: target,
    reason,
  });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

/** Follows next_cursor to the end. */
async function pages(caller: Api, path: string): Promise<Answer[]> {
  const found: Answer[] = [];
  let cursor: string | undefined;
  do {
    const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await caller.get(path + more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    found.push(answer);
    cursor = answer.body.meta.next_cursor;
  } while (cursor !== undefined);
  return found;
}

const itemsOf = (answers: readonly Answer[]) => answers.flatMap((answer) => answer.body.data);

describe('levels', () => {
  test('show what was adjusted the moment before, in every list and every time', async () => {
    const shop = await service.given.merchant();
    const own = service.api.as((await service.given.credential(shop)).token);
    const pair = {
      product_id: await service.given.product(shop),
      location_id: await service.given.location(shop),
    };
    const lists = [
      `/inventory/levels?location_id=${pair.location_id}`,
      `/products/${pair.product_id}/levels`,
    ];
    for (let target = 1; target <= 5; target += 1) {
      const change = { ...pair, target_quantity: `${target}`, reason: 'correction' };
      expect((await own.post('/inventory/adjustments', change)).status).toBe(201);
      for (const list of lists) {
        const [level] = (await own.get(list)).body.data;
        expect([list, level?.quantity, level?.version]).toEqual([list, String(target), target]);
      }
    }
  });

  test('of a location are listed by product, each exactly once over all pages', async () => {
    const found = await pages(api, `/inventory/levels?location_id=${store}&limit=5`);
    expect(found.map((page) => page.body.data.length)).toEqual([5, 5, 2]);
    const ids = itemsOf(found).map((level) => level.product_id);
    expect(ids).toEqual([...products].sort());
    expect(found.at(-1)?.body.meta).not.toHaveProperty('next_cursor');
  });

  test('end without a cursor also when the last page is full', async () => {
    const found = await pages(api, `/inventory/levels?location_id=${store}&limit=6`);
    expect(found.map((page) => page.body.data.length)).toEqual([6, 6]);
  });

  test('are narrowed by up to 100 products, unknown ones giving no row', async () => {
    const wanted = [products[0], products[4], 'prod_unknown', 'x', '\u0000'];
    const filter = wanted.map((id) => `product_id=${encodeURIComponent(id ?? '')}`).join('&');
    const answer = await api.get(`/inventory/levels?location_id=${store}&${filter}`);
    const ids = answer.body.data.map((level: { product_id: string }) => level.product_id);
    expect(ids).toEqual([products[0], products[4]].sort());
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => `product_id=p${i}`).join('&');
    const path = `/inventory/levels?location_id=${store}&`;
    expect((await api.get(path + many(100))).status).toBe(200);
    const tooMany = await api.get(path + many(101));
    expect(tooMany.code).toBe('invalid_parameter');
    expect(tooMany.body.error.details[0]).toMatchObject({
      field: 'query.product_id',
      code: 'too_many',
    });
  });

  test('need a granted location, and say the same of unknown and ungranted ones', async () => {
    expect((await api.get('/inventory/levels')).code).toBe('missing_parameter');
    const clerk = service.api.as(
      (await service.given.credential(merchant, { locations: [store] })).token,
    );
    expect((await clerk.get(`/inventory/levels?location_id=${store}`)).status).toBe(200);
    const ungranted = await clerk.get(`/inventory/levels?location_id=${warehouse}`);
    const unknown = await clerk.get('/inventory/levels?location_id=loc_unknown');
    const nowhere = await api.get('/inventory/levels?location_id=loc_unknown');
    for (const answer of [ungranted, unknown, nowhere]) {
      expect(answer.status).toBe(403);
      expect(answer.body.error).toEqual(ungranted.body.error);
      expect(answer.code).toBe('location_not_granted');
    }
    const two = `/inventory/levels?location_id=${store}&location_id=${warehouse}`;
    expect((await api.get(two)).code).toBe('invalid_parameter');
  });

  test('that changed since a moment are found, the moment included', async () => {
    const last = (await api.get(`/inventory/movements?limit=1`)).body.data[0];
    const since = encodeURIComponent(last.recorded_at);
    const answer = await api.get(`/inventory/levels?location_id=${store}&updated_after=${since}`);
    const changed = answer.body.data.find(
      (level: { product_id: string }) => level.product_id === products[0],
    );
    expect(changed).toMatchObject({
      quantity: '99',
      version: 2,
      last_movement_id: last.id,
      updated_at: last.recorded_at,
    });
    const later = await api.get(
      `/inventory/levels?location_id=${store}&updated_after=2999-01-01T00:00:00Z`,
    );
    expect(later.body.data).toEqual([]);
  });

  test('never show the lock anchor of a refused first adjustment', async () => {
    const product = await service.given.product(merchant);
    const refused = await api.post('/inventory/adjustments', {
      product_id: product,
      location_id: store,
      target_quantity: '0',
      reason: 'stock_count',
    });
    expect(refused.code).toBe('inventory_no_change');
    const levels = `/inventory/levels?location_id=${store}&product_id=${product}`;
    expect((await api.get(levels)).body.data).toEqual([]);
    expect((await api.get(`/products/${product}/levels`)).body.data).toEqual([]);
  });

  test('of a product are listed by location, only granted ones', async () => {
    const path = `/products/${products[0]}/levels`;
    const everywhere = (await api.get(path)).body.data;
    const places = everywhere.map((level: { location_id: string }) => level.location_id);
    expect(places).toEqual([store, warehouse].sort());
    const clerk = service.api.as(
      (await service.given.credential(merchant, { locations: [warehouse] })).token,
    );
    expect((await clerk.get(path)).body.data).toHaveLength(1);
    expect((await api.get('/products/prod_unknown/levels')).code).toBe('not_found');
  });
});

describe('movements', () => {
  test('are listed newest first or oldest first, each once over all pages', async () => {
    const newest = itemsOf(await pages(api, '/inventory/movements?limit=4'));
    expect(newest).toHaveLength(17);
    const ids = newest.map((movement) => movement.id);
    expect(ids).toEqual([...ids].sort().reverse());
    const oldest = itemsOf(await pages(api, '/inventory/movements?limit=4&order=asc'));
    expect(oldest.map((movement) => movement.id)).toEqual([...ids].reverse());
  });

  test('are narrowed by every filter, alone and together', async () => {
    const all = itemsOf(await pages(api, '/inventory/movements?limit=200'));
    type Movement = (typeof all)[number];
    const cases: [string, (movement: Movement) => boolean][] = [
      [`location_id=${warehouse}`, (m) => m.location_id === warehouse],
      [`product_id=${products[0]}`, (m) => m.product_id === products[0]],
      [
        `product_id=${products[0]}&product_id=${products[3]}&location_id=${store}`,
        (m) => [products[0], products[3]].includes(m.product_id) && m.location_id === store,
      ],
      ['reason=external_adjustment', (m) => m.reason === 'external_adjustment'],
      [`reason=correction&location_id=${warehouse}`, () => false],
      [`operation_id=${all[3].operation_id}`, (m) => m.id === all[3].id],
      [
        `operation_id=${all[3].operation_id}&reason=correction`,
        (m) => m.id === all[3].id && m.reason === 'correction',
      ],
      [`recorded_after=${all[5].recorded_at}`, (m) => m.recorded_at >= all[5].recorded_at],
      [`recorded_before=${all[5].recorded_at}`, (m) => m.recorded_at < all[5].recorded_at],
      [
        `recorded_after=${all[9].recorded_at}&recorded_before=${all[2].recorded_at}`,
        (m) => m.recorded_at >= all[9].recorded_at && m.recorded_at < all[2].recorded_at,
      ],
    ];
    for (const [filter, keeps] of cases) {
      const found = itemsOf(await pages(api, `/inventory/movements?limit=3&${filter}`));
      const expected = all.filter(keeps).map((movement) => movement.id);
      expect(
        found.map((movement) => movement.id),
        filter,
      ).toEqual(expected);
    }
  });

  test('are seen only at granted locations, by list and by ID', async () => {
    const { token } = await service.given.credential(merchant, { locations: [warehouse] });
    const clerk = service.api.as(token);
    const seen = itemsOf(await pages(clerk, '/inventory/movements?limit=2'));
    expect(seen).toHaveLength(4);
    expect(new Set(seen.map((movement) => movement.location_id))).toEqual(new Set([warehouse]));
    const [hidden] = (await api.get(`/inventory/movements?location_id=${store}`)).body.data;
    const masked = await clerk.get(`/inventory/movements/${hidden.id}`);
    const unknown = await clerk.get('/inventory/movements/imv_unknown');
    expect(masked.status).toBe(404);
    expect(masked.body.error).toEqual(unknown.body.error);
    const none = service.api.as(
      (await service.given.credential(merchant, { locations: [] })).token,
    );
    expect((await none.get('/inventory/movements')).body.data).toEqual([]);
  });

  test('committed before the first page appear exactly once while others are written', async () => {
    const before = itemsOf(await pages(api, '/inventory/movements?limit=200'));
    let isOver = false;
    let target = 1_000;
    const writers = Array.from({ length: 4 }, async (_, index) => {
      while (!isOver) {
        target += 1;
        await adjust(products[index] ?? '', store, String(target));
      }
    });
    const during = [];
    for (let round = 0; round < 5; round += 1) {
      during.push(itemsOf(await pages(api, '/inventory/movements?limit=7')));
    }
    isOver = true;
    await Promise.all(writers);
    for (const found of during) {
      const ids = found.map((movement) => movement.id);
      expect(new Set(ids).size).toBe(ids.length);
      const old = new Set(before.map((movement) => movement.id));
      expect(ids.filter((id) => old.has(id))).toHaveLength(before.length);
    }
  });
});

describe('a time', () => {
  test('may have any offset and precision that RFC 3339 allows', async () => {
    const times = [
      '2026-01-01T00:00:00+23:59',
      '0001-01-01T00:00:00-23:59',
      '9999-12-31t23:59:59z',
    ];
    for (const time of [...times, '9999-12-31T23:59:59.999999999-23:59']) {
      const at = encodeURIComponent(time);
      for (const filter of [`recorded_after=${at}`, `recorded_before=${at}`]) {
        expect((await api.get(`/inventory/movements?${filter}`)).status, time).toBe(200);
      }
      const levels = `/inventory/levels?location_id=${store}&updated_after=${at}`;
      expect((await api.get(levels)).status, time).toBe(200);
    }
  });
});

describe('a cursor', () => {
  test('stays with its route, merchant, credential’s reach and filters', async () => {
    const path = `/inventory/levels?location_id=${store}&limit=2`;
    const cursor = encodeURIComponent((await api.get(path)).body.meta.next_cursor);
    const other = await service.given.merchant();
    const foreign = service.api.as((await service.given.credential(other)).token);
    const mismatch = await api.get(
      `/inventory/levels?location_id=${warehouse}&limit=2&cursor=${cursor}`,
    );
    expect(mismatch.code).toBe('invalid_cursor');
    expect(mismatch.body.error.details[0].code).toBe('filter_mismatch');
    for (const answer of [
      await api.get(`/inventory/movements?cursor=${cursor}`),
      await foreign.get(`/inventory/movements?cursor=${cursor}`),
    ]) {
      expect(answer.code).toBe('invalid_cursor');
      expect(answer.body.error.details[0].code).toBe('malformed');
    }
    const { id, token } = await service.given.credential(merchant, { locations: [store] });
    const clerk = service.api.as(token);
    const longer = `/inventory/levels?location_id=${store}&limit=100&cursor=${cursor}`;
    expect((await clerk.get(longer)).body.data).toHaveLength(10);
    await service.db.sql(`update credentials set location_ids = '{}' where id = $1`, [id]);
    expect((await clerk.get(longer)).code).toBe('location_not_granted');
  });
});
