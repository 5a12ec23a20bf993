import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';

let service: Environment;
let other: Awaited<ReturnType<typeof startNode>>;
let merchant: string;
let location: string;
let api: Api;

beforeAll(async () => {
  service = await startEnvironment();
  other = await startNode(service.db.serviceUrl);
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

async function created(members: object = {}) {
  const answer = await api.post('/products', { name: 'Flour', ...members });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}

const patch = (id: string, body: object) => api.patch(`/products/${id}`, body);

const adjust = (product_id: string, target_quantity: string) =>
  api.post('/inventory/adjustments', {
    product_id,
    location_id: location,
    target_quantity,
    reason: 'stock_count',
  });

const faults = (answer: Answer) =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

describe('a new product', () => {
  test('has every member, with its default or null', async () => {
    const answer = await api.post('/products', { name: 'Flour' });
    const { data } = answer.body;
    expect(data).toEqual({
      id: expect.stringMatching(/^prod_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'Flour',
      description: null,
      sku: null,
      barcode: null,
      status: 'active',
      inventory_tracked: true,
      unit: { code: 'each', precision: 0 },
      price: null,
      low_stock_at: null,
      external_id: null,
      metadata: {},
      version: 1,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: data.created_at,
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/products/${data.id}`);
    const read = await api.get(`/products/${data.id}`);
    expect([read.body.data, read.headers.get('etag')]).toEqual([data, '"1"']);
  });

  test('keeps every member exactly as it was sent', async () => {
    const sent = {
      name: '  Mehl "Type 550"  ',
      description: '字'.repeat(5000),
      sku: '😀'.repeat(100),
      barcode: '0'.repeat(64),
      inventory_tracked: false,
      unit: { code: 'kg_1', precision: 5 },
      price: { amount: '999999999999.10', currency: 'EUR' },
      external_id: 'x'.repeat(255),
      metadata: { a: 'b' },
    };
    const data = await created(sent);
    expect(data).toMatchObject(sent);
    expect((await api.get(`/products/${data.id}`)).body.data).toEqual(data);
  });

  test('has a price with exactly the decimals of its currency, out as it was sent', async () => {
    const prices = ['0.00 EUR', '100 JPY', '1.500 KWD', '0.0001 CLF', '10.00 HUF'];
    for (const text of prices) {
      const [amount, currency] = text.split(' ');
      const { id, price } = await created({ price: { amount, currency } });
      expect(price).toEqual({ amount, currency });
      expect((await api.get(`/products/${id}`)).body.data.price).toEqual(price);
    }
  });

  test('is refused with every bad member named', async () => {
    const answer = await api.post('/products', {
      name: '',
      description: 'x'.repeat(5001),
      sku: '',
      barcode: 'x'.repeat(65),
      inventory_tracked: 'yes',
      unit: { code: 'Each', precision: 6, size: 1 },
      price: { amount: 12.5 },
      external_id: 7,
      metadata: [],
      status: 'archived',
    });
    expect(answer.status).toBe(422);
    expect(new Map(faults(answer))).toEqual(
      new Map([
        ['name', 'too_short'],
        ['description', 'too_long'],
        ['sku', 'too_short'],
        ['barcode', 'too_long'],
        ['inventory_tracked', 'invalid_type'],
        ['unit.code', 'invalid_format'],
        ['unit.precision', 'too_large'],
        ['unit.size', 'unknown_field'],
        ['price.amount', 'invalid_type'],
        ['price.currency', 'required'],
        ['external_id', 'invalid_type'],
        ['metadata', 'invalid_type'],
        ['status', 'read_only'],
      ]),
    );
  });

  test('names every fault at once, of its price and its metadata keys too', async () => {
    const metadata = { ['x'.repeat(41)]: 'a', '\n': 'b', '': 'c' };
    const price = { amount: '1', currency: 'ZZZ' };
    const answer = await api.post('/products', { name: '', price, metadata, zz: 1 });
    const found = answer.body.error.details.map((one: { field: string }) => one.field);
    expect(new Set(found)).toEqual(
      new Set([
        'name',
        'price.currency',
        'zz',
        `metadata.${'x'.repeat(41)}`,
        'metadata.\n',
        'metadata.',
      ]),
    );
  });

  test('is refused without binding the key when its price cannot be', async () => {
    const key = newKey();
    const bad = { name: 'Flour', price: { amount: '12.5', currency: 'XYZ' } };
    const refused = await api.post('/products', bad, { key });
    expect([refused.status, faults(refused)]).toEqual([422, [['price.currency', 'unknown_value']]]);
    const amounts = { '12.5': 'invalid_format', '-1.00': 'must_not_be_negative' };
    for (const [amount, code] of Object.entries(amounts)) {
      const answer = await api.post('/products', {
        name: 'Flour',
        price: { amount, currency: 'EUR' },
      });
      expect(faults(answer)).toEqual([['price.amount', code]]);
    }
    const price = { amount: '12.50', currency: 'EUR' };
    expect((await api.post('/products', { name: 'Flour', price }, { key })).status).toBe(201);
  });

  test('needs both parts of a unit and of a price', async () => {
    const answer = await api.post('/products', {
      name: 'Flour',
      unit: { code: 'kg' },
      price: { amount: '1.00' },
    });
    expect(faults(answer)).toEqual([
      ['unit.precision', 'required'],
      ['price.currency', 'required'],
    ]);
  });

  test('means the same with a member absent, null, or at its default', async () => {
    const key = newKey();
    const first = await api.post('/products', { name: 'Flour' }, { key });
    const unit = { precision: 0, code: 'each' };
    for (const same of [{ unit }, { unit: null, inventory_tracked: null }, { price: null }]) {
      const again = await api.post('/products', { name: 'Flour', ...same }, { key });
      expect(again.body.data, JSON.stringify(again.body)).toEqual(first.body.data);
    }
    const changed = { name: 'Flour', unit: { code: 'each', precision: 1 } };
    expect((await api.post('/products', changed, { key })).code).toBe('idempotency_key_reused');
  });
});

describe('changing a product', () => {
  test('sets what is sent, keeps the rest, and clears or defaults with null', async () => {
    const before = await created({
      description: 'd',
      sku: newKey(),
      barcode: 'b',
      inventory_tracked: false,
      unit: { code: 'kg', precision: 3 },
      price: { amount: '1.10', currency: 'EUR' },
      metadata: { a: '1' },
    });
    const price = { amount: '110', currency: 'JPY' };
    const one = await patch(before.id, { description: null, price, metadata: { b: '2' } });
    expect(one.body.data).toEqual({
      ...before,
      description: null,
      price,
      metadata: { a: '1', b: '2' },
      version: 2,
      updated_at: expect.any(String),
    });
    const two = await patch(before.id, { unit: null, inventory_tracked: null, price: null });
    expect(two.body.data).toMatchObject({
      unit: { code: 'each', precision: 0 },
      inventory_tracked: true,
      price: null,
      version: 3,
    });
    expect((await api.get(`/products/${before.id}`)).body.data).toEqual(two.body.data);
    const bad = await patch(before.id, { name: null, status: null, unit: { code: 'kg' } });
    expect(new Map(faults(bad))).toEqual(
      new Map([
        ['name', 'required'],
        ['status', 'required'],
        ['unit.precision', 'required'],
      ]),
    );
  });

  test('to what it is already keeps version and time', async () => {
    const price = { amount: '1.10', currency: 'EUR' };
    const before = await created({ price });
    const same = { price, unit: { precision: 0, code: 'each' }, status: 'active' };
    const answer = await patch(before.id, { ...same, inventory_tracked: null, unit: null });
    expect([answer.status, answer.body.data]).toEqual([200, before]);
  });

  test('under If-Match is refused at another version before anything else is judged', async () => {
    const { id } = await created();
    await adjust(id, '1');
    const unit = { code: 'kg', precision: 3 };
    const headers = { 'if-match': '"2"' };
    const answer = await api.patch(`/products/${id}`, { unit }, { headers });
    expect([answer.status, answer.code]).toEqual([412, 'precondition_failed']);
    const judged = await api.patch(`/products/${id}`, { unit }, { headers: { 'if-match': '"1"' } });
    expect(judged.status).toBe(422);
  });
});

describe('a replay', () => {
  test('and a conflict wait for nobody who holds the product or its levels', async () => {
    const { id } = await created();
    await adjust(id, '1');
    const key = newKey();
    const change = { status: 'archived', name: 'Rye' };
    const first = await api.patch(`/products/${id}`, change, { key });
    const session = await service.db.session();
    await session.query('begin');
    await session.query('select from products where id = $1 for update', [id]);
    await session.query('select from inventory_levels where product_id = $1 for update', [id]);
    const started = performance.now();
    const replay = await other.api.as(api.token).patch(`/products/${id}`, change, { key });
    const conflict = await other.api.as(api.token).patch(`/products/${id}`, {}, { key });
    expect(performance.now() - started).toBeLessThan(1_000);
    await session.query('rollback');
    expect([replay.status, replay.body.data]).toEqual([200, first.body.data]);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(conflict.status).toBe(409);
  });
});

describe('reads of many at once', () => {
  test('show at least the version that was answered before they were sent', async () => {
    const given = await Promise.all(
      Array.from({ length: 4 }, () => api.post('/products', { name: 'v1' })),
    );
    const ids = given.map((answer) => answer.body.data.id);
    const writeAll = async (id: string, answered: { version: number }) => {
      for (let version = 2; version <= 6; version += 1) {
        const answer = await api.patch(`/products/${id}`, { name: `v${version}` });
        expect(answer.status).toBe(200);
        answered.version = version;
      }
    };
    const readAll = async (id: string, answered: { version: number }) => {
      while (answered.version < 6) {
        const known = answered.version;
        const paths = [id, id, 'prod_unknown', id].map((one) => `/products/${one}`);
        const answers = await Promise.all(paths.map((path) => api.get(path)));
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200]);
        for (const { status, body } of answers) {
          if (status === 404) continue;
          expect(body.data.id).toBe(id);
          expect(body.data.name).toBe(`v${body.data.version}`);
          expect(body.data.version).toBeGreaterThanOrEqual(known);
        }
      }
    };
    await Promise.all(
      ids.flatMap((id) => {
        const answered = { version: 1 };
        return [writeAll(id, answered), readAll(id, answered), readAll(id, answered)];
      }),
    );
  });

  test('answer HEAD beside GET, each for its own product', async () => {
    const given = await Promise.all(
      Array.from({ length: 10 }, (_, n) => api.post('/products', { name: 'x'.repeat(n + 1) })),
    );
    const both = await Promise.all(
      given.flatMap(({ body }) =>
        (['GET', 'HEAD'] as const).map((method) =>
          api.send(method, `/products/${body.data.id}`, undefined),
        ),
      ),
    );
    const lengths = both.map((answer) => Number(answer.headers.get('content-length')));
    for (let n = 0; n < 20; n += 2) {
      expect(both[n]?.body.data).toEqual(given[n / 2]?.body.data);
      expect([both[n + 1]?.status, lengths[n + 1]]).toEqual([200, lengths[n]]);
    }
  });
});

describe('a SKU', () => {
  test('is given to exactly one of 20 products created at once, on two nodes', async () => {
    for (let round = 0; round < 5; round += 1) {
      const sku = newKey();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const node = index % 2 === 0 ? api : other.api.as(api.token);
          return node.post('/products', { name: `n${index}`, sku, external_id: newKey() });
        }),
      );
      const codes = answers.map((answer) => answer.code ?? answer.status).sort();
      expect(codes).toEqual([201, ...Array(19).fill('sku_taken')]);
      const found = await api.get(`/products?sku=${sku}`);
      expect(found.body.data).toEqual([answers.find((one) => one.status === 201)?.body.data]);
    }
  });

  test('stays refused for the key that was refused, even when it is free again', async () => {
    const sku = newKey();
    const holder = await created({ sku });
    const key = newKey();
    const refused = await api.post('/products', { name: 'x', sku }, { key });
    expect([refused.status, refused.code, faults(refused)]).toEqual([
      422,
      'sku_taken',
      [['sku', 'sku_taken']],
    ]);
    await patch(holder.id, { sku: null });
    const again = await api.post('/products', { name: 'x', sku }, { key });
    expect([again.code, again.body.meta.operation_id]).toEqual([
      'sku_taken',
      refused.body.meta.operation_id,
    ]);
    expect((await api.post('/products', { name: 'x', sku })).status).toBe(201);
  });

  test('differs by case, is kept while archived, and is free in another merchant', async () => {
    const sku = `Sku-${newKey()}`;
    const holder = await created({ sku });
    await patch(holder.id, { status: 'archived' });
    expect((await api.post('/products', { name: 'x', sku })).code).toBe('sku_taken');
    await created({ sku: sku.toUpperCase() });
    const stranger = await service.given.credential(await service.given.merchant());
    const elsewhere = await service.api.as(stranger.token).post('/products', { name: 'x', sku });
    expect(elsewhere.status).toBe(201);
  });

  test('is refused together with an external ID, naming both', async () => {
    const taken = { sku: newKey(), external_id: newKey() };
    await created(taken);
    const answer = await api.post('/products', { name: 'x', ...taken });
    expect([answer.code, faults(answer)]).toEqual([
      'sku_taken',
      [
        ['sku', 'sku_taken'],
        ['external_id', 'external_id_taken'],
      ],
    ]);
    const { id } = await created();
    expect((await patch(id, { external_id: taken.external_id })).code).toBe('external_id_taken');
  });

  test('moves between products by requests at once without ever being held twice', async () => {
    const skus = [newKey(), newKey(), newKey()];
    const ids: string[] = [];
    for (const sku of skus) ids.push((await created({ sku })).id);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const node = index % 2 === 0 ? api : other.api.as(api.token);
        const sku = index % 4 === 0 ? null : skus[(index * 7) % 3];
        return node.patch(`/products/${ids[index % 3]}`, { sku });
      }),
    );
    const statuses = new Set(answers.map((answer) => answer.code ?? answer.status));
    expect([...statuses].filter((one) => one !== 200 && one !== 'sku_taken')).toEqual([]);
  });
});
