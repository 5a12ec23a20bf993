import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Api } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

let service: Environment;
let merchant: string;
let api: Api;
let location: string;
let elsewhere: string;
const ids: Record<string, string> = {};

interface Item {
  readonly product_id: string;
  readonly name: string;
  readonly sku: string | null;
  readonly quantity: string;
  readonly updated_at: string | null;
}

const made = [
  { name: 'Éclair', sku: 'B-2', barcode: '4006381333931' },
  { name: 'banana', sku: null },
  { name: 'Apple', sku: 'a-1', unit: { code: 'kg', precision: 3 } },
  { name: 'apple juice', sku: 'A-1' },
  { name: 'Zebra', sku: '~', barcode: '9 bars' },
  { name: 'apple', sku: null },
] as const;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
  elsewhere = await service.given.location(merchant);
  api = service.api.as((await service.given.credential(merchant)).token);
  for (const body of [
    ...made,
    { name: 'Work', sku: 'W', inventory_tracked: false },
    { name: 'Ancient', sku: 'O', status: 'archived' },
  ]) {
    const { status, ...rest } = { status: undefined, ...body };
    const answer = await api.post('/products', rest);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    ids[body.name] = answer.body.data.id;
    if (status === undefined) continue;
    expect((await api.patch(`/products/${ids[body.name]}`, { status })).status).toBe(200);
  }
  await adjust('Apple', '2.125', location);
  await adjust('Zebra', '7', elsewhere);
});
afterAll(() => service.stop());

async function adjust(name: string, target_quantity: string, location_id: string) {
  const body = { product_id: ids[name], location_id, target_quantity, reason: 'correction' };
  const answer = await api.post('/inventory/adjustments', body);
  expect(answer.status).toBe(201);
  return answer.body.data;
}

const path = (more = '') => `/stock?location_id=${location}${more}`;

async function pagesOf(caller: Api, one: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let rest: string | undefined = one; rest !== undefined; ) {
    const answer: Answer = await caller.get(rest);
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    items.push(...answer.body.data);
    const { next_cursor: next } = answer.body.meta;
    rest = next === undefined ? undefined : `${one}&cursor=${encodeURIComponent(next)}`;
  }
  return items;
}

async function newShop() {
  const one = await service.given.merchant();
  const token = (await service.given.credential(one)).token;
  const products = await Promise.all([1, 2, 3].map(() => service.given.product(one)));
  return { location: await service.given.location(one), products, api: service.api.as(token) };
}

const namesOf = (items: readonly Item[]) => items.map(({ name }) => name);

const byName = ['Apple', 'apple', 'apple juice', 'banana', 'Éclair', 'Zebra'];
const bySku = ['apple juice', 'Éclair', 'Apple', 'Zebra', 'banana', 'apple'];

