// Two merchants whose records have the same IDs, also those of their credentials. Each merchant
// reads, writes, locks and replays its own records.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { atMerchant } from '../src/access/operator/merchants.ts';
import { successStatus } from '../src/contract/contract.ts';
import type { Write } from '../src/contract/endpoint.ts';
import type { GrantedLocationId, MerchantId } from '../src/core/principal.ts';
import { customers } from '../src/customers/contract.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { hashKey } from '../src/operations/fingerprint.ts';
import { findOperations } from '../src/operations/keys.ts';
import { listOperationsOn } from '../src/operations/store.ts';
import { measure } from '../src/records/list-store.ts';
import { findZone } from '../src/stock/daily-store.ts';
import { type Answer, newKey } from './kit/api.ts';
import { freshBody, send, withoutRequestId, writes } from './kit/cases.ts';
import { sqlOf } from './kit/cells.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { mirrorJournal, mirrorOf, recordsOf } from './kit/mirror.ts';
import { type Neighbour, neighbours } from './kit/neighbours.ts';

/** One of the two, and the other one. */
interface Side extends TestMerchant {
  readonly credential: string;
}

const path = '/inventory/adjustments';
const past = '2020-01-01T00:00:00Z';
/** The position behind the first movements of levels, and before their last. */
let between = '';

let service: Environment;
let database: Database;
let shop: Side;
let mirror: Side;
let owner: string;
/** A reservation that both have. */
let reservation: string;
let sides: readonly (readonly [Side, Side])[];
/** What each path showed to the shop before the mirror existed. */
const alone = new Map<string, unknown>();
/** An adjustment of that time, of what was counted, and its answer. */
const kept = { key: newKey(), body: {}, data: {} };

