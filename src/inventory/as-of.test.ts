import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { blocksOf } from '../../test/kit/blocks.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { addLedger, ageLedger } from '../../test/kit/ledger.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { listLevelsAsOf } from './as-of-store.ts';

interface Level {
  readonly product_id: string;
  readonly location_id: string;
  readonly quantity: string;
  readonly version: number;
  readonly last_movement_id: string;
  readonly updated_at: string;
  readonly counted_at: null;
  readonly counted_by: null;
}

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
});
afterAll(() => service.stop());

/** A merchant with two locations and some products, and what was written there. */
async function newShop(products: number) {
  const { given } = service;
  const merchant = await given.merchant();
  const owner = await given.credential(merchant);
  const make = (count: number, one: () => Promise<string>) =>
    Promise.all(Array.from({ length: count }, one));
  return {
    owner,
    merchant,
    api: service.api.as(owner.token),
    products: (await make(products, () => given.product(merchant))).sort(),
    locations: (await make(2, () => given.location(merchant))).sort(),
  };
}

type Shop = Awaited<ReturnType<typeof newShop>>;

async function adjust(api: Api, product_id = '', location_id = '', target = 1): Promise<Answer> {
  const body = { product_id, location_id, target_quantity: `${target}`, reason: 'correction' };
  const key = newKey();
  const answer = await served(() => api.post('/inventory/adjustments', body, { key }));
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer;
}

/** Follows the cursors to the end: all levels, and the moment that every page names. */
async function walk(api: Api, path: string, more = ''): Promise<{ levels: Level[]; meta: object }> {
  const levels: Level[] = [];
  let meta: object | undefined;
  for (let cursor = ''; ; ) {
    const answer = await served(() => api.get(`${path}${more}${cursor}`));
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    levels.push(...answer.body.data);
    const { as_of_position, journal, next_cursor } = answer.body.meta;
    meta ??= { as_of_position, journal };
    expect({ as_of_position, journal }).toEqual(meta);
    if (next_cursor === undefined) return { levels, meta };
    cursor = `&cursor=${next_cursor}`;
  }
}

const levelsAt = (location = '') => `/inventory/levels?location_id=${location}`;
const levelsOf = (product = '') => `/products/${product}/levels?`;

/** Levels as the movements up to a position leave them. */
async function replayed(api: Api): Promise<(position: number) => Level[]> {
  const answer = await api.get('/inventory/movements?order=asc&limit=200');
  expect(answer.body.meta).not.toHaveProperty('next_cursor');
  return (position) => {
    const levels = new Map<string, Level>();
    for (const one of answer.body.data) {
      if (Number(one.position) > position) break;
      levels.set(`${one.product_id} ${one.location_id}`, {
        product_id: one.product_id,
        location_id: one.location_id,
        quantity: one.quantity_after,
        // What was put aside at that time is not known.
        ...{ reserved_quantity: null, available_quantity: null },
        version: one.sequence,
        last_movement_id: one.id,
        updated_at: one.recorded_at,
        ...{ counted_at: null, counted_by: null },
      });
    }
    return [...levels.keys()].sort().flatMap((pair) => levels.get(pair) ?? []);
  };
}

async function clock(before = 0): Promise<string> {
  const [row] = await service.db.sql<{ time: Date }>(
    "select clock_timestamp() - $1 * interval '1 millisecond' as time",
    [before],
  );
  return row?.time.toISOString() ?? '';
}

/** Some writes of every kind, of which a third changes something else than stock. */
async function write(shop: Shop, count: number): Promise<void> {
  const { api, products, locations } = shop;
  for (let n = 1; n <= count; n += 1) {
    const product = products[(n * n + (n >> 2)) % products.length];
    if (n % 3 === 0) await api.patch(`/products/${product}`, { name: `Flour ${n}` });
    else await adjust(api, product, locations[n % 5 < 3 ? 0 : 1], n);
  }
}

