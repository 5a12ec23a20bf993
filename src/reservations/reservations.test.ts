// What is put aside for an order, over HTTP: what counts, how it ends, and who sees it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { later, passed } from '../../test/kit/database-clock.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

let service: Environment;
let merchant: string;
let shop: string;
let store: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  shop = await service.given.location(merchant);
  store = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(async () => {
  expect(await ledgerDifferences(service.db)).toEqual([]);
  await service.stop();
});

type Line = readonly [product: string, quantity: string];

const linesOf = (lines: readonly Line[]) =>
  lines.map(([product_id, quantity]) => ({ product_id, quantity }));

const reserve = (lines: readonly Line[], members: object = {}, as = api, key = newKey()) =>
  as.post(
    '/inventory/reservations',
    { location_id: shop, lines: linesOf(lines), ...members },
    { key },
  );
const release = (id: string, as = api, key = newKey()) =>
  as.post(`/inventory/reservations/${id}/release`, {}, { key });
const fulfil = (id: string, as = api, key = newKey()) =>
  as.post(`/inventory/reservations/${id}/fulfil`, { reason: 'sale' }, { key });
const move = (members: object, ...lines: Line[]) =>
  api.post('/inventory/transfers', { ...members, lines: linesOf(lines) });
const receive = (...lines: Line[]) => move({ to_location_id: shop, reason: 'receipt' }, ...lines);
const takeOut = (reason: string, ...lines: Line[]) =>
  move({ from_location_id: shop, reason }, ...lines);

/** On hand, reserved and available, as both lists of levels show it. */
async function shares(product: string, as = api): Promise<[string, string, string] | undefined> {
  const lists = [`/products/${product}/levels?`, `/inventory/levels?location_id=${shop}`];
  const [one, other] = await Promise.all(
    lists.map(async (path) => {
      const filter = path.startsWith('/inventory') ? `&product_id=${product}` : '';
      const { body } = await as.get(path + filter);
      return body.data.find((level: { location_id: string }) => level.location_id === shop);
    }),
  );
  expect(one).toEqual(other);
  return one && [one.quantity, one.reserved_quantity, one.available_quantity];
}

const product = (precision = 0) => service.given.product(merchant, { precision });
const detailsOf = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

const feedBehind = async ({ position, journal }: { position: string; journal: string }) =>
  (await api.get(`/events?after_position=${BigInt(position) - 1n}&journal=${journal}`)).body.data;

