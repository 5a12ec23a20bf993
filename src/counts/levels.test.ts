import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

// Levels say who counted them last, wherever they are shown.

let service: Environment;
let merchant: string;
let shop: string;
let counter: { readonly id: string; readonly token: string };
let api: Api;
let till: Api;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  shop = await service.given.location(merchant);
  counter = await service.given.credential(merchant);
  api = service.api.as(counter.token);
  till = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(() => service.stop());

const count = async (products: readonly string[], counted_quantity: string) => {
  const lines = products.map((product_id) => ({ product_id, counted_quantity }));
  const answer = await api.post('/inventory/counts', { location_id: shop, lines });
  expect(answer.status).toBe(201);
  return { counted_at: answer.body.data.recorded_at, counted_by: counter.id };
};
const adjust = (product_id: string, target_quantity: string, key = newKey()) =>
  till.post(
    '/inventory/adjustments',
    { product_id, location_id: shop, target_quantity, reason: 'correction' },
    { key },
  );

async function shown(product: string, query = '') {
  const at = await till.get(`/inventory/levels?location_id=${shop}&product_id=${product}${query}`);
  const of = await till.get(`/products/${product}/levels?${query.slice(1)}`);
  expect(of.body.data).toEqual(at.body.data);
  return at.body.data[0];
}

const never = { counted_at: null, counted_by: null };

test('a level says who counted it last and when, also where nothing differed', async () => {
  const [flour, milk] = [
    await service.given.product(merchant),
    await service.given.product(merchant),
  ];
  const key = newKey();
  expect((await adjust(flour, '5', key)).body.data.level).toMatchObject(never);
  expect(await shown(flour)).toMatchObject({ quantity: '5', ...never });
  const first = await count([flour, milk], '7');
  expect(await shown(flour)).toMatchObject({ quantity: '7', version: 2, ...first });
  expect(await shown(milk)).toMatchObject({ quantity: '7', version: 1, ...first });
  const second = await count([flour], '7');
  expect(await shown(flour)).toMatchObject({ quantity: '7', version: 2, ...second });
  expect(await shown(milk)).toMatchObject(first);
  // Whatever moves it later, and on a replay.
  expect((await adjust(flour, '4')).body.data.level).toMatchObject({ quantity: '4', ...second });
  const replay = await adjust(flour, '5', key);
  expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect(replay.body.data.level).toMatchObject({ quantity: '4', ...second });
  const whole = await till.get(`/inventory/levels?location_id=${shop}`);
  expect(whole.body.data).toMatchObject([
    { product_id: flour, ...second },
    { product_id: milk, ...first },
  ]);
});

test('a level as of a moment says nothing of counts', async () => {
  const flour = await service.given.product(merchant);
  await count([flour], '3');
  expect(await shown(flour, '&as_of=now')).toMatchObject({ quantity: '3', ...never });
});

test('what was counted as nothing, and never moved, is not listed until it moves', async () => {
  const flour = await service.given.product(merchant);
  const counted = await count([flour], '0');
  expect(await shown(flour)).toBeUndefined();
  await adjust(flour, '2');
  expect(await shown(flour)).toMatchObject({ quantity: '2', version: 1, ...counted });
});