describe('levels as of a position', () => {
  let shop: Shop;
  let journal: string;
  let last: number;
  let at: (position: number) => Level[];

  beforeAll(async () => {
    shop = await newShop(7);
    await write(shop, 60);
    ({ journal } = (await shop.api.post('/customers', { name: 'A', email: 'a@b.cd' })).body.meta);
    last = 61;
    at = await replayed(shop.api);
  });

  test('are what the movements up to it leave, for every position and page size', async () => {
    const { api, products, locations } = shop;
    for (let position = 0; position <= last; position += 1) {
      const more = `&as_of_position=${position}&journal=${journal}&limit=${1 + (position % 4)}`;
      const meta = { as_of_position: `${position}`, journal };
      const all = at(position);
      for (const location of locations) {
        const levels = all.filter((one) => one.location_id === location);
        expect(await walk(api, levelsAt(location), more)).toEqual({ levels, meta });
      }
      const product = products[position % products.length];
      const levels = all.filter((one) => one.product_id === product);
      expect(await walk(api, levelsOf(product), more)).toEqual({ levels, meta });
    }
  });

  test('are the present ones at the end of the journal, and none at position 0', async () => {
    for (const path of [levelsAt(shop.locations[0]), levelsOf(shop.products[1])]) {
      const present = await shop.api.get(path);
      const now = await shop.api.get(`${path}&as_of=now`);
      const levels: Level[] = present.body.data;
      const unknown = { reserved_quantity: null, available_quantity: null };
      expect(now.body.data).toEqual(levels.map((one) => ({ ...one, ...unknown })));
      expect(now.body.meta).toMatchObject({ as_of_position: `${last}`, journal });
      const nothing = await shop.api.get(`${path}&as_of_position=0`);
      expect(nothing.body.data).toEqual([]);
      expect(nothing.body.meta).toMatchObject({ as_of_position: '0', journal });
    }
  });

  test('are narrowed by products and by granted locations', async () => {
    const { api, products, locations, merchant } = shop;
    const wanted = [products[0], products[3], 'prod_unknown'];
    const filter = wanted.map((id) => `&product_id=${id}`).join('');
    const more = `&as_of_position=40&journal=${journal}&limit=1`;
    const { levels } = await walk(api, levelsAt(locations[0]), filter + more);
    expect(levels).toEqual(
      at(40).filter((one) => one.location_id === locations[0] && wanted.includes(one.product_id)),
    );
    const clerk = await service.given.credential(merchant, { locations: locations.slice(1) });
    const own = service.api.as(clerk.token);
    const seen = await walk(own, levelsOf(products[1]), more);
    expect(seen.levels).toEqual(
      at(40).filter((one) => one.location_id === locations[1] && one.product_id === products[1]),
    );
    expect((await own.get(levelsAt(locations[0]) + more)).code).toBe('location_not_granted');
  });

  test('need the journal that the position is of, and a position that it has', async () => {
    const [path = '', other = ''] = [levelsAt(shop.locations[0]), levelsOf(shop.products[0])];
    const refusals: [string, string, string][] = [
      ['&as_of_position=3', 'missing_parameter', 'query.journal'],
      ['&as_of_position=3&journal=jrn_x', 'journal_mismatch', 'query.journal'],
      ['&as_of_position=0&journal=jrn_x', 'journal_mismatch', 'query.journal'],
      ['&as_of=now&journal=jrn_x', 'journal_mismatch', 'query.journal'],
      ['&journal=jrn_x', 'journal_mismatch', 'query.journal'],
      [
        `&as_of_position=${last + 1}&journal=${journal}`,
        'journal_mismatch',
        'query.as_of_position',
      ],
      ['&as_of_position=-1', 'invalid_parameter', 'query.as_of_position'],
      ['&as_of_position=01', 'invalid_parameter', 'query.as_of_position'],
      ['&as_of_position=9999999999999999999', 'invalid_parameter', 'query.as_of_position'],
    ];
    for (const list of [path, other]) {
      for (const [more, code, field] of refusals) {
        const answer = await shop.api.get(list + more);
        expect([more, answer.status, answer.code]).toEqual([more, 400, code]);
        expect(answer.body.error.details).toMatchObject([{ field }]);
      }
    }
  });

  test('are asked for by one moment, and without a filter of the present', async () => {
    const path = levelsAt(shop.locations[0]);
    const [position, time, since] = [
      `&as_of_position=1&journal=${journal}`,
      '&as_of=now',
      '&updated_after=2026-01-01T00:00:00Z',
    ];
    const fields = ['query.as_of', 'query.as_of_position', 'query.updated_after'];
    const refusals: [string, string[]][] = [
      [position + time, fields.slice(0, 2)],
      [time + since, [fields[0] ?? '', fields[2] ?? '']],
      [position + since, fields.slice(1)],
      [position + time + since, fields],
    ];
    for (const [more, named] of refusals) {
      // Whatever is wrong with the location.
      for (const list of [path, levelsAt('loc_unknown')]) {
        const answer = await shop.api.get(list + more);
        expect([more, answer.status, answer.code]).toEqual([more, 400, 'invalid_parameter']);
        expect(answer.body.error.details.map(({ field }: { field: string }) => field)).toEqual(
          named,
        );
      }
    }
  });

  test('stay the same over all pages of a walk, whatever is written between them', async () => {
    const { api, products, locations } = shop;
    const before = (await api.get(`${levelsAt(locations[0])}&as_of=now`)).body.data;
    const path = `${levelsAt(locations[0])}&as_of=now&limit=1`;
    const shown: Level[] = [];
    let cursor = '';
    do {
      const page = await api.get(path + cursor);
      shown.push(...page.body.data);
      expect(page.body.meta.as_of_position).toBe(`${last}`);
      cursor = page.body.meta.next_cursor && `&cursor=${page.body.meta.next_cursor}`;
      await adjust(api, products.at(-1), locations[0], 1_000 + shown.length);
      await adjust(api, await service.given.product(shop.merchant), locations[0], 5);
    } while (cursor !== undefined);
    expect(shown).toEqual(before);
  });

  test('are refused to a cursor of a walk that a restore has made void', async () => {
    const own = await newShop(3);
    for (const product of own.products) await adjust(own.api, product, own.locations[0], 3);
    const path = `${levelsAt(own.locations[0])}&as_of=now&limit=1`;
    const first = await own.api.get(path);
    await service.db.sql("update journals set id = 'jrn_renewed' where merchant_id = $1", [
      own.merchant,
    ]);
    const next = await own.api.get(`${path}&cursor=${first.body.meta.next_cursor}`);
    expect([next.status, next.code]).toEqual([400, 'journal_mismatch']);
    expect(next.body.error.details).toMatchObject([{ field: 'query.cursor' }]);
  });
});