beforeAll(async () => {
  service = await startEnvironment();
  database = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
  const opened = await createTestMerchant(service);
  ({ owner, reservation } = await furnish(opened));
  const levels = `/inventory/levels?location_id=${opened.locations[0]}`;
  between = (await opened.api.get(`${levels}&as_of=now`)).body.meta.as_of_position;
  for (const location of opened.locations) {
    await opened.api.post(path, adjustment(opened.products[0], location, '7'));
  }
  const own = await opened.api.get('/credential');
  shop = { ...opened, credential: own.body.data.id };
  const line = { product_id: shop.products[1], counted_quantity: '4' };
  await shop.api.post('/inventory/counts', { location_id: shop.locations[1], lines: [line] });
  kept.body = adjustment(shop.products[1], shop.locations[1]);
  kept.data = (await shop.api.post(path, kept.body, { key: kept.key })).body.data;
  for (const one of pathsOf(shop)) alone.set(one, await shownTo(shop, one));
  const { merchant, tokens } = await mirrorOf(service.db, shop.merchant, [shop.token]);
  const [token = ''] = tokens;
  mirror = { ...shop, merchant, token, journal: mirrorJournal, api: service.api.as(token) };
  sides = [
    [shop, mirror],
    [mirror, shop],
  ];
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

/** Something for every filter to find, and an owner, whom every write of people locks. */
async function furnish({ api, products, locations }: TestMerchant) {
  const names = { sku: 'P-1', barcode: '4006381333931', low_stock_at: '5000' };
  await api.patch(`/products/${products[0]}`, names);
  await api.patch(`/locations/${locations[0]}`, { code: 'L-1' });
  const reserved = await api.post('/inventory/reservations', {
    ...{ location_id: locations[0], reference: 'R-1' },
    lines: [{ product_id: products[0], quantity: '1' }],
  });
  const person = await api.post('/people', { name: 'Olga', role: 'owner' });
  return { owner: person.body.data.id, reservation: reserved.body.data.id };
}

/** Yesterday and tomorrow, by any clock. */
function days(): string {
  const day = (n: number) => new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 10);
  return `from=${day(-1)}&to=${day(1)}`;
}

const stockFilters = [
  ...['q=product', 'sort=sku', 'sort=name', 'as_of=now', 'sort=quantity'],
  ...['sort=quantity&q=product', 'low_stock=true', 'low_stock=true&sort=quantity'],
];

const whoMay = { '/people': ['status=invited'], '/tokens': ['status=active'] };

const membersByNoun: Readonly<Record<string, readonly string[]>> = {
  inventory_transfer: ['/inventory/transfers/{id}'],
  inventory_count: ['/inventory/counts/{id}'],
  inventory_reservation: ['/inventory/reservations/{id}'],
  webhook: ['/webhooks/{id}', '/webhooks/{id}/deliveries'],
  person: ['/people/{id}'],
  token: ['/tokens/{id}'],
};

function levelPaths(product = '', location = '', journal = '') {
  const asOf = `as_of_position=${between}&journal=${journal}`;
  return {
    [`/inventory/levels?location_id=${location}`]: [
      `product_id=${product}`,
      `updated_after=${past}`,
      ...['low_stock=true', `low_stock=true&product_id=${product}`],
      asOf,
    ],
    [`/products/${product}/levels`]: [asOf],
    [`/stock?location_id=${location}`]: [...stockFilters, asOf],
    [`/inventory/daily?location_id=${location}&product_id=${product}&${days()}`]: [],
  };
}

function documentPaths(product = '', location = '') {
  const here = `location_id=${location}`;
  return {
    '/inventory/transfers': [here],
    '/inventory/counts': [here],
    '/inventory/reservations': [here, 'status=active', 'reference=R-1'],
    '/events': [here, `product_id=${product}`],
  };
}

function pathsOf({
  customers,
  products,
  locations,
  movements,
  operations,
  others,
  journal,
}: TestMerchant): string[] {
  const filtered = {
    '/customers': [
      'status=active',
      'external_id=customer-1',
      'email=customer.1@example.com',
      'q=customer',
    ],
    '/products': [
      'status=active',
      ...['sku=P-1', 'barcode=4006381333931'],
      'external_id=product-1&external_id=product-2',
      'sku=P-1&sku=P-2',
      `id=${products[0]}&id=${products[1]}`,
      'q=product',
    ],
    '/locations': ['status=active', 'code=L-1', 'external_id=location-1'],
    ...levelPaths(products[0], locations[0], journal),
    ...documentPaths(products[0], locations[0]),
    '/inventory/movements': [
      ...['order=asc', 'reason=correction', `recorded_after=${past}`],
      `product_id=${products[0]}`,
      `location_id=${locations[0]}`,
      `operation_id=${operations[customers.length + products.length + locations.length]}`,
    ],
    '/operations': ['type=customers.create', 'status=succeeded'],
    '/webhooks': ['status=paused'],
    ...whoMay,
  };
  return [
    ...Object.entries(filtered).flatMap(([list, filters]) => [
      list,
      ...filters.map((filter) => `${list}${list.includes('?') ? '&' : '?'}${filter}`),
    ]),
    ...['/customers', '/products'].map((list) => `${list}?updated_after=${past}`),
    ...customers.map((id) => `/customers/${id}`),
    ...products.flatMap((id) => [`/products/${id}`, `/products/${id}/levels`]),
    ...locations.map((id) => `/locations/${id}`),
    ...movements.map((id) => `/inventory/movements/${id}`),
    ...operations.map((id) => `/operations/${id}`),
    ...Object.entries(membersByNoun).flatMap(([noun, members]) =>
      (others[noun] ?? []).flatMap((id) => members.map((member) => member.replace('{id}', id))),
    ),
    '/credential',
  ];
}

interface Named {
  readonly id: string;
  readonly name: string;
}

async function shownTo({ api }: TestMerchant, one: string): Promise<unknown> {
  const answer = await api.get(one);
  expect(answer.status, one).toBe(200);
  const { data } = answer.body;
  // One of them is who asks.
  if (one.startsWith('/tokens?') || one === '/tokens')
    return data.map(({ id, name }: Named) => ({ id, name }));
  return one === '/credential' ? { id: data.id, merchant: data.merchant } : data;
}

/** What the mirror shows in place of this. */
function mirrored(value: unknown, name = '', more: Readonly<Record<string, number>> = {}): unknown {
  if (Array.isArray(value)) return value.map((one) => mirrored(one));
  if (typeof value === 'object' && value !== null) {
    const inner = moreOf(value);
    const members = Object.entries(value).map(([key, member]) => [
      key,
      // Those of counts, transfers and reservations.
      key === 'note' && 'lines' in value ? 'Mirror' : mirrored(member, key, inner),
    ]);
    return Object.fromEntries(members);
  }
  if (value === shop.merchant) return mirror.merchant;
  if (name === 'journal') return mirrorJournal;
  if (name === 'name') return `Mirror ${value}`;
  if (name === 'request_id') return `req_${'0'.repeat(26)}`;
  if (value === null || value === undefined) return value;
  if (name === 'counted_at') return new Date(Date.parse(String(value)) - 86_400_000).toISOString();
  return more[name] === undefined ? value : String(Number(value) + more[name]);
}

/** By how much the mirror's level is more, or its movement: the first of a level moved two more. */
function moreOf(value: object): Readonly<Record<string, number>> {
  if ('available_quantity' in value && 'reserved_quantity' in value) {
    // A product that has no level is in the stock, too.
    if ('updated_at' in value && value.updated_at === null) return {};
    const reserved = Number(value.reserved_quantity) > 0 ? 1 : 0;
    return { quantity: 2, available_quantity: 2 - reserved, reserved_quantity: reserved };
  }
  // The sums of a day on which a level has moved first, as a correction.
  if ('quantity_out' in value && 'reason' in value) {
    return value.reason === 'correction' ? { quantity_in: 2 } : {};
  }
  if (!('sequence' in value)) return {};
  return { quantity_after: 2, [value.sequence === 1 ? 'quantity_delta' : 'quantity_before']: 2 };
}

const isReplay = (answer: Answer): boolean => answer.headers.get('idempotent-replayed') === 'true';

const adjustment = (product = '', location = '', target = '9') => ({
  product_id: product,
  location_id: location,
  target_quantity: target,
  reason: 'correction',
});

test('each reads its own, by every path and filter', async () => {
  for (const one of pathsOf(shop)) {
    const before = alone.get(one);
    expect(Array.isArray(before) ? before : [before], one).not.toEqual([]);
    expect([one, await shownTo(shop, one)]).toEqual([one, before]);
    const at = one.replace(shop.journal, mirror.journal);
    expect([one, await shownTo(mirror, at)]).toEqual([one, mirrored(before)]);
  }
});

test('a write from before is replayed to each with its own record', async () => {
  for (const [one] of sides) {
    const again = await one.api.post(path, kept.body, { key: kept.key });
    expect([again.status, isReplay(again)]).toEqual([201, true]);
    expect(again.body.data).toEqual(one === shop ? kept.data : mirrored(kept.data));
  }
});

test('what only the other merchant has does not exist for it', async () => {
  const made = { '/products': { name: 'Oats' }, '/locations': { name: 'Pier' } };
  for (const [one, other] of sides) {
    const ids = await Promise.all(
      Object.entries(made).map(
        async ([list, body]) => (await other.api.post(list, body)).body.data.id,
      ),
    );
    const [product, location] = ids;
    const paths = [`/products/${product}`, `/products/${product}/levels`, `/locations/${location}`];
    for (const path of paths) expect([path, (await one.api.get(path)).status]).toEqual([path, 404]);
    const levels = await one.api.get(`/inventory/levels?location_id=${location}`);
    expect(levels.code).toBe('location_not_granted');
    const sent = await one.api.post('/inventory/transfers', {
      ...{ from_location_id: shop.locations[0], to_location_id: location },
      lines: [{ product_id: shop.products[0], quantity: '1' }],
    });
    expect(sent.code).toBe('location_not_granted');
  }
});

test('each sees the one operation of its key, and those of others as far as it may', async () => {
  const key = newKey();
  const ask = { headers: { 'idempotency-key': key } };
  const listed = '/operations?type=customers.create';
  for (const [one, other] of sides) {
    expect((await one.api.get(listed, ask)).body.data).toEqual([]);
    const body = { name: 'Ada', email: 'ada@example.com' };
    const { meta } = (await one.api.post('/customers', body, { key })).body;
    const ids = (answer: Answer) => answer.body.data.map(({ id }: { id: string }) => id);
    for (const path of [listed, '/operations']) {
      expect(ids(await one.api.get(path, ask))).toEqual([meta.operation_id]);
    }
    expect((await other.api.get(`/operations/${meta.operation_id}`)).status).toBe(404);
  }
});

describe.each(writes)('$name', (write) => {
  test('changes the record of one merchant and not of the other, for each of them', async () => {
    const key = newKey();
    const ok = successStatus(write.contract);
    for (const [one, other] of sides) {
      const before = await recordsOf(service.db, other.merchant);
      const change = { key, body: freshBody(write, one) };
      const done = await send(write, one, one.api, change);
      expect([done.status, isReplay(done)]).toEqual([ok, false]);
      const again = await send(write, one, one.api, change);
      expect([again.status, isReplay(again)]).toEqual([ok, true]);
      expect(withoutRequestId(again)).toEqual(withoutRequestId(done));
      expect(await recordsOf(service.db, other.merchant)).toEqual(before);
    }
  });
});

test('a token has its new end at one of them only', async () => {
  const token = `/tokens/${shop.others.token?.[0]}`;
  for (const [one, other] of sides) {
    const before = await recordsOf(service.db, other.merchant);
    expect((await one.api.patch(token, { expires_in_days: 30 })).status).toBe(200);
    const { expires_at } = (await one.api.get(token)).body.data;
    expect(Math.round((Date.parse(expires_at) - Date.now()) / 86_400_000)).toBe(30);
    expect(await recordsOf(service.db, other.merchant)).toEqual(before);
  }
});

test('a new pair of product and location is created for one merchant only', async () => {
  const body = adjustment(shop.products[2], shop.locations[2]);
  for (const [one, other] of sides) {
    const before = await recordsOf(service.db, other.merchant);
    const answer = await one.api.post(path, body);
    expect([answer.status, answer.body.data?.sequence]).toEqual([201, 1]);
    expect(await recordsOf(service.db, other.merchant)).toEqual(before);
  }
});

const locked = ['customers', 'products', 'locations', 'inventory_levels', 'credentials'];

test('a lock on everything of one merchant does not delay the other', async () => {
  const [product, location] = [shop.products[0], shop.locations[0]];
  for (const [one, other] of sides) {
    const session = await service.db.session();
    await session.query('begin');
    for (const table of locked) {
      await session.query(`select from ${table} where merchant_id = $1 for update`, [
        other.merchant,
      ]);
    }
    await session.query('select from journals where merchant_id <> $1 for update', [one.merchant]);
    const answers: [string, Answer][] = [];
    for (const write of writes) answers.push([write.name, await send(write, one, one.api)]);
    for (const status of ['archived', 'active']) {
      answers.push([status, await one.api.patch(`/products/${product}`, { status })]);
    }
    answers.push([
      'owner',
      await one.api.patch(`/people/${owner}`, { name: `Olga ${answers.length}` }),
    ]);
    const release = `/inventory/reservations/${reservation}/release`;
    answers.push(['release', await one.api.post(release, {})]);
    const body = adjustment(product, location, String(100 + Math.floor(Math.random() * 1e6)));
    answers.push(['adjust', await one.api.post(path, body)]);
    await session.query('rollback');
    for (const [name, { status }] of answers) expect([name, status < 300]).toEqual([name, true]);
  }
});

test('the operator erases a customer of one merchant and not of the other', async () => {
  const { id } = (await shop.api.post('/customers', { name: 'Eve', email: 'e@x.org' })).body.data;
  const copy = await mirrorOf(service.db, shop.merchant);
  const before = await recordsOf(service.db, copy.merchant);
  await service.service.performAsOperator(shop.merchant, 'customers.erase', {}, { id });
  expect((await shop.api.get(`/customers/${id}`)).status).toBe(410);
  expect(await recordsOf(service.db, copy.merchant)).toEqual(before);
});

test('what is asked of one record is answered to each once', async () => {
  const [id = ''] = shop.customers;
  const [location = ''] = shop.locations;
  for (const side of [shop, mirror]) {
    const merchant = side.merchant as MerchantId;
    const { reader } = await atMerchant(database, merchant);
    const done = await reader.query(listOperationsOn(merchant, id, '', 100));
    expect(done.length).toBeGreaterThan(0);
    expect(new Set(done.map((one) => one.id)).size).toBe(done.length);
    expect(await reader.query(measure(customers, merchant, [id]))).toHaveLength(1);
    const zones = await reader.query(findZone(merchant, location as GrantedLocationId));
    expect(zones).toHaveLength(1);
  }
});

describe('what a key is bound to', () => {
  const type = 'customers.create' as const;
  const body = { name: 'Ada', email: 'ada@example.com' };

  /** As authentication looks it up, and as the write path does after a collision. */
  async function boundTo({ merchant, credential, token }: Neighbour, key: string) {
    const keyHash = hashKey(key);
    const { authenticator } = service.service.api;
    const caller = await authenticator.authenticate(token, undefined, { type, keyHash });
    const write = {
      merchant,
      actor: { credential_id: credential },
      endpoint: { contract: { name: type } },
      keyHash,
    } as unknown as Write;
    const { reader } = await atMerchant(database, merchant);
    const [found] = await reader.query(findOperations([write]));
    return [caller?.bound?.id, found?.id];
  }

  test('is found for each of them, among all keys of both', async () => {
    for (const [one, other] of sides) {
      const key = newKey();
      const { meta } = (await one.api.post('/customers', body, { key })).body;
      expect(await boundTo(one, key)).toEqual([meta.operation_id, meta.operation_id]);
      expect(await boundTo(other, key)).toEqual([undefined, undefined]);
    }
  });

  test('is nothing at a merchant without keys, when the next one has bound this key', async () => {
    const { first, second } = await neighbours(service);
    const key = newKey();
    await second.api.post('/customers', body, { key });
    expect(await boundTo(first, key)).toEqual([undefined, undefined]);
    const answer = await first.api.post('/customers', body, { key });
    expect([answer.status, isReplay(answer)]).toEqual([201, false]);
  });
});

test('not even the owner of the database can end a level at a movement of the other', async () => {
  for (const [one, other] of sides) {
    const [product, location] = [shop.products[one === shop ? 1 : 2], shop.locations[0]];
    const { body } = await other.api.post(path, adjustment(product, location, '33'));
    const statement = `update inventory_levels set sequence = $4, quantity = 33,
      last_movement_id = $5 where merchant_id = $1 and product_id = $2 and location_id = $3`;
    const { id, sequence } = body.data;
    const values = [one.merchant, product, location, sequence, id];
    const done = sqlOf(service.db, one.merchant, statement, values);
    await expect(done).rejects.toThrow('differs from its last');
  }
});