describe('the stock of a location', () => {
  test('lists each tracked product with what is on hand there, also what never moved', async () => {
    const moved = await adjust('banana', '3', location);
    await adjust('banana', '0', location);
    const items = await pagesOf(api, path());
    expect(namesOf(items)).toEqual(byName);
    expect(items[0]).toEqual({
      product_id: ids.Apple,
      location_id: location,
      name: 'Apple',
      sku: 'a-1',
      barcode: null,
      status: 'active',
      unit: { code: 'kg', precision: 3 },
      low_stock_at: null,
      quantity: '2.125',
      reserved_quantity: '0',
      available_quantity: '2.125',
      updated_at: expect.stringMatching(/Z$/),
      counted_at: null,
      counted_by: null,
    });
    const at = (name: string) => items.find((one) => one.name === name);
    expect(at('Zebra')).toMatchObject({ quantity: '0', updated_at: null, barcode: '9 bars' });
    expect(at('banana')?.quantity).toBe('0');
    expect(String(at('banana')?.updated_at) >= moved.recorded_at).toBe(true);
    expect(namesOf(await pagesOf(api, path('&status=archived')))).toEqual(['Ancient']);
  });

  test('says what of it is put aside, and who counted it last, and when', async () => {
    const shop = await newShop();
    const [counted = '', reserved = '', both = ''] = shop.products;
    const lines = [
      { product_id: counted, counted_quantity: '0' },
      { product_id: both, counted_quantity: '5' },
    ];
    const count = await shop.api.post('/inventory/counts', { location_id: shop.location, lines });
    expect(count.status).toBe(201);
    const held = [reserved, both].map((product_id) => ({ product_id, quantity: '2' }));
    const receipt = {
      ...{ to_location_id: shop.location, reason: 'receipt' },
      lines: [{ product_id: reserved, quantity: '2' }],
    };
    expect((await shop.api.post('/inventory/transfers', receipt)).status).toBe(201);
    const reservation = { location_id: shop.location, expires_at: null, lines: held };
    expect((await shop.api.post('/inventory/reservations', reservation)).status).toBe(201);
    const recorded = {
      counted_at: count.body.data.recorded_at,
      counted_by: count.body.data.actor.credential_id,
    };
    const never = { counted_at: null, counted_by: null };
    const of = (quantity: string, reserved_quantity: string, available_quantity: string) => ({
      ...{ quantity, reserved_quantity, available_quantity },
    });
    const shown = [
      { product_id: counted, ...of('0', '0', '0'), ...recorded, updated_at: null },
      { product_id: reserved, ...of('2', '2', '0'), ...never },
      { product_id: both, ...of('5', '2', '3'), ...recorded },
    ];
    const items = await pagesOf(shop.api, `/stock?location_id=${shop.location}`);
    const byId = (id: string) => items.find(({ product_id }) => product_id === id);
    expect(shown.map(({ product_id }) => byId(product_id))).toMatchObject(shown);
  });

  test('is sorted by name without case and accents, or by SKU, on any pages', async () => {
    for (const limit of [1, 2, 5]) {
      const sorted = async (more: string) =>
        namesOf(await pagesOf(api, path(`${more}&limit=${limit}`)));
      expect(await sorted('')).toEqual(byName);
      expect(await sorted('&sort=name')).toEqual(byName);
      expect(await sorted('&sort=sku')).toEqual(bySku);
      expect(await sorted('&sort=sku&q=apple')).toEqual(['apple juice', 'Apple', 'apple']);
    }
    expect((await api.get(path('&sort=price'))).status).toBe(400);
  });

  test('is found by words of name, SKU and barcode', async () => {
    const found = async (q: string) => namesOf(await pagesOf(api, path(`&q=${q}`)));
    expect(await found('eclair')).toEqual(['Éclair']);
    expect(await found('400638')).toEqual(['Éclair']);
    expect(await found('APPLE%20ju')).toEqual(['apple juice']);
    expect(await found('b-2')).toEqual(['Éclair']);
    expect(await found('nothing')).toEqual([]);
    const product = await api.get('/products?q=4006381333931');
    expect(product.body.data).toMatchObject([{ id: ids.Éclair }]);
  });

  test('names what products are now', async () => {
    expect((await api.patch(`/products/${ids.Zebra}`, { name: 'aardvark' })).status).toBe(200);
    expect(namesOf(await pagesOf(api, path()))[0]).toBe('aardvark');
    expect((await api.patch(`/products/${ids.Zebra}`, { name: 'Zebra' })).status).toBe(200);
    expect(namesOf(await pagesOf(api, path()))).toEqual(byName);
  });

  test('needs products.read beside its scope, and the location', async () => {
    const caller = async (may: Parameters<typeof service.given.credential>[1]) =>
      service.api.as((await service.given.credential(merchant, may)).token);
    const without = await caller({ scopes: ['inventory.read'] });
    expect(await pagesOf(without, path())).toEqual([]);
    const both = { scopes: ['inventory.read', 'products.read'], locations: [elsewhere] };
    const other = await caller(both);
    expect((await other.get(path())).code).toBe('location_not_granted');
    const there = await pagesOf(other, `/stock?location_id=${elsewhere}`);
    expect(there.find(({ name }) => name === 'Zebra')).toMatchObject({ quantity: '7' });
  });
});