describe('levels as of a time', () => {
  test('are those after the last operation up to it', async () => {
    const shop = await newShop(3);
    await write(shop, 20);
    await ageLedger(service.db, [shop.merchant], 60_000);
    const at = await replayed(shop.api);
    const movements = (await shop.api.get('/inventory/movements?order=asc&limit=200')).body.data;
    const [location = ''] = shop.locations;
    for (const { recorded_at, position } of movements) {
      const path = `${levelsAt(location)}&as_of=${recorded_at}`;
      const { levels, meta } = await walk(shop.api, path, '&limit=2');
      // Several may have one time.
      const through = Number((meta as { as_of_position: string }).as_of_position);
      expect(through).toBeGreaterThanOrEqual(Number(position));
      expect(levels).toEqual(at(through).filter((one) => one.location_id === location));
      const next = movements.find((one: { position: string }) => Number(one.position) > through);
      expect(next === undefined || next.recorded_at > recorded_at).toBe(true);
      const before = new Date(Date.parse(recorded_at) - 1).toISOString().replace('Z', '9Z');
      const earlier = await shop.api.get(`${levelsAt(location)}&as_of=${before}`);
      expect(Number(earlier.body.meta.as_of_position)).toBeLessThan(Number(position));
    }
    const never = await shop.api.get(`${levelsAt(location)}&as_of=0001-01-01T00:00:00Z`);
    expect([never.body.data, never.body.meta.as_of_position]).toEqual([[], '0']);
  });

  test('are refused when it is to come, or less than 5 s ago by the database’s clock', async () => {
    const shop = await newShop(1);
    const paths = [levelsAt(shop.locations[0]), levelsOf(shop.products[0])];
    for (const path of paths) {
      for (const time of [await clock(limits.asOfAge - 1_000), '2999-01-01T00:00:00Z']) {
        const answer = await shop.api.get(`${path}&as_of=${time}`);
        expect([answer.status, answer.code]).toEqual([400, 'invalid_parameter']);
        expect(answer.body.error.details).toEqual([
          {
            field: 'query.as_of',
            code: 'value_not_allowed',
            message: 'must be at least 5 seconds ago, or "now"',
          },
        ]);
      }
      const old = await shop.api.get(`${path}&as_of=${await clock(limits.asOfAge)}`);
      expect([old.status, old.body.meta.as_of_position]).toEqual([200, '0']);
    }
  });

  test('are the same whenever asked for, while 16 clients write at two nodes', async () => {
    const shop = await newShop(8);
    const node = await startNode(service.db.serviceUrl);
    const path = levelsAt(shop.locations[0]);
    let isOver = false;
    const writers = Array.from({ length: 16 }, async (_, n) => {
      const api = n % 2 === 0 ? shop.api : node.api.as(shop.owner.token);
      for (let target = 1; !isOver; target += 1) {
        await adjust(api, shop.products[n >> 1], shop.locations[0], 2 * target + (n % 2));
      }
    });
    const seen: [string, Answer][] = [];
    const began = Date.now();
    const moments = new Set<string>();
    while (moments.size < 6 || Date.now() - began < limits.asOfAge + 1_000) {
      const time = await clock(limits.asOfAge);
      seen.push([time, await served(() => shop.api.get(`${path}&as_of=${time}`))]);
      moments.add(seen.at(-1)?.[1].body.meta.as_of_position);
      await sleep(20);
    }
    isOver = true;
    await Promise.all(writers);
    for (const [time, first] of seen) {
      const other = node.api.as(shop.owner.token);
      const again = await served(() => other.get(`${path}&as_of=${time}`));
      expect([time, again.body.meta.as_of_position]).toEqual([
        time,
        first.body.meta.as_of_position,
      ]);
      expect(again.body.data).toEqual(first.body.data);
    }
    await node.stop();
  }, 60_000);

  test('can be asked for so early because the time-outs of who saves are shorter', () => {
    const { asOfAge, statementTimeout, idleInTransactionTimeout } = limits;
    expect(statementTimeout + idleInTransactionTimeout + 1_000).toBeLessThanOrEqual(asOfAge);
  });
});

