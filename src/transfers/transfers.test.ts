import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
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

const transfer = (members: object, lines: readonly Line[], as = api, key = newKey()) =>
  as.post(
    '/inventory/transfers',
    { ...members, lines: lines.map(([product_id, quantity]) => ({ product_id, quantity })) },
    { key },
  );
const receive = (...lines: Line[]) => transfer({ to_location_id: shop, reason: 'receipt' }, lines);
const sell = (...lines: Line[]) => transfer({ from_location_id: shop, reason: 'sale' }, lines);
const carry = (...lines: Line[]) =>
  transfer({ from_location_id: shop, to_location_id: store, reason: 'transfer' }, lines);

async function quantities(product: string, as = api): Promise<Record<string, string>> {
  const { body } = await as.get(`/products/${product}/levels`);
  return Object.fromEntries(
    body.data.map((one: { location_id: string; quantity: string }) => [
      one.location_id,
      one.quantity,
    ]),
  );
}

const product = (precision = 0) => service.given.product(merchant, { precision });
const detailsOf = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('a transfer', () => {
  test('moves each line by what it says, whatever the level is', async () => {
    const [flour, milk] = [await product(), await product(3)];
    expect((await receive([flour, '10'], [milk, '2.5'])).status).toBe(201);
    const answer = await sell([flour, '3'], [milk, '0.250']);
    expect(answer.status).toBe(201);
    expect([await quantities(flour), await quantities(milk)]).toEqual([
      { [shop]: '7' },
      { [shop]: '2.25' },
    ]);
    const { data, meta } = answer.body;
    const moved = await api.get(`/inventory/movements?operation_id=${meta.operation_id}&order=asc`);
    expect(moved.body.data).toMatchObject([
      { type: 'transfer_out', reason: 'sale', quantity_delta: '-3', line: 1, product_id: flour },
      { type: 'transfer_out', reason: 'sale', quantity_delta: '-0.25', line: 2, product_id: milk },
    ]);
    const [first, second] = moved.body.data;
    expect(data).toMatchObject({
      from_location_id: shop,
      to_location_id: null,
      reason: 'sale',
      is_short: false,
      operation_id: meta.operation_id,
      position: meta.position,
      lines: [
        { product_id: flour, quantity: '3', quantity_short: '0', out_movement_id: first.id },
        { product_id: milk, quantity: '0.25', in_movement_id: null, out_movement_id: second.id },
      ],
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/inventory/transfers/${data.id}`);
    expect((await api.get(`/inventory/transfers/${data.id}`)).body.data).toEqual(data);
  });

  test('between two locations takes from one what it gives to the other', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const { body } = await carry([flour, '4']);
    expect(await quantities(flour)).toEqual({ [shop]: '6', [store]: '4' });
    const moved = await api.get(
      `/inventory/movements?operation_id=${body.meta.operation_id}&order=asc`,
    );
    expect(moved.body.data).toMatchObject([
      { type: 'transfer_out', location_id: shop, quantity_delta: '-4', line: 1 },
      { type: 'transfer_in', location_id: store, quantity_delta: '4', line: 2 },
    ]);
    expect(body.data.lines).toMatchObject([
      { out_movement_id: moved.body.data[0].id, in_movement_id: moved.body.data[1].id },
    ]);
  });

  test('is done once for one key, and each answer is the same', async () => {
    const flour = await product();
    await receive([flour, '10']);
    const key = newKey();
    const body = { from_location_id: shop, reason: 'sale' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        transfer(body, [[flour, n % 2 === 0 ? '2' : '2.0']], api, key),
      ),
    );
    expect(new Set(answers.map((one) => JSON.stringify(one.body.data))).size).toBe(1);
    expect(answers.filter((one) => one.headers.get('idempotent-replayed'))).toHaveLength(19);
    expect(await quantities(flour)).toEqual({ [shop]: '8' });
    expect((await transfer(body, [[flour, '3']], api, key)).code).toBe('idempotency_key_reused');
  });

  test('is all or nothing, and names every line that lacks something', async () => {
    const [flour, milk, salt] = [await product(), await product(), await product()];
    await receive([flour, '10'], [milk, '1']);
    const key = newKey();
    const ask = () =>
      transfer(
        { from_location_id: shop, to_location_id: store, reason: 'transfer' },
        [
          ...([
            [flour, '3'],
            [milk, '2'],
            [salt, '1'],
          ] as const),
        ],
        api,
        key,
      );
    const answer = await ask();
    expect([answer.status, answer.code]).toEqual([422, 'insufficient_quantity']);
    expect(answer.body.error.details).toMatchObject([
      { field: 'lines.1.quantity', product_id: milk, available_quantity: '1' },
      { field: 'lines.2.quantity', product_id: salt, available_quantity: '0' },
    ]);
    expect([await quantities(flour), await quantities(milk)]).toEqual([
      { [shop]: '10' },
      { [shop]: '1' },
    ]);
    await receive([milk, '9'], [salt, '9']);
    expect((await ask()).body.error).toEqual(answer.body.error);
  });

  test('never brings a level to a million millions', async () => {
    const flour = await product();
    await receive([flour, '999999999999']);
    const answer = await receive([flour, '1']);
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect(detailsOf(answer)).toEqual([['lines.0.quantity', 'too_large']]);
    expect(await quantities(flour)).toEqual({ [shop]: '999999999999' });
  });

  test('takes what is there when a shortage is to be recorded, and says what was not', async () => {
    const [flour, milk, salt] = [await product(), await product(), await product()];
    await receive([flour, '10'], [milk, '1']);
    const sold = { from_location_id: shop, reason: 'sale', shortage: 'record' };
    const answer = await transfer(sold, [
      [flour, '3'],
      [milk, '2'],
      [salt, '5'],
    ]);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({
      is_short: true,
      lines: [{ quantity_short: '0' }, { quantity_short: '1' }, { quantity_short: '5' }],
    });
    expect(answer.body.data.lines[2].out_movement_id).toBeNull();
    expect([await quantities(flour), await quantities(milk)]).toEqual([
      { [shop]: '7' },
      { [shop]: '0' },
    ]);
    const short = await api.get('/inventory/transfers?short=true');
    expect(short.body.data).toEqual([answer.body.data]);
    const after = BigInt(answer.body.meta.position) - 1n;
    const { journal } = answer.body.meta;
    for (const filter of ['', `&location_id=${shop}`, `&product_id=${salt}`]) {
      const path = `/events?after_position=${after}&journal=${journal}${filter}`;
      expect((await api.get(path)).body.data).toMatchObject([
        {
          type: 'inventory.transferred',
          resource: { type: 'inventory_transfer', id: answer.body.data.id, version: null },
          location_ids: [shop],
          data: {
            movement_count: 2,
            short: [
              { location_id: shop, product_id: milk, quantity: '2', quantity_short: '1' },
              { location_id: shop, product_id: salt, quantity: '5', quantity_short: '5' },
            ],
          },
        },
      ]);
    }
  });

  test('of which nothing was there is recorded as well, and is an event', async () => {
    const salt = await product();
    const sold = { from_location_id: shop, reason: 'sale', shortage: 'record' };
    const { body } = await transfer(sold, [[salt, '5']]);
    expect(await quantities(salt)).toEqual({});
    const after = BigInt(body.meta.position) - 1n;
    const path = `/events?after_position=${after}&journal=${body.meta.journal}`;
    for (const filter of ['', `&location_id=${shop}`, `&product_id=${salt}`]) {
      expect((await api.get(path + filter)).body.data).toMatchObject([
        { location_ids: [shop], data: { movements: [], movement_count: 0 } },
      ]);
    }
    for (const filter of [`&location_id=${store}`, `&product_id=${await product()}`]) {
      expect((await api.get(path + filter)).body.data).toEqual([]);
    }
  });
});

describe('a transfer is refused', () => {
  const sale = () => ({ from_location_id: shop, reason: 'sale' });
  const cases: [string, () => Promise<object>, [string, string][]][] = [
    ['without any location', async () => ({ reason: 'sale' }), [['from_location_id', 'required']]],
    [
      'from a location to itself',
      async () => ({ from_location_id: shop, to_location_id: shop, reason: 'transfer' }),
      [['to_location_id', 'value_not_allowed']],
    ],
    [
      'with a reason of the outside between two',
      async () => ({ from_location_id: shop, to_location_id: store, reason: 'sale' }),
      [['reason', 'value_not_allowed']],
    ],
    [
      'with the reason of two at the outside',
      async () => ({ to_location_id: store, reason: 'transfer' }),
      [['reason', 'value_not_allowed']],
    ],
    ...['sale', 'damage', 'loss'].map((reason): (typeof cases)[number] => [
      `that comes from the outside as a ${reason}`,
      async () => ({ to_location_id: store, reason }),
      [['reason', 'value_not_allowed']],
    ]),
    [
      'that leaves as a receipt',
      async () => ({ from_location_id: shop, reason: 'receipt' }),
      [['reason', 'value_not_allowed']],
    ],
    [
      'that records a shortage of what comes in',
      async () => ({ to_location_id: store, reason: 'receipt', shortage: 'record' }),
      [['shortage', 'value_not_allowed']],
    ],
    ['without lines', async () => ({ ...sale(), lines: [] }), [['lines', 'value_not_allowed']]],
    [
      'that names a product twice',
      async () => {
        const line = { product_id: await product(), quantity: '1' };
        return { ...sale(), lines: [line, line] };
      },
      [['lines.1.product_id', 'repeated']],
    ],
    [
      'of nothing',
      async () => ({ ...sale(), lines: [{ product_id: await product(), quantity: '0.0' }] }),
      [['lines.0.quantity', 'must_be_positive']],
    ],
    [
      'of less than nothing',
      async () => ({ ...sale(), lines: [{ product_id: await product(), quantity: '-1' }] }),
      [['lines.0.quantity', 'must_not_be_negative']],
    ],
    [
      'with a member that a line has not',
      async () => ({ ...sale(), lines: [{ product_id: 'x', quantity: '1', price: '2' }] }),
      [['lines.0.price', 'unknown_field']],
    ],
  ];
  test.each(cases)('%s, and binds no key', async (_, make, faults) => {
    const key = newKey();
    const lines = [{ product_id: await product(), quantity: '1' }];
    const answer = await api.post('/inventory/transfers', { lines, ...(await make()) }, { key });
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect(detailsOf(answer)).toEqual(faults);
    const flour = await product();
    const good = { to_location_id: shop, reason: 'receipt' };
    expect((await transfer(good, [[flour, '1']], api, key)).status).toBe(201);
  });

  test('for every product that cannot move, with the code of the first', async () => {
    const { given } = service;
    const old = await given.product(merchant, { status: 'archived' });
    const untracked = await given.product(merchant, { tracked: false });
    const whole = await product(0);
    const answer = await receive([whole, '1.5'], [old, '1'], [untracked, '1'], ['prod_x', '1']);
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect(detailsOf(answer)).toEqual([
      ['lines.0.quantity', 'too_many_decimal_places'],
      ['lines.1.product_id', 'product_archived'],
      ['lines.2.product_id', 'inventory_not_tracked'],
      ['lines.3.product_id', 'product_not_found'],
    ]);
  });

  test('at an inactive location, on either side', async () => {
    const closed = await service.given.location(merchant, { status: 'inactive' });
    const flour = await product();
    await receive([flour, '3']);
    for (const [sides, field] of [
      [{ from_location_id: closed, to_location_id: shop }, 'from_location_id'],
      [{ from_location_id: shop, to_location_id: closed }, 'to_location_id'],
    ] as const) {
      const answer = await transfer({ ...sides, reason: 'transfer' }, [[flour, '1']]);
      expect([answer.code, detailsOf(answer)]).toEqual([
        'location_inactive',
        [[field, 'location_inactive']],
      ]);
    }
    expect(await quantities(flour)).toEqual({ [shop]: '3' });
  });
});

describe('a grant', () => {
  test('of both locations is needed to write, of one to see that side', async () => {
    const { given } = service;
    const flour = await product();
    await receive([flour, '9']);
    const { body } = await carry([flour, '4']);
    const clerk = async (...locations: string[]) =>
      service.api.as((await given.credential(merchant, { locations })).token);
    const here = await clerk(shop);
    const there = await clerk(store);
    const nowhere = await clerk();
    for (const [as, sides] of [
      [here, { from_location_id: shop, to_location_id: store }],
      [there, { from_location_id: shop, to_location_id: store }],
      [there, { from_location_id: shop }],
      [nowhere, { to_location_id: shop }],
    ] as const) {
      const reason =
        'to_location_id' in sides && 'from_location_id' in sides ? 'transfer' : 'other';
      const answer = await transfer({ ...sides, reason }, [[flour, '1']], as);
      expect([answer.status, answer.code]).toEqual([403, 'location_not_granted']);
    }
    const path = `/inventory/transfers/${body.data.id}`;
    const [line] = body.data.lines;
    expect((await here.get(path)).body.data).toEqual({
      ...body.data,
      to_location_id: null,
      lines: [{ ...line, in_movement_id: null }],
    });
    expect((await there.get(path)).body.data).toEqual({
      ...body.data,
      from_location_id: null,
      lines: [{ ...line, out_movement_id: null }],
    });
    expect((await nowhere.get(path)).status).toBe(404);
    expect((await nowhere.get('/inventory/transfers')).body.data).toEqual([]);
    const ids = async (as: Api, query = '') =>
      (await as.get(`/inventory/transfers${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect((await ids(there)).includes(body.data.id)).toBe(true);
    expect(await ids(api, `?location_id=${store}`)).toEqual(await ids(there));
    expect((await there.get(`/inventory/transfers?location_id=${shop}`)).status).toBe(403);
  });
});

test('a list of transfers has each once, newest first, page by page', async () => {
  const { given } = service;
  const owner = await given.merchant();
  const [a, b] = [await given.location(owner), await given.location(owner)];
  const flour = await given.product(owner);
  const locations = { locations: [a, b] };
  const whole = service.api.as((await given.credential(owner)).token);
  const both = service.api.as((await given.credential(owner, locations)).token);
  const made: string[] = [];
  const make = async (sides: object, reason: string) => {
    const { body } = await transfer({ ...sides, reason }, [[flour, '1']], whole);
    made.unshift(body.data.id);
  };
  for (let n = 0; n < 4; n += 1) {
    await make({ to_location_id: a }, 'receipt');
    await make({ from_location_id: a, to_location_id: b }, 'transfer');
    await make({ from_location_id: b }, 'sale');
  }
  for (const one of [whole, both]) {
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await one.get(`/inventory/transfers?limit=5${cursor}`);
      expect(page.status).toBe(200);
      found.push(...page.body.data.map(({ id }: { id: string }) => id));
      if (page.body.meta.next_cursor === undefined) break;
      cursor = `&cursor=${page.body.meta.next_cursor}`;
    }
    expect(found).toEqual(made);
  }
});