describe('a reservation', () => {
  test('puts aside what it names, and moves nothing', async () => {
    const [flour, milk] = [await product(), await product(3)];
    await receive([flour, '10'], [milk, '2.5']);
    const answer = await reserve(
      [
        [flour, '4'],
        [milk, '0.250'],
      ],
      { reference: 'order 1', note: 'Blue bag.' },
    );
    expect(answer.status).toBe(201);
    const { data, meta } = answer.body;
    expect(data).toMatchObject({
      location_id: shop,
      status: 'active',
      expires_at: null,
      reference: 'order 1',
      note: 'Blue bag.',
      lines: linesOf([
        [flour, '4'],
        [milk, '0.25'],
      ]),
      operation_id: meta.operation_id,
      ended_at: null,
      movement_ids: [],
    });
    expect(await shares(flour)).toEqual(['10', '4', '6']);
    expect(await shares(milk)).toEqual(['2.5', '0.25', '2.25']);
    expect(answer.headers.get('location')).toBe(`/api/v1/inventory/reservations/${data.id}`);
    expect((await api.get(`/inventory/reservations/${data.id}`)).body.data).toEqual(data);
    const [event] = await feedBehind(meta);
    expect(event).toMatchObject({
      type: 'inventory.reserved',
      location_ids: [shop],
      data: { movements: [], movement_count: 0, reservation_lines: [{}, { product_id: milk }] },
    });
  });

  test('is all or none of what is available, and names every line that lacks', async () => {
    const [flour, milk, salt] = [await product(), await product(), await product()];
    await receive([flour, '5'], [milk, '5']);
    await reserve([[flour, '4']]);
    const key = newKey();
    const asked: Line[] = [
      [milk, '1'],
      [flour, '2'],
      [salt, '1'],
    ];
    const answer = await reserve(asked, {}, api, key);
    expect([answer.status, answer.code]).toEqual([422, 'insufficient_quantity']);
    expect(answer.body.error.details).toMatchObject([
      { field: 'lines.1.quantity', product_id: flour, available_quantity: '1' },
      { field: 'lines.2.quantity', product_id: salt, available_quantity: '0' },
    ]);
    expect(await shares(milk)).toEqual(['5', '0', '5']);
    await receive([flour, '5'], [salt, '5']);
    expect((await reserve(asked, {}, api, key)).body.error).toEqual(answer.body.error);
  });

  test('is done once for one key, and each answer is the same', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        reserve([[flour, n % 2 === 0 ? '2' : '2.0']], {}, api, key),
      ),
    );
    expect(new Set(answers.map((one) => JSON.stringify(one.body.data))).size).toBe(1);
    expect(await shares(flour)).toEqual(['10', '2', '8']);
  });

  test('is left alone by sales and transfers, in the same batch as well', async () => {
    const flour = await product();
    await receive([flour, '10']);
    await reserve([[flour, '8']]);
    const refused = await takeOut('sale', [flour, '3']);
    expect([refused.code, refused.body.error.details[0].available_quantity]).toEqual([
      'insufficient_quantity',
      '2',
    ]);
    const carried = { from_location_id: shop, to_location_id: store, reason: 'transfer' };
    expect((await move(carried, [flour, '3'])).code).toBe('insufficient_quantity');
    const rush = await Promise.all(Array.from({ length: 12 }, () => takeOut('sale', [flour, '1'])));
    expect(rush.filter(({ status }) => status === 201)).toHaveLength(2);
    const orders = await Promise.all(Array.from({ length: 6 }, () => reserve([[flour, '1']])));
    expect(orders.filter(({ status }) => status === 201)).toHaveLength(0);
    expect(await shares(flour)).toEqual(['8', '8', '0']);
  });

  test('hinders nobody to write off or count what is gone: available is below 0', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const { id } = (await reserve([[flour, '8']])).body.data;
    expect((await takeOut('damage', [flour, '3'])).status).toBe(201);
    expect((await takeOut('loss', [flour, '3'])).status).toBe(201);
    expect(await shares(flour)).toEqual(['4', '8', '-4']);
    const sold = { from_location_id: shop, reason: 'sale', shortage: 'record' };
    expect((await move(sold, [flour, '1'])).body.data.is_short).toBe(false);
    const adjusted = await api.post('/inventory/adjustments', {
      ...{ product_id: flour, location_id: shop, target_quantity: '2', reason: 'stock_count' },
    });
    expect(adjusted.body.data.level).toMatchObject({
      quantity: '2',
      reserved_quantity: '8',
      available_quantity: '-6',
    });
    const key = newKey();
    const lacking = await fulfil(id, api, key);
    expect([lacking.code, lacking.body.error.details]).toMatchObject([
      'insufficient_quantity',
      [{ field: 'lines.0.quantity', product_id: flour, available_quantity: '2' }],
    ]);
    expect((await api.get(`/inventory/reservations/${id}`)).body.data.status).toBe('active');
    await receive([flour, '20']);
    expect((await fulfil(id, api, key)).body.error).toEqual(lacking.body.error);
    expect((await fulfil(id)).status).toBe(200);
    expect(await shares(flour)).toEqual(['14', '0', '14']);
  });

  test('that is released is available again, once', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const { id } = (await reserve([[flour, '8']])).body.data;
    const key = newKey();
    const answer = await release(id, api, key);
    expect(answer.body.data).toMatchObject({
      status: 'released',
      end_operation_id: answer.body.meta.operation_id,
    });
    expect((await release(id, api, key)).body.data).toEqual(answer.body.data);
    expect(await shares(flour)).toEqual(['10', '0', '10']);
    for (const again of [await release(id), await fulfil(id)]) {
      expect([again.status, again.code]).toEqual([422, 'reservation_not_active']);
      expect(again.body.error.details).toMatchObject([{ field: 'id', status: 'released' }]);
    }
    expect((await feedBehind(answer.body.meta))[0]).toMatchObject({
      type: 'inventory.released',
      location_ids: [shop],
    });
  });

  test('that is fulfilled takes all of it out, and names its movements', async () => {
    const [flour, milk] = [await product(), await product()];
    await receive([flour, '10'], [milk, '10']);
    const { id } = (
      await reserve(
        [
          [milk, '3'],
          [flour, '4'],
        ],
        { reference: 'order 2' },
      )
    ).body.data;
    const { data, meta } = (await fulfil(id)).body;
    const path = `/inventory/movements?operation_id=${meta.operation_id}&order=asc`;
    const moved = (await api.get(path)).body.data;
    expect(moved).toMatchObject([
      { type: 'fulfilment', reason: 'sale', reference: 'order 2', product_id: milk, line: 1 },
      { quantity_delta: '-4', product_id: flour, line: 2 },
    ]);
    expect(data).toMatchObject({
      status: 'fulfilled',
      movement_ids: moved.map((one: { id: string }) => one.id),
    });
    expect([await shares(flour), await shares(milk)]).toEqual([
      ['6', '0', '6'],
      ['7', '0', '7'],
    ]);
    expect((await fulfil(id)).code).toBe('reservation_not_active');
    expect((await feedBehind(meta))[0]).toMatchObject({
      type: 'inventory.fulfilled',
      resource: { type: 'inventory_reservation', id },
      data: { movement_count: 2, reservation_lines: [{ product_id: milk }, {}] },
    });
  });

  test('that several end at once ends once', async () => {
    const flour = await product();
    await receive([flour, '100']);
    for (let n = 0; n < 10; n += 1) {
      const { id } = (await reserve([[flour, '1']])).body.data;
      const rivals = [release(id), fulfil(id), release(id), fulfil(id)];
      const answers = await Promise.all(rivals);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422]);
    }
    const [onHand = '', reserved] = (await shares(flour)) ?? [];
    expect(reserved).toBe('0');
    const { body } = await api.get(`/inventory/movements?product_id=${flour}&reason=sale`);
    expect(100 - body.data.length).toBe(Number(onHand));
  });
});

