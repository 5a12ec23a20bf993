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

const kilograms = { code: 'kg', precision: 3 };
const create = (body: object, key = newKey()) =>
  api.post('/products', { name: 'Flour', ...body }, { key });
const patch = (id: string, body: object, node = api) => node.patch(`/products/${id}`, body);

const faultsOf = ({ status, body }: Answer) => [
  status,
  ...body.error.details.map(({ field, code }: { field: string; code: string }) => [field, code]),
];
const tooFine = [422, ['low_stock_at', 'too_many_decimal_places']];

describe('what is low of a product', () => {
  test('is a quantity or null, shown as it is meant, in every place', async () => {
    const made = await create({ unit: kilograms, low_stock_at: '2.500' });
    expect(made.body.data.low_stock_at).toBe('2.5');
    const { id } = made.body.data;
    const large = '999999999999.999';
    for (const [sent, shown] of [
      [large, large],
      ['0', '0'],
      [null, null],
      ['12', '12'],
    ]) {
      expect((await patch(id, { low_stock_at: sent })).body.data.low_stock_at).toBe(shown);
      expect((await api.get(`/products/${id}`)).body.data.low_stock_at).toBe(shown);
      const list = await api.get('/products?limit=200');
      const found = list.body.data.find((one: { id: string }) => one.id === id);
      expect(found.low_stock_at).toBe(shown);
    }
    const version = (await api.get(`/products/${id}`)).body.data.version;
    expect((await patch(id, { low_stock_at: '12.0' })).body.data.version).toBe(version);
    expect((await create({})).body.data.low_stock_at).toBeNull();
    for (const [wrong, code] of [
      ['-1', 'must_not_be_negative'],
      ['1e3', 'invalid_format'],
      ['1000000000000', 'too_large'],
      [5, 'invalid_type'],
    ]) {
      expect(faultsOf(await create({ low_stock_at: wrong }))).toEqual([
        422,
        ['low_stock_at', code],
      ]);
    }
  });

  test('has no more decimals than the unit, whichever of the two is changed', async () => {
    const key = newKey();
    expect(faultsOf(await create({ low_stock_at: '0.5' }, key))).toEqual(tooFine);
    // What a body says by itself binds no key.
    const made = await create({ low_stock_at: '0.5', unit: kilograms }, key);
    expect(made.status).toBe(201);
    const { id } = made.body.data;
    expect(faultsOf(await patch(id, { low_stock_at: '0.0005' }))).toEqual(tooFine);
    expect(faultsOf(await patch(id, { unit: null }))).toEqual(tooFine);
    expect(faultsOf(await patch(id, { unit: null, low_stock_at: '1.5' }))).toEqual(tooFine);
    const both = await patch(id, { unit: null, low_stock_at: '1' });
    expect(both.body.data).toMatchObject({ unit: { precision: 0 }, low_stock_at: '1' });
  });

  test('is taken from a sync by the own ID, with the same rule', async () => {
    const upsert = (body: object) => api.patch('/products?external_id=sync-1', body);
    expect(faultsOf(await upsert({ name: 'Flour', low_stock_at: '0.5' }))).toEqual(tooFine);
    const made = await upsert({ name: 'Flour', low_stock_at: '0.5', unit: kilograms });
    expect([made.status, made.body.data.low_stock_at]).toEqual([201, '0.5']);
    expect(faultsOf(await upsert({ low_stock_at: '0.12345' }))).toEqual(tooFine);
    const changed = await upsert({ low_stock_at: '0.125' });
    expect([changed.status, changed.body.data.low_stock_at]).toEqual([200, '0.125']);
    expect((await upsert({ low_stock_at: null })).body.data.low_stock_at).toBeNull();
  });

  test('and a sale never cross: each is judged by what was said before it', async () => {
    for (let round = 0; round < 30; round += 1) {
      const id = await service.given.product(merchant);
      const line = (quantity: string) => [{ product_id: id, quantity }];
      const [from, to] = [{ from_location_id: location }, { to_location_id: location }];
      await api.post('/inventory/transfers', { ...to, reason: 'receipt', lines: line('10') });
      const there = other.api.as(api.token);
      const [changed, sold] = await Promise.all([
        patch(id, { low_stock_at: '5' }, round % 2 === 0 ? api : there),
        (round % 3 === 0 ? api : there).post('/inventory/transfers', {
          ...{ ...from, reason: 'sale', lines: line('5') },
        }),
      ]);
      expect([changed.status, sold.status]).toEqual([200, 201]);
      const { position, journal } = sold.body.meta;
      const behind = `after_position=${BigInt(position) - 1n}&journal=${journal}`;
      const { data } = (await api.get(`/events?limit=1&${behind}`)).body;
      const isTold = data[0].data.low_stock !== undefined;
      expect(isTold).toBe(Number(position) > Number(changed.body.meta.position));
    }
  });
});