describe('a page of levels as of a moment', () => {
  const blocks = (merchant: string, location: string, position: number) =>
    blocksOf(
      service.db,
      listLevelsAsOf({
        merchant: merchant as MerchantId,
        location: location as GrantedLocationId,
        products: undefined,
        position: String(position),
        after: undefined,
        limit: 51,
      }),
    );

  test('costs as much for a level of many movements as for one of two', async () => {
    const costs: number[] = [];
    for (const movements of [2, extent(20_000, 200_000)]) {
      const shop = await newShop(0);
      const [location = ''] = shop.locations;
      await addLedger(service.db, shop.owner, location, { levels: 1, movements });
      const { journal } = (await shop.api.get(`${levelsAt(location)}&as_of=now`)).body.meta;
      for (const position of [movements / 2, movements]) {
        const more = `&as_of_position=${position}&journal=${journal}`;
        const page = await shop.api.get(levelsAt(location) + more);
        expect(page.body.data).toMatchObject([{ version: position, quantity: `${position}` }]);
        costs.push(await blocks(shop.merchant, location, position));
      }
    }
    // Five times some index is sought that has a level or two more.
    const [fewThen = 0, fewNow = 0, manyThen = 0, manyNow = 0] = costs;
    expect(fewThen).toBeGreaterThan(0);
    expect(manyThen).toBeLessThanOrEqual(fewThen + 5 * 2);
    expect(manyNow).toBeLessThanOrEqual(fewNow + 5 * 2);
  }, 120_000);

  test('looks at 2,000 levels at most, may be empty, and the walk goes on', async () => {
    const shop = await newShop(1);
    const [location = ''] = shop.locations;
    const levels = 2 * limits.levelsLookedAtMax + 100;
    await addLedger(service.db, shop.owner, location, { levels, movements: 1 });
    const { journal } = (await shop.api.get(`${levelsAt(location)}&as_of=now`)).body.meta;
    const path = `${levelsAt(location)}&limit=200&journal=${journal}`;
    // Levels are made in the order of their positions: before the first hundred, nothing else was.
    const early = await walk(shop.api, `${path}&as_of_position=100`);
    expect(early.levels).toHaveLength(100);
    const first = await shop.api.get(`${path}&as_of_position=100`);
    expect(first.body.data).toHaveLength(100);
    const second = await shop.api.get(
      `${path}&as_of_position=100&cursor=${first.body.meta.next_cursor}`,
    );
    expect([second.body.data, typeof second.body.meta.next_cursor]).toEqual([[], 'string']);
    const third = await shop.api.get(
      `${path}&as_of_position=100&cursor=${second.body.meta.next_cursor}`,
    );
    expect([third.body.data, third.body.meta.next_cursor]).toEqual([[], undefined]);
    const all = await walk(shop.api, `${path}&as_of_position=${levels}`);
    expect(all.levels).toHaveLength(levels);
  }, 60_000);
});