describe('one that expires', () => {
  test('counts no more from its moment on, though nothing sweeps', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const expires_at = await later(service.db, 600);
    const { id } = (await reserve([[flour, '8']], { expires_at })).body.data;
    expect(await shares(flour)).toEqual(['10', '8', '2']);
    expect((await reserve([[flour, '3']])).code).toBe('insufficient_quantity');
    await passed(service.db, expires_at);
    expect(await shares(flour)).toEqual(['10', '0', '10']);
    const path = `/inventory/reservations/${id}`;
    const shown = (await api.get(path)).body.data;
    expect(shown).toMatchObject({ status: 'expired', ended_at: null, expires_at });
    for (const ended of [await release(id), await fulfil(id)]) {
      expect([ended.code, ended.body.error.details[0].status]).toEqual([
        'reservation_not_active',
        'expired',
      ]);
    }
    const adjusted = await api.post('/inventory/adjustments', {
      ...{ product_id: flour, location_id: shop, target_quantity: '9', reason: 'correction' },
    });
    expect(adjusted.body.data.level).toMatchObject({ reserved_quantity: '0' });
    expect((await reserve([[flour, '9']])).status).toBe(201);
    expect(await shares(flour)).toEqual(['9', '9', '0']);
    for (const [status, isListed] of [
      ['expired', true],
      ['active', false],
    ] as const) {
      const { body } = await api.get(`/inventory/reservations?status=${status}&limit=200`);
      const ids = body.data.map((one: { id: string }) => one.id);
      expect([status, ids.includes(id)]).toEqual([status, isListed]);
    }
  });

  test('is told by the sweep, once, by however many nodes', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const expires_at = await later(service.db, 300);
    const made = (await reserve([[flour, '8']], { expires_at })).body;
    const errors: unknown[] = [];
    const sweeps = [1, 2].map(() => service.service.sweep((error) => errors.push(error)));
    const path = `/inventory/reservations/${made.data.id}`;
    await expect
      .poll(async () => (await api.get(path)).body.data.ended_at, { timeout: 10_000 })
      .not.toBeNull();
    for (const sweep of sweeps) await sweep.stop();
    expect(errors).toEqual([]);
    expect(await shares(flour)).toEqual(['10', '0', '10']);
    const types = (await feedBehind(made.meta)).filter(
      (one: { resource: { id: string } }) => one.resource.id === made.data.id,
    );
    expect(types).toMatchObject([
      { type: 'inventory.reserved' },
      { type: 'inventory.expired', location_ids: [shop], data: { movement_count: 0 } },
    ]);
    expect((await release(made.data.id)).body.error.details[0].status).toBe('expired');
  });

  test('ends later than now, and at most 90 days from now, as the database says', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const day = 86_400_000;
    for (const [time, status] of [
      [await later(service.db, -1), 422],
      ['2020-01-01T00:00:00Z', 422],
      [await later(service.db, 90 * day + 60_000), 422],
      [await later(service.db, 90 * day - 60_000), 201],
    ] as const) {
      const key = newKey();
      const ask = () => reserve([[flour, '1']], { expires_at: time }, api, key);
      const answer = await ask();
      expect([time, answer.status]).toEqual([time, status]);
      if (status === 201) continue;
      expect(detailsOf(answer)).toEqual([['expires_at', 'value_not_allowed']]);
      expect((await ask()).headers.get('idempotent-replayed')).toBe('true');
    }
  });

  test('means the same in another zone', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const key = newKey();
    const ask = (expires_at: string) => reserve([[flour, '1']], { expires_at }, api, key);
    const time = (await later(service.db, 3_600_000)).replace(/\.\d+Z/, '.000Z');
    const first = await ask(time);
    const elsewhere = new Date(Date.parse(time) + 7_200_000).toISOString().replace('Z', '+02:00');
    expect((await ask(elsewhere)).body.data).toEqual(first.body.data);
  });
});

