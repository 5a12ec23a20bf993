import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { moveByHand } from '../../test/kit/moved.ts';
import { eventTypes, scopes } from '../resources.ts';

let service: Environment;
let merchant: string;
let credential: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());
beforeEach(async () => {
  merchant = await service.given.merchant();
  const given = await service.given.credential(merchant);
  credential = given.id;
  api = service.api.as(given.token);
});

async function caller(may: { scopes?: readonly string[]; locations?: readonly string[] }) {
  return service.api.as((await service.given.credential(merchant, may)).token);
}

async function made(path: string, body: object): Promise<string> {
  const answer = await api.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data.id;
}

const customer = () => made('/customers', { name: 'Ada', email: 'ada@example.com' });
const product = () => made('/products', { name: 'Flour' });
const location = () => made('/locations', { name: 'Main Street' });
const adjust = (product_id: string, location_id: string, target_quantity: string) =>
  api.post('/inventory/adjustments', {
    ...{ product_id, location_id, target_quantity },
    reason: 'correction',
  });

/** What an answer shows, as short as can be. */
const shown = ({ body }: Answer): [number, string][] =>
  body.data.map((one: { position: string; type: string }) => [Number(one.position), one.type]);

async function feed(query = '', as = api): Promise<Answer> {
  const answer = await as.get(`/events${query}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer;
}

describe('an event', () => {
  test('of each type says what happened, in the order of the journal', async () => {
    const ada = await customer();
    const flour = await product();
    const shop = await location();
    await api.patch(`/customers/${ada}`, { note: 'x' });
    await api.patch(`/products/${flour}`, { description: 'x' });
    await api.patch(`/locations/${shop}`, { code: 'X' });
    const moved = await adjust(flour, shop, '4');
    const sold = await api.post('/inventory/transfers', {
      ...{ from_location_id: shop, reason: 'sale' },
      lines: [{ product_id: flour, quantity: '1' }],
    });
    const counted = [{ product_id: flour, counted_quantity: '9' }];
    await api.post('/inventory/counts', { location_id: shop, lines: counted });
    const eve = await customer();
    await service.service.performAsOperator(merchant, 'customers.erase', {}, { id: eve });
    const reserve = (expires_at: string | null = null) =>
      made('/inventory/reservations', {
        location_id: shop,
        lines: [{ product_id: flour, quantity: '1' }],
        expires_at,
      });
    await api.post(`/inventory/reservations/${await reserve()}/release`, {});
    await api.post(`/inventory/reservations/${await reserve()}/fulfil`, { reason: 'sale' });
    const left = await reserve(new Date(Date.now() + 1_500).toISOString());
    await service.db.sql('select pg_sleep(1.6)');
    await service.service.performAsOperator(merchant, 'inventory.expire', {}, { id: left });
    const answer = await feed();
    expect(shown(answer).map(([, type]) => type)).toEqual([
      ...['customer.created', 'product.created', 'location.created', 'customer.updated'],
      ...['product.updated', 'location.updated', 'inventory.adjusted', 'inventory.transferred'],
      ...['inventory.counted', 'customer.created', 'customer.erased'],
      ...['inventory.reserved', 'inventory.released'],
      ...['inventory.reserved', 'inventory.fulfilled', 'inventory.reserved', 'inventory.expired'],
    ]);
    const positions = Array.from({ length: 17 }, (_, index) => index + 1);
    expect(shown(answer).map(([position]) => position)).toEqual(positions);
    expect(new Set(shown(answer).map(([, type]) => type))).toEqual(new Set(eventTypes));
    expect(answer.body.meta).toMatchObject({
      through_position: '17',
      journal: moved.body.meta.journal,
    });
    expect(answer.body.meta).not.toHaveProperty('next_cursor');
    const { operation_id, position } = moved.body.meta;
    const { level: _, ...movement } = moved.body.data;
    expect(answer.body.data[6]).toEqual({
      id: operation_id.replace('op_', 'evt_'),
      position,
      type: 'inventory.adjusted',
      occurred_at: movement.recorded_at,
      operation_id,
      actor: {
        ...{ credential_id: credential, name: 'test' },
        ...{ kind: 'personal_access_token', application_id: null },
      },
      resource: { type: 'inventory_movement', id: movement.id, version: null },
      location_ids: [shop],
      data: { movements: [movement], movement_count: 1 },
    });
    expect(answer.body.data[7]).toMatchObject({
      resource: { type: 'inventory_transfer', id: sold.body.data.id, version: null },
      data: { movements: [{ id: sold.body.data.lines[0].out_movement_id }], movement_count: 1 },
    });
    const now = async (path: string) => (await api.get(path)).body.data;
    expect(answer.body.data[0].data).toEqual(await now(`/customers/${ada}`));
    expect(answer.body.data[3].resource).toEqual({ type: 'customer', id: ada, version: 2 });
    expect(answer.body.data[4].data).toEqual(await now(`/products/${flour}`));
    expect(answer.body.data[5].data).toEqual(await now(`/locations/${shop}`));
    expect(answer.body.data[5].location_ids).toEqual([shop]);
    expect(answer.body.data[3].location_ids).toEqual([]);
  });

  test('of a customer says nothing about him once he is erased', async () => {
    const ada = await customer();
    await api.patch(`/customers/${ada}`, { note: 'secret' });
    expect(JSON.stringify((await feed()).body)).toContain('secret');
    await service.service.performAsOperator(merchant, 'customers.erase', {}, { id: ada });
    const { data } = (await feed()).body;
    const gone = { resource: { type: 'customer', id: ada, version: null }, data: null };
    expect(data).toMatchObject([gone, gone, { ...gone, type: 'customer.erased' }]);
  });

  test('comes of no replay, no refusal and no change of nothing', async () => {
    const key = newKey();
    const body = { name: 'Ada', email: 'ada@example.com' };
    const { data } = (await api.post('/customers', body, { key })).body;
    await api.post('/customers', body, { key });
    await api.patch(`/customers/${data.id}`, { name: 'Ada' });
    const refused = await adjust('prod_x', await location(), '1');
    expect(refused.status).toBe(422);
    const expected = [
      [1, 'customer.created'],
      [2, 'location.created'],
    ];
    expect(shown(await feed())).toEqual(expected);
  });

  test('of many movements shows 50 of them, their number, and where they were', async () => {
    const flour = await product();
    const shops = [await location(), await location(), await location()];
    const lines = Array.from({ length: 120 }, (_, index) => ({
      product: flour,
      location: shops[index % 3] ?? '',
    }));
    const operation = await moveByHand(service.db, { merchant, credential, lines });
    const event = (await feed('?type=inventory.adjusted')).body.data[0];
    expect(event.data.movement_count).toBe(120);
    expect(event.data.movements.map(({ line }: { line: number }) => line)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
    expect(event.location_ids).toEqual([...shops].sort());
    const [first = '', second = ''] = shops;
    const some = await caller({ locations: [second] });
    const cut = (await feed('?type=inventory.adjusted', some)).body.data[0];
    expect(cut.data.movement_count).toBe(40);
    expect(cut.data.movements).toHaveLength(40);
    expect(cut.location_ids).toEqual([second]);
    const two = await caller({ locations: [first, second] });
    const most = (await feed('?type=inventory.adjusted', two)).body.data[0];
    expect([most.data.movement_count, most.data.movements.length]).toEqual([80, 50]);
    expect(most.location_ids).toEqual([first, second].sort());
    const rest = await two.get(`/inventory/movements?operation_id=${operation}&limit=200`);
    expect(rest.body.data).toHaveLength(80);
  });
});

describe('the reach of a credential', () => {
  test('is, for each event, the scope that reads its resource', async () => {
    await customer();
    const flour = await product();
    await adjust(flour, await location(), '4');
    const nouns = { customers: 1, products: 2, locations: 3, inventory: 4 };
    for (const [name, position] of Object.entries(nouns)) {
      const only = await feed('', await caller({ scopes: ['events.read', `${name}.read`] }));
      expect([name, shown(only).map(([at]) => at)]).toEqual([name, [position]]);
      const left = scopes.filter((scope) => scope !== `${name}.read`);
      const others = await feed('', await caller({ scopes: left }));
      const expected = [1, 2, 3, 4].filter((at) => at !== position);
      expect([name, shown(others).map(([at]) => at)]).toEqual([name, expected]);
      for (const one of [only, others]) expect(one.body.meta.through_position).toBe('4');
    }
    const none = await feed('', await caller({ scopes: ['events.read'] }));
    expect([none.body.data, none.body.meta.through_position]).toEqual([[], '4']);
    const without = await caller({ scopes: scopes.filter((scope) => scope !== 'events.read') });
    expect((await without.get('/events')).code).toBe('insufficient_scope');
  });

  test('is, where an event has locations, a grant of one; the rest is cut out', async () => {
    const flour = await product();
    const [here, there] = [await location(), await location()];
    await adjust(flour, here, '4');
    await adjust(flour, there, '4');
    const lines = [here, there].map((at) => ({ product: flour, location: at }));
    await moveByHand(service.db, { merchant, credential, lines });
    const all = (await feed()).body.data;
    expect(all).toHaveLength(6);
    for (const [granted, line, own] of [
      [here, 0, [1, 2, 4, 6]],
      [there, 1, [1, 3, 5, 6]],
    ] as const) {
      const answer = await feed('', await caller({ locations: [granted] }));
      expect(shown(answer).map(([at]) => at)).toEqual(own);
      const cut = answer.body.data[3];
      const movement = all[5].data.movements[line];
      expect(cut).toEqual({
        ...all[5],
        location_ids: [granted],
        resource: { ...all[5].resource, id: movement.id },
        data: { movements: [movement], movement_count: 1 },
      });
      const other = granted === here ? there : here;
      expect(JSON.stringify(answer.body)).not.toContain(other);
    }
    const nowhere = await feed('', await caller({ locations: [] }));
    expect(shown(nowhere)).toEqual([[1, 'product.created']]);
    expect(nowhere.body.meta.through_position).toBe('6');
  });

  test('ends at the merchant: nobody sees what happened at another', async () => {
    await customer();
    const stranger = await service.given.credential(await service.given.merchant());
    const answer = await feed('', service.api.as(stranger.token));
    expect([answer.body.data, answer.body.meta.through_position]).toEqual([[], '0']);
  });
});

describe('filters', () => {
  test('by type, location and product show what each lets through, and together', async () => {
    await customer();
    const [flour, salt] = [await product(), await product()];
    const [here, there] = [await location(), await location()];
    await adjust(flour, here, '4');
    await adjust(salt, there, '4');
    const lines = [
      { product: flour, location: there },
      { product: salt, location: here },
    ];
    await moveByHand(service.db, { merchant, credential, lines });
    const cases: [string, number[]][] = [
      ['', [1, 2, 3, 4, 5, 6, 7, 8]],
      ['type=product.created', [2, 3]],
      ['type=product.created&type=customer.created', [1, 2, 3]],
      ['type=customer.updated', []],
      [`location_id=${here}`, [4, 6, 8]],
      [`location_id=${there}&type=inventory.adjusted`, [7, 8]],
      [`product_id=${flour}`, [2, 6, 8]],
      [`product_id=${flour}&product_id=${salt}`, [2, 3, 6, 7, 8]],
      [`product_id=${flour}&type=product.created`, [2]],
      [`product_id=${flour}&location_id=${here}`, [6]],
      [`product_id=${salt}&location_id=${here}`, [8]],
      [`product_id=${here}`, []],
      ['product_id=x', []],
    ];
    for (const [query, expected] of cases) {
      const answer = await feed(`?${query}`);
      expect([query, shown(answer).map(([at]) => at)]).toEqual([query, expected]);
      expect([query, answer.body.meta.through_position]).toEqual([query, '8']);
    }
    const last = (await feed(`?location_id=${here}`)).body.data[2];
    expect(last.data.movement_count).toBe(2);
  });

  test('by position go on behind it, in the journal that it came with', async () => {
    for (let n = 0; n < 3; n += 1) await customer();
    const { journal } = (await feed()).body.meta;
    const at = (position: string, of = journal) =>
      api.get(`/events?after_position=${position}&journal=${of}`);
    expect(shown(await at('1')).map(([position]) => position)).toEqual([2, 3]);
    const end = await at('3');
    expect([end.body.data, end.body.meta.through_position]).toEqual([[], '3']);
    const refusals = [
      [await at('4'), 'journal_mismatch', 'query.after_position'],
      [await at('1', 'jrn_other'), 'journal_mismatch', 'query.journal'],
      [await api.get('/events?after_position=1'), 'missing_parameter', 'query.journal'],
      [await api.get('/events?after_position=x'), 'invalid_parameter', 'query.after_position'],
      [await api.get('/events?wait=9'), 'invalid_parameter', 'query.wait'],
      [await api.get('/events?type=nothing'), 'invalid_parameter', 'query.type.0'],
    ] as const;
    for (const [answer, code, field] of refusals) {
      expect([answer.status, answer.code]).toEqual([400, code]);
      expect(answer.body.error.details[0].field).toBe(field);
    }
    expect((await at('0', undefined)).status).toBe(200);
  });

  test('name no position of before a restore, and neither does a cursor', async () => {
    for (let n = 0; n < 3; n += 1) await customer();
    const { journal, next_cursor } = (await feed('?limit=1')).body.meta;
    // What a restore does: it gives the journal another ID.
    await service.db.sql('update journals set id = $2 where merchant_id = $1', [
      merchant,
      `jrn_${'1'.repeat(26)}`,
    ]);
    const named = await api.get(`/events?after_position=1&journal=${journal}`);
    const paged = await api.get(`/events?limit=1&cursor=${next_cursor}`);
    expect([named.status, named.code, paged.status, paged.code]).toEqual([
      ...[400, 'journal_mismatch', 400, 'journal_mismatch'],
    ]);
  });
});
