// Two merchants of the same IDs who have little. One has what the other lacks, or comes behind it
// in an index, so each statement must say whose it asks for: also one whose answer looks right.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { atMerchant } from '../src/access/operator/merchants.ts';
import { limits } from '../src/core/limits.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { readLastPositions } from '../src/events/store.ts';
import type { Api } from './kit/api.ts';
import { sqlOf } from './kit/cells.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { mirrorOf } from './kit/mirror.ts';
import { type Neighbour, neighbours } from './kit/neighbours.ts';

const path = '/inventory/adjustments';

let service: Environment;
let database: Database;

beforeAll(async () => {
  service = await startEnvironment();
  database = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

const adjustment = (product_id: string, location_id: string, target_quantity = '9') => ({
  ...{ product_id, location_id, target_quantity },
  reason: 'correction',
});

interface Given {
  readonly api: Api;
  readonly product: string;
  readonly at: string;
}

async function reserve({ api, product, at }: Given): Promise<string> {
  const lines = [{ product_id: product, quantity: '2' }];
  return (await api.post('/inventory/reservations', { location_id: at, lines })).body.data.id;
}

/** A merchant with one level of 9 and what happens to it, and his copy. */
async function counterparts(happens: (given: Given) => Promise<unknown>) {
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const product = await service.given.product(merchant);
  const location = await service.given.location(merchant);
  await api.post(path, adjustment(product, location));
  await happens({ api, product, at: location });
  return { merchant, copy: await mirrorOf(service.db, merchant, [token]), location, api };
}

/** Changes rows in the cell of a merchant, `$1`, that nobody could change otherwise. */
async function pastTriggers(merchant: string, text: string): Promise<void> {
  const session = await service.db.session();
  const look = `select set_config('search_path', cell || ', public', false),
    set_config('session_replication_role', 'replica', false) from merchants where id = $1`;
  await session.query(look, [merchant]);
  expect((await session.query(text, [merchant])).rowCount).toBeGreaterThan(0);
  await session.end();
}

test('the first operation of a merchant follows none of the merchant before', async () => {
  const { first, second, product, location } = await neighbours(service);
  for (const { api } of [first, second]) {
    const { data } = (await api.post(path, adjustment(product, location))).body;
    expect(data).toMatchObject({ sequence: 1, position: '1' });
  }
});

test('the journal of a merchant without operations does not end as the one before', async () => {
  const { first, second, product, location } = await neighbours(service);
  await first.api.post(path, adjustment(product, location));
  const { meta } = (await second.api.get(`/inventory/levels?location_id=${location}&as_of=now`))
    .body;
  expect(meta.as_of_position).toBe('0');
  const { reader } = await atMerchant(database, first.merchant);
  expect(await reader.query(readLastPositions([first.merchant, second.merchant]))).toEqual([
    { merchant_id: first.merchant, last: 1 },
  ]);
});

test('what has expired at one merchant is still reserved at the other', async () => {
  const { copy, location, api } = await counterparts(reserve);
  const expire = 'update inventory_reservation_lines set expires_at = now() where merchant_id = $1';
  await pastTriggers(copy.merchant, expire);
  const [level] = (await api.get(`/inventory/levels?location_id=${location}`)).body.data;
  expect(level).toMatchObject({ quantity: '9', reserved_quantity: '2' });
});

test('a position is of the time that its operation has at this merchant', async () => {
  const { merchant, location, api } = await counterparts(async ({ api, product, at }) => {
    await api.post(path, adjustment(product, at, '5'));
  });
  const others = (days: number) => `update operations set
    created_at = created_at + ${days} * interval '1 day' where merchant_id <> $1 and position = 1`;
  await pastTriggers(merchant, others(1));
  // What was updated last is found last where the table is read as it lies.
  const own = 'update operations set created_at = created_at where merchant_id = $1';
  await pastTriggers(merchant, own);
  const levels = `/inventory/levels?location_id=${location}`;
  const { journal } = (await api.get(`${levels}&as_of=now`)).body.meta;
  const then = await api.get(`${levels}&as_of_position=1&journal=${journal}`);
  expect(then.body.data).toMatchObject([{ quantity: '9' }]);
  await pastTriggers(merchant, others(-1));
});

test('a reservation is ended as it is at this merchant', async () => {
  let reservation = '';
  const { copy } = await counterparts(async (given) => {
    reservation = await reserve(given);
  });
  const ended = await service.api
    .as(copy.tokens[0] ?? '')
    .post(`/inventory/reservations/${reservation}/release`, {});
  expect(ended.body.data).toMatchObject({ status: 'released', note: 'Mirror' });
});

test('a count expects what was there at this merchant', async () => {
  const { first, second, product, location } = await neighbours(service);
  const count = async ({ api }: Neighbour, counted: string, expected: string, at: object) => {
    const line = { product_id: product, counted_quantity: counted, expected_quantity: expected };
    const body = { location_id: location, lines: [line], ...at };
    return (await api.post('/inventory/counts', body)).body;
  };
  const levels = `/inventory/levels?location_id=${location}`;
  await first.api.post(path, adjustment(product, location));
  await count(first, '7', '9', {});
  const { meta } = (await first.api.get(`${levels}&as_of=now`)).body;
  // Each has something of which the other could take it to be its own.
  expect(await count(second, '4', '0', { counted_at_position: '0' })).toHaveProperty('data');
  const then = { counted_at_position: meta.as_of_position, journal: meta.journal };
  expect(await count(first, '5', '7', then)).toHaveProperty('data');
  for (const [{ api }, quantity] of [
    [first, '5'],
    [second, '4'],
  ] as const) {
    expect((await api.get(levels)).body.data[0].quantity).toBe(quantity);
  }
});

test('reservations are listed, however many newer ones another merchant has', async () => {
  const { copy, api } = await counterparts(reserve);
  const more = `insert into inventory_reservations
    select (jsonb_populate_record(r, jsonb_build_object('id',
      left(r.id, -3) || 'z' || lpad(n::text, 2, '0')))).*
    from inventory_reservations r, generate_series(1, 99) n where r.merchant_id = $1`;
  await pastTriggers(copy.merchant, more);
  const { data } = (await api.get('/inventory/reservations')).body;
  expect(data).toHaveLength(1);
});

test('a location is named by those to whom it is granted at this merchant', async () => {
  const merchant = await service.given.merchant();
  const location = await service.given.location(merchant);
  const { token } = await service.given.credential(merchant, { locations: [location] });
  const name = 'update locations set external_id = $2 where merchant_id = $1';
  await service.db.sql(name, [merchant, 'here']);
  const copy = await mirrorOf(service.db, merchant, [token]);
  await sqlOf(service.db, copy.merchant, name, [copy.merchant, 'there']);
  const [other = ''] = copy.tokens;
  const [one, two] = [service.api.as(token), service.api.as(other)];
  for (const [api, named, unknown] of [
    [one, 'here', 'there'],
    [two, 'there', 'here'],
  ] as const) {
    const upsert = (id: string) => api.patch(`/locations?external_id=${id}`, { type: 'store' });
    expect((await upsert(named)).body.data).toMatchObject({ id: location, external_id: named });
    const refused = await upsert(unknown);
    expect([refused.code, refused.body.meta.operation_id]).toEqual([
      'location_not_granted',
      undefined,
    ]);
  }
});

test('what needs a person is of this merchant', async () => {
  const { merchant, copy, api } = await counterparts(async (given) => {
    await given.api.post('/people', { name: 'Ada', role: 'viewer' });
    await reserve(given);
  });
  // A token of a day would be named, too.
  const long = `update credential_tokens set expires_at = now() + interval '90 days'
    where merchant_id = $1`;
  await pastTriggers(copy.merchant, long);
  for (const needed of [
    `update credential_tokens set created_at = now() - interval '80 days',
       expires_at = now() + interval '9 days' where merchant_id = $1`,
    `update credentials set invitation_expires_at = now() where merchant_id = $1
       and role is not null`,
    `update inventory_reservations set status = 'expired', ended_at = now(),
       end_operation_id = operation_id where merchant_id = $1`,
  ]) {
    await pastTriggers(merchant, needed);
  }
  const needs = async (by: Api) =>
    (await by.get('/status')).body.data.needs.map(({ code, count }: Need) => [code, count]);
  expect(await needs(api)).toEqual([
    ['token_ends', 1],
    ['invitation_ended', 1],
    ['reservations_expired', 1],
  ]);
  expect(await needs(service.api.as(copy.tokens[0] ?? ''))).toEqual([]);
});

interface Need {
  readonly code: string;
  readonly count: number;
}

describe('the stock of a merchant, by quantity', () => {
  const shown = async ({ api }: Pick<Neighbour, 'api'>, location: string) => {
    const { data, meta } = (await api.get(`/stock?location_id=${location}&sort=quantity`)).body;
    return [data.map((one: { product_id: string }) => one.product_id), meta.next_cursor];
  };

  test('has no product of the next one that never moved', async () => {
    const { first, second, product, location } = await neighbours(service);
    const made = await second.api.post('/products', { name: 'Oats' });
    expect(await shown(first, location)).toEqual([[product], undefined]);
    expect(await shown(second, location)).toEqual([[made.body.data.id, product].sort(), undefined]);
  });

  test('is found before and behind one with as many as are looked at', async () => {
    const { first, second, product, location } = await neighbours(service);
    await first.api.post(path, adjustment(product, location));
    await sqlOf(
      service.db,
      second.merchant,
      `insert into products (merchant_id, id, name, unit_code, unit_precision, search, created_at,
         updated_at)
       select $1, 'prod_' || lpad(n::text, 26, '0'), 'Flour', 'each', 0, 'flour', now(), now()
       from generate_series(1, $2) n`,
      [second.merchant, limits.stockSortedMax + 1],
    );
    expect(await shown(first, location)).toEqual([[product], undefined]);
    const merchant = await service.given.merchant();
    const { token } = await service.given.credential(merchant);
    const own = await service.given.product(merchant);
    const place = await service.given.location(merchant);
    expect(await shown({ api: service.api.as(token) }, place)).toEqual([[own], undefined]);
  });
});

test('not even the owner of the database can save a second line without the first', async () => {
  const { given, db } = service;
  const [first = '', second = ''] = [await given.merchant(), await given.merchant()].sort();
  const { id, token } = await given.credential(first);
  const [product, location] = [await given.product(first), await given.location(first)];
  const answer = await service.api.as(token).post(path, adjustment(product, location));
  expect(answer.body.data).toMatchObject({ position: '1' });
  const session = await db.session();
  /** To the second merchant, with other values of some columns. */
  const copy = (table: string, others: object = {}) => {
    const values = [first, { merchant_id: second, ...others }];
    return session.query(
      `insert into ${table} select (jsonb_populate_record(t, $2)).* from ${table} t
       where t.merchant_id = $1 ${table === 'credentials' ? `and t.id = '${id}'` : ''}`,
      values,
    );
  };
  await session.query('begin');
  for (const table of ['credentials', 'products', 'locations', 'inventory_levels']) {
    await copy(table);
  }
  await copy('operations', { type: 'inventory.transfer', movements: 2 });
  // The line before it in the index is the first one of the other merchant, at this position.
  await expect(copy('inventory_movements', { line: 2 })).rejects.toThrow('the line before it');
  await session.query('rollback');
  await session.end();
});
