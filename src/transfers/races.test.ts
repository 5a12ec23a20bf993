// What tills that sell at the same moment, on two nodes, may rely on: each is served as long as
// there is something, and never is more sold than there was.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import type { Answer, Api } from '../../test/kit/api.ts';
import { newKey } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

let service: Environment;
let node: Awaited<ReturnType<typeof startNode>>;
let merchant: string;
let shop: string;
let store: string;
let apis: readonly [Api, Api];

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  node = await startNode(service.db.serviceUrl);
  const { given } = service;
  merchant = await given.merchant();
  shop = await given.location(merchant);
  store = await given.location(merchant);
  const { token } = await given.credential(merchant);
  apis = [service.api.as(token), node.api.as(token)];
});
afterAll(async () => {
  expect(await ledgerDifferences(service.db)).toEqual([]);
  const [counts] = await service.db.sql(
    `select deadlocks::int from pg_stat_database where datname = current_database()`,
  );
  expect(counts).toEqual({ deadlocks: 0 });
  await node.stop();
  await service.stop();
});

const apiOf = (n: number): Api => apis[n % 2] ?? apis[0];

/** A definite answer: what was not done is sent again with its key. */
function transfer(api: Api, body: object): Promise<Answer> {
  const key = newKey();
  return served(() => api.post('/inventory/transfers', body, { key }));
}

const one = (product_id: string, quantity = '1') => [{ product_id, quantity }];
const sell = (n: number, product: string) =>
  transfer(apiOf(n), { from_location_id: shop, reason: 'sale', lines: one(product) });
const receive = (product: string, quantity: string, to = shop) =>
  transfer(apis[0], { to_location_id: to, reason: 'receipt', lines: one(product, quantity) });

async function quantitiesOf(product: string): Promise<(string | undefined)[]> {
  const { body } = await served(() => apis[0].get(`/products/${product}/levels`));
  return [shop, store].map(
    (place) =>
      body.data.find(({ location_id }: { location_id: string }) => location_id === place)?.quantity,
  );
}

const repetitions = Array.from({ length: extent(25, 1_000) }, (_, n) => n);

/** So many at the same moment, each with a product of its own. */
async function inParallel(run: (n: number) => Promise<void>): Promise<void> {
  const waiting = repetitions.slice();
  const worker = async () => {
    for (let n = waiting.pop(); n !== undefined; n = waiting.pop()) await run(n);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

test('of three tills that sell the last two, two do and one is refused', async () => {
  await inParallel(async (n) => {
    const product = await service.given.product(merchant);
    await receive(product, '2');
    const both = await Promise.all([n, n + 1].map((at) => sell(at, product)));
    expect(both.map(({ status }) => status)).toEqual([201, 201]);
    await receive(product, '2');
    const three = await Promise.all([n, n + 1, n + 2].map((at) => sell(at, product)));
    expect(three.map(({ status }) => status).sort()).toEqual([201, 201, 422]);
    const refused = three.find(({ status }) => status === 422);
    expect(refused?.body.error).toMatchObject({
      code: 'insufficient_quantity',
      details: [{ field: 'lines.0.quantity', available_quantity: '0' }],
    });
    expect(await quantitiesOf(product)).toEqual(['0', undefined]);
  });
});

test('what goes to and fro between two locations at once neither waits nor gets lost', async () => {
  const products = await Promise.all([1, 2, 3].map(() => service.given.product(merchant)));
  for (const product of products) {
    await receive(product, '50');
    await receive(product, '50', store);
  }
  const carry = (n: number) => {
    const [from, to] = n % 2 === 0 ? [shop, store] : [store, shop];
    // In another order each time.
    const turned = [...products.slice(n % 3), ...products.slice(0, n % 3)];
    return transfer(apiOf(n >> 1), {
      ...{ from_location_id: from, to_location_id: to, reason: 'transfer' },
      lines: turned.map((product_id) => ({ product_id, quantity: '1' })),
    });
  };
  for (let turn = 0; turn < 10; turn += 1) {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => carry(n)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  }
  for (const product of products) expect(await quantitiesOf(product)).toEqual(['50', '50']);
});

test('no sale is lost that is to be recorded, and what was short adds up', async () => {
  const product = await service.given.product(merchant);
  await receive(product, '30');
  const body = { from_location_id: shop, reason: 'sale', shortage: 'record' };
  const sold = await Promise.all(
    Array.from({ length: 50 }, (_, n) => transfer(apiOf(n), { ...body, lines: one(product) })),
  );
  expect(new Set(sold.map(({ status }) => status))).toEqual(new Set([201]));
  expect(await quantitiesOf(product)).toEqual(['0', undefined]);
  expect(sold.filter(({ body: { data } }) => data.is_short)).toHaveLength(20);
});
