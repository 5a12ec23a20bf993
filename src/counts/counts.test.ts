import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

let service: Environment;
let merchant: string;
let shop: string;
let api: Api;
let other: Awaited<ReturnType<typeof startNode>>;
let another: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  shop = await service.given.location(merchant);
  const { token } = await service.given.credential(merchant);
  api = service.api.as(token);
  other = await startNode(service.db.serviceUrl);
  another = other.api.as(token);
});
afterAll(async () => {
  expect(await ledgerDifferences(service.db)).toEqual([]);
  await other.stop();
  await service.stop();
});

interface Line {
  readonly product_id: string;
  readonly counted_quantity: string;
  readonly expected_quantity?: string;
  readonly counted_at_position?: string;
}

const line = (product_id: string, counted_quantity: string, more: Partial<Line> = {}): Line => ({
  product_id,
  counted_quantity,
  ...more,
});
const count = (lines: readonly Line[], members: object = {}, as = api, key = newKey()) =>
  as.post('/inventory/counts', { location_id: shop, lines, ...members }, { key });
const moved = (members: object, product_id: string, quantity: string, as = api) =>
  as.post('/inventory/transfers', { ...members, lines: [{ product_id, quantity }] });
const receive = (product: string, quantity: string) =>
  moved({ to_location_id: shop, reason: 'receipt' }, product, quantity);
const sell = (product: string, quantity: string, as = api) =>
  moved({ from_location_id: shop, reason: 'sale' }, product, quantity, as);
const product = (precision = 0) => service.given.product(merchant, { precision });

async function level(product_id: string) {
  const { body } = await api.get(`/inventory/levels?location_id=${shop}&product_id=${product_id}`);
  return body.data[0];
}
const quantity = async (id: string) => (await level(id))?.quantity;