describe('a reservation is refused', () => {
  const faulty: [string, () => Promise<object>, [string, string][]][] = [
    ['without lines', async () => ({ lines: [] }), [['lines', 'value_not_allowed']]],
    [
      'that names a product twice',
      async () => {
        const line = { product_id: await product(), quantity: '1' };
        return { lines: [line, line] };
      },
      [['lines.1.product_id', 'repeated']],
    ],
    [
      'of nothing',
      async () => ({ lines: [{ product_id: await product(), quantity: '0' }] }),
      [['lines.0.quantity', 'must_be_positive']],
    ],
    [
      'until a time that is none',
      async () => ({ expires_at: 'tomorrow' }),
      [['expires_at', 'invalid_format']],
    ],
  ];
  test.each(faulty)('%s, and binds no key', async (_, make, faults) => {
    const flour = await product();
    await receive([flour, '1']);
    const key = newKey();
    const answer = await reserve([[flour, '1']], await make(), api, key);
    expect([answer.status, detailsOf(answer)]).toEqual([422, faults]);
    expect((await reserve([[flour, '1']], {}, api, key)).status).toBe(201);
  });

  test('for every product that cannot move, and at an inactive location', async () => {
    const { given } = service;
    const old = await given.product(merchant, { status: 'archived' });
    const whole = await product(0);
    const answer = await reserve([
      [whole, '1.5'],
      [old, '1'],
      ['prod_x', '1'],
    ]);
    expect(detailsOf(answer)).toEqual([
      ['lines.0.quantity', 'too_many_decimal_places'],
      ['lines.1.product_id', 'product_archived'],
      ['lines.2.product_id', 'product_not_found'],
    ]);
    const closed = await given.location(merchant, { status: 'inactive' });
    const elsewhere = await reserve([[whole, '1']], { location_id: closed });
    expect(elsewhere.code).toBe('location_inactive');
  });

  test('to be fulfilled while its product is archived, and can be released', async () => {
    const flour = await product();
    await receive([flour, '5']);
    const { id } = (await reserve([[flour, '5']])).body.data;
    await api.patch(`/products/${flour}`, { status: 'archived' });
    const answer = await fulfil(id);
    expect([answer.code, detailsOf(answer)]).toEqual([
      'product_archived',
      [['lines.0.product_id', 'product_archived']],
    ]);
    expect((await release(id)).status).toBe(200);
  });
});

describe('a grant of its location', () => {
  test('is needed for everything, in the same words as for one that does not exist', async () => {
    const flour = await product();
    await receive([flour, '9']);
    const { id } = (await reserve([[flour, '2']])).body.data;
    const { token } = await service.given.credential(merchant, { locations: [store] });
    const other = service.api.as(token);
    for (const hidden of [id, 'rsv_x']) {
      for (const answer of [
        await other.get(`/inventory/reservations/${hidden}`),
        await release(hidden, other),
        await fulfil(hidden, other),
      ]) {
        expect([answer.status, answer.code]).toEqual([404, 'not_found']);
      }
    }
    expect((await other.get('/inventory/reservations')).body.data).toEqual([]);
    const elsewhere = await other.get(`/inventory/reservations?location_id=${shop}`);
    expect(elsewhere.code).toBe('location_not_granted');
    expect((await reserve([[flour, '1']], {}, other)).code).toBe('location_not_granted');
    expect(await shares(flour)).toEqual(['9', '2', '7']);
  });

  test('that was lost since stops the replay, of a success and of a refusal', async () => {
    const flour = await product();
    await receive([flour, '9']);
    const { id } = (await reserve([[flour, '2']])).body.data;
    const { id: credential, token } = await service.given.credential(merchant, {
      locations: [shop],
    });
    const clerk = service.api.as(token);
    const [done, refused] = [newKey(), newKey()];
    expect((await release(id, clerk, done)).status).toBe(200);
    expect((await release(id, clerk, refused)).status).toBe(422);
    await service.db.sql(`update credentials set location_ids = '{}' where id = $1`, [credential]);
    for (const key of [done, refused, newKey()]) {
      const answer = await release(id, clerk, key);
      expect([answer.status, answer.code]).toEqual([404, 'not_found']);
      expect(answer.body.meta).not.toHaveProperty('operation_id');
    }
  });

  test('of another location does not show what was refused there', async () => {
    const flour = await product();
    await receive([flour, '9']);
    const { id } = (await reserve([[flour, '9']])).body.data;
    await takeOut('loss', [flour, '4']);
    const { operation_id } = (await fulfil(id)).body.meta;
    for (const [location, status] of [
      [shop, 200],
      [store, 404],
    ] as const) {
      const { token } = await service.given.credential(merchant, { locations: [location] });
      const answer = await service.api.as(token).get(`/operations/${operation_id}`);
      expect([location, answer.status]).toEqual([location, status]);
    }
  });
});