/** What a client remembers when it begins to count. */
async function now() {
  const { body } = await api.get(`/inventory/levels?location_id=${shop}&as_of=now&limit=1`);
  return { counted_at_position: body.meta.as_of_position, journal: body.meta.journal };
}
const detailsOf = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('a count', () => {
  test('sets what differs, and records what does not', async () => {
    const [flour, milk, salt] = [await product(), await product(3), await product()];
    await receive(flour, '10');
    await receive(milk, '2.5');
    const answer = await count(
      [line(flour, '8', { expected_quantity: '10' }), line(milk, '2.50'), line(salt, '0')],
      { note: 'Shelf 1', reference: 'count-1' },
    );
    expect(answer.status).toBe(201);
    const { data, meta } = answer.body;
    const movements = await api.get(`/inventory/movements?operation_id=${meta.operation_id}`);
    const [movement] = movements.body.data;
    expect(movements.body.data).toEqual([
      expect.objectContaining({
        ...{ product_id: flour, location_id: shop, type: 'count', reason: 'stock_count', line: 1 },
        ...{ quantity_before: '10', quantity_delta: '-2', quantity_after: '8' },
        ...{ note: 'Shelf 1', reference: 'count-1', position: meta.position },
      }),
    ]);
    const unsaid = { expected_quantity: null, counted_at_position: null };
    const unchanged = { ...unsaid, outcome: 'unchanged', movement_id: null };
    expect(data).toEqual({
      id: expect.stringMatching(/^ict_/),
      ...{ location_id: shop, note: 'Shelf 1', reference: 'count-1' },
      lines: [
        {
          ...{ product_id: flour, counted_quantity: '8', expected_quantity: '10' },
          ...{ counted_at_position: null, outcome: 'changed' },
          ...{ quantity_before: '10', quantity_after: '8', movement_id: movement.id },
        },
        {
          ...{ ...unchanged, product_id: milk, counted_quantity: '2.5' },
          ...{ quantity_before: '2.5', quantity_after: '2.5' },
        },
        {
          ...{ ...unchanged, product_id: salt, counted_quantity: '0' },
          ...{ quantity_before: '0', quantity_after: '0' },
        },
      ],
      operation_id: meta.operation_id,
      position: meta.position,
      actor: movement.actor,
      recorded_at: movement.recorded_at,
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/inventory/counts/${data.id}`);
    expect((await api.get(`/inventory/counts/${data.id}`)).body.data).toEqual(data);
    expect((await api.get('/inventory/counts?limit=1')).body.data).toEqual([data]);
    expect([await quantity(flour), await quantity(milk)]).toEqual(['8', '2.5']);
    expect(await level(salt)).toBeUndefined();
  });

  test('is done once for one key, and each answer is the same', async () => {
    const flour = await product();
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        count([line(flour, n % 2 === 0 ? '7' : '7.0')], {}, n % 3 === 0 ? another : api, key),
      ),
    );
    expect(new Set(answers.map((one) => JSON.stringify(one.body.data))).size).toBe(1);
    expect(answers.filter((one) => one.headers.get('idempotent-replayed'))).toHaveLength(19);
    expect((await level(flour)).version).toBe(1);
    expect((await count([line(flour, '8')], {}, api, key)).code).toBe('idempotency_key_reused');
  });

  test('that changes nothing has a position, and is an event of its location', async () => {
    const flour = await product();
    await receive(flour, '3');
    const elsewhere = await service.given.location(merchant);
    const { body } = await count([line(flour, '3')]);
    const after = BigInt(body.meta.position) - 1n;
    const path = `/events?after_position=${after}&journal=${body.meta.journal}`;
    for (const filter of ['', `&location_id=${shop}`, '&type=inventory.counted']) {
      expect((await api.get(path + filter)).body.data).toMatchObject([
        {
          type: 'inventory.counted',
          resource: { type: 'inventory_count', id: body.data.id, version: null },
          location_ids: [shop],
          data: { movements: [], movement_count: 0 },
        },
      ]);
    }
    expect((await api.get(`${path}&location_id=${elsewhere}`)).body.data).toEqual([]);
    expect((await level(flour)).version).toBe(1);
  });

  test('takes 1,000 lines, and no more', async () => {
    const ids = await Promise.all(Array.from({ length: 1_001 }, () => product()));
    const lines = ids.map((id, n) =>
      line(id, `${n % 2}`, { expected_quantity: '0', counted_at_position: '0' }),
    );
    const tooMany = await count(lines);
    expect([tooMany.status, detailsOf(tooMany)]).toEqual([422, [['lines', 'too_many']]]);
    const answer = await count(lines.slice(1));
    expect(answer.status).toBe(201);
    const outcomes = answer.body.data.lines.map((one: { outcome: string }) => one.outcome);
    expect(outcomes.filter((one: string) => one === 'changed')).toHaveLength(500);
    const feed = `/events?after_position=${BigInt(answer.body.meta.position) - 1n}`;
    const { body } = await api.get(`${feed}&journal=${answer.body.meta.journal}`);
    expect(body.data).toMatchObject([{ data: { movement_count: 500 } }]);
  });
});

describe('with a position a count', () => {
  test('adds what has moved since to what was counted', async () => {
    const [flour, milk, salt] = [await product(), await product(3), await product()];
    await receive(flour, '10');
    await receive(milk, '1.5');
    await receive(salt, '5');
    const then = await now();
    await sell(flour, '3');
    await receive(milk, '0.25');
    const answer = await count(
      [line(flour, '9', { expected_quantity: '10' }), line(milk, '1.5'), line(salt, '4')],
      then,
    );
    expect(answer.body.data.lines).toMatchObject([
      { quantity_before: '7', quantity_after: '6', outcome: 'changed', ...position(then) },
      { quantity_before: '1.75', quantity_after: '1.75', outcome: 'unchanged', ...position(then) },
      { quantity_before: '5', quantity_after: '4', outcome: 'changed', ...position(then) },
    ]);
    expect(await Promise.all([flour, milk, salt].map(quantity))).toEqual(['6', '1.75', '4']);
  });

  test('goes by that of a line before that of the whole', async () => {
    const [flour, milk] = [await product(), await product()];
    await receive(flour, '10');
    await receive(milk, '10');
    const first = await now();
    await sell(flour, '1');
    await sell(milk, '1');
    const second = await now();
    await sell(flour, '1');
    await sell(milk, '1');
    const own = { counted_at_position: second.counted_at_position };
    await count([line(flour, '20'), line(milk, '20', own)], first);
    expect([await quantity(flour), await quantity(milk)]).toEqual(['18', '19']);
    // Before everything there was nothing: since then 10 came, and 2 were sold.
    await count([line(flour, '1', { counted_at_position: '0' })]);
    expect(await quantity(flour)).toBe('9');
  });

  test('adds what came and left since, not what another count found meanwhile', async () => {
    const [flour, milk] = [await product(), await product()];
    await receive(flour, '45');
    await receive(milk, '40');
    const then = await now();
    await sell(flour, '4');
    await sell(milk, '2');
    // Twice the same, by two who counted one shelf; and once with a typing error.
    for (const counted of ['40', '40']) await count([line(flour, counted)], then);
    expect(await quantity(flour)).toBe('36');
    await count([line(milk, '4')], then);
    expect(await quantity(milk)).toBe('2');
    const mended = await count([line(milk, '40', { expected_quantity: '40' })], then);
    expect(mended.body.data.lines).toMatchObject([{ quantity_before: '2', quantity_after: '38' }]);
    // Nor what an adjustment says that somebody counted. What was sold behind it counts.
    const stated = { product_id: milk, location_id: shop, target_quantity: '30' };
    await api.post('/inventory/adjustments', { ...stated, reason: 'stock_count' });
    await sell(milk, '1');
    await count([line(milk, '40')], then);
    expect(await quantity(milk)).toBe('37');
  });

  test('is refused where more has left since than was counted, or too much came', async () => {
    const [flour, milk, salt] = [await product(), await product(), await product()];
    await receive(flour, '10');
    const then = await now();
    await sell(flour, '4');
    await receive(milk, '1');
    const key = newKey();
    const lines = [line(flour, '3'), line(milk, '999999999999'), line(salt, '1')];
    const answer = await count(lines, then, api, key);
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect(answer.body.error.details).toMatchObject([
      {
        ...{ field: 'lines.0.counted_quantity', code: 'must_not_be_negative', product_id: flour },
        ...{ current_quantity: '6', quantity_at_position: '10' },
      },
      { field: 'lines.1.counted_quantity', code: 'too_large', product_id: milk },
    ]);
    const again = await count(lines, then, api, key);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await Promise.all([flour, milk, salt].map(quantity))).toEqual(['6', '1', undefined]);
  });

  test('is refused where it is not one of this journal', async () => {
    const flour = await product();
    const { counted_at_position, journal } = await now();
    const beyond = `${BigInt(counted_at_position) + 1_000n}`;
    const cases: [object, Partial<Line>, [string, string][]][] = [
      [{ counted_at_position }, {}, [['journal', 'required']]],
      [{}, { counted_at_position }, [['journal', 'required']]],
      [
        { counted_at_position, journal: 'jrn_other' },
        { counted_at_position },
        [['journal', 'journal_mismatch']],
      ],
      [{ journal: 'jrn_other' }, {}, [['journal', 'journal_mismatch']]],
      [
        { counted_at_position: beyond, journal },
        { counted_at_position: beyond },
        [
          ['counted_at_position', 'journal_mismatch'],
          ['lines.0.counted_at_position', 'journal_mismatch'],
        ],
      ],
      [
        { counted_at_position: '01' },
        { counted_at_position: '-1' },
        [
          ['lines.0.counted_at_position', 'invalid_format'],
          ['counted_at_position', 'invalid_format'],
        ],
      ],
    ];
    for (const [members, more, faults] of cases) {
      const answer = await count([line(flour, '1', more)], members);
      expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
      expect(detailsOf(answer)).toEqual(faults);
    }
    expect(await level(flour)).toBeUndefined();
  });

  test('ends at what was counted and what 16 tills of two nodes have sold since', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => product()));
    await Promise.all(ids.map((id) => receive(id, '1000')));
    let isOver = false;
    const sold = new Map(ids.map((id) => [id, 0]));
    const till = async (n: number) => {
      while (!isOver) {
        const id = ids[n % ids.length] ?? '';
        const answer = await sell(id, '1', n % 2 === 0 ? api : another);
        expect(answer.status).toBe(201);
        sold.set(id, (sold.get(id) ?? 0) + 1);
      }
    };
    const tills = Array.from({ length: 16 }, (_, n) => till(n));
    for (let n = 0; n < 5; n += 1) {
      const node = n % 2 === 0 ? another : api;
      const as = `as_of=now&${ids.map((id) => `product_id=${id}`).join('&')}`;
      const { body } = await api.get(`/inventory/levels?location_id=${shop}&${as}`);
      // Somebody finds one more of each than the books say, at that moment.
      const lines = body.data.map((one: { product_id: string; quantity: string }) =>
        line(one.product_id, `${Number(one.quantity) + 1}`, { expected_quantity: one.quantity }),
      );
      const { as_of_position: counted_at_position, journal } = body.meta;
      const answer = await count(lines, { counted_at_position, journal }, node);
      expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    }
    isOver = true;
    await Promise.all(tills);
    expect(await Promise.all(ids.map(quantity))).toEqual(
      ids.map((id) => `${1000 + 5 - (sold.get(id) ?? 0)}`),
    );
  });
});

const position = ({ counted_at_position }: { counted_at_position: string }) => ({
  counted_at_position,
});

describe('counts at once', () => {
  test('of the same pairs follow each other, on one node and on two', async () => {
    const [flour, milk] = [await product(), await product()];
    await receive(flour, '10');
    await receive(milk, '10');
    const then = await now();
    await sell(flour, '1');
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        count(
          n % 2 === 0
            ? [line(flour, `${n}`), line(milk, '10')]
            : [line(milk, '10'), line(flour, '20')],
          n % 2 === 0 ? {} : then,
          n % 3 === 0 ? another : api,
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const path = `/inventory/movements?location_id=${shop}&product_id=${flour}&order=asc`;
    const { body } = await api.get(path);
    const chain = body.data.slice(2).map((one: { quantity_after: string }) => one.quantity_after);
    const byPosition = answers
      .map((one) => one.body.data)
      .sort((a, b) => Number(a.position) - Number(b.position));
    let before = '9';
    const expected: string[] = [];
    for (const { lines } of byPosition) {
      const own = lines.find((one: Line) => one.product_id === flour);
      // What was counted at the position loses the one that was sold since, whatever others found.
      const after = own.counted_at_position === null ? own.counted_quantity : '19';
      expect([own.quantity_before, own.quantity_after]).toEqual([before, after]);
      if (after !== before) expected.push(after);
      before = after;
    }
    expect(chain).toEqual(expected.slice(0, chain.length));
    expect((await level(flour)).quantity).toBe(before);
    expect((await level(milk)).version).toBe(1);
  });

  test('beside adjustments leave one chain, and each says what it found', async () => {
    const flour = await product();
    const adjust = (target_quantity: string, as: Api) =>
      as.post('/inventory/adjustments', {
        ...{ product_id: flour, location_id: shop, target_quantity, reason: 'correction' },
      });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2 === 0
          ? count([line(flour, `${100 + n}`)], {}, n % 4 === 0 ? api : another)
          : adjust(`${n}`, n % 3 === 0 ? api : another),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect((await level(flour)).version).toBe(20);
  });
});

describe('a count is refused', () => {
  test('whole, naming every line that is wrong, and binds its key', async () => {
    const { given } = service;
    const old = await given.product(merchant, { status: 'archived' });
    const untracked = await given.product(merchant, { tracked: false });
    const [flour, milk, salt] = [await product(), await product(), await product()];
    await receive(flour, '10');
    const lines = [
      line(flour, '8', { expected_quantity: '9' }),
      ...[line(old, '1'), line(untracked, '1'), line('prod_x', '1'), line(milk, '1.5')],
      line(salt, '1'),
    ];
    const key = newKey();
    const answer = await count(lines, {}, api, key);
    expect([answer.status, answer.code]).toEqual([422, 'inventory_quantity_mismatch']);
    expect(detailsOf(answer)).toEqual([
      ['lines.0.expected_quantity', 'inventory_quantity_mismatch'],
      ['lines.1.product_id', 'product_archived'],
      ['lines.2.product_id', 'inventory_not_tracked'],
      ['lines.3.product_id', 'product_not_found'],
      ['lines.4.counted_quantity', 'too_many_decimal_places'],
    ]);
    expect(answer.body.error.details[0].current_quantity).toBe('10');
    expect([await quantity(flour), await quantity(salt)]).toEqual(['10', undefined]);
    await sell(flour, '1');
    const again = await count(lines, {}, api, key);
    expect(again.body.error).toEqual(answer.body.error);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('where the level at the position is not the expected one', async () => {
    const flour = await product();
    await receive(flour, '10');
    const then = await now();
    await sell(flour, '2');
    const answer = await count([line(flour, '8', { expected_quantity: '8' })], then);
    expect(answer.code).toBe('inventory_quantity_mismatch');
    expect(answer.body.error.details).toMatchObject([
      { current_quantity: '8', quantity_at_position: '10' },
    ]);
  });

  test('at an inactive location', async () => {
    const location_id = await service.given.location(merchant, { status: 'inactive' });
    const answer = await count([line(await product(), '1')], { location_id });
    expect([answer.status, answer.code]).toEqual([422, 'location_inactive']);
  });

  const cases: [string, () => Promise<object>, [string, string][]][] = [
    ['without lines', async () => ({ lines: [] }), [['lines', 'value_not_allowed']]],
    [
      'that names a product twice',
      async () => {
        const one = line(await product(), '1');
        return { lines: [one, one] };
      },
      [['lines.1.product_id', 'repeated']],
    ],
    [
      'of less than nothing',
      async () => ({ lines: [line('prod_x', '-1')] }),
      [['lines.0.counted_quantity', 'must_not_be_negative']],
    ],
    [
      'with a member that a line has not',
      async () => ({ lines: [{ ...line('prod_x', '1'), reason: 'x' }] }),
      [['lines.0.reason', 'unknown_field']],
    ],
  ];
  test.each(cases)('%s, and binds no key', async (_, make, faults) => {
    const key = newKey();
    const answer = await count([], await make(), api, key);
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect(detailsOf(answer)).toEqual(faults);
    expect((await count([line(await product(), '1')], {}, api, key)).status).toBe(201);
  });
});

test('a count is seen with a grant of its location only', async () => {
  const { given } = service;
  const flour = await product();
  const { body } = await count([line(flour, '4')]);
  const clerk = async (...locations: string[]) =>
    service.api.as((await given.credential(merchant, { locations })).token);
  const here = await clerk(shop);
  const elsewhere = await clerk(await given.location(merchant));
  const path = `/inventory/counts/${body.data.id}`;
  expect((await here.get(path)).body.data).toEqual(body.data);
  expect((await here.get('/inventory/counts?limit=1')).body.data).toEqual([body.data]);
  expect((await elsewhere.get(path)).status).toBe(404);
  expect((await elsewhere.get('/inventory/counts')).body.data).toEqual([]);
  const refused = await elsewhere.get(`/inventory/counts?location_id=${shop}`);
  expect([refused.status, (await count([line(flour, '1')], {}, elsewhere)).status]).toEqual([
    403, 403,
  ]);
});
