// A server that is slow to open connections, as a busy machine is, and one that never does. Nobody
// waits for the connection that is opened on their account when another one comes free, what has
// been opened is kept, and after a loss an opening that hangs is soon given up.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { connectionsOf, readConnections } from '../src/database/server-connections.ts';
import type { Answer } from './kit/api.ts';
import { type Environment, startEnvironment, startNode } from './kit/environment.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { DatabaseProxy } from './kit/proxy.ts';

let service: Environment;
let merchant: TestMerchant;
let proxy: DatabaseProxy;
let node: Awaited<ReturnType<typeof startNode>>;
/** How long (ms) each connection takes to open, and how many were begun. */
let slowness = 0;
let begun = 0;

/** Version 3.0 of the protocol, behind the length: a connection begins with it. */
const startup = Buffer.from([0, 3, 0, 0]);

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await createTestMerchant(service, 'Slow');
});
afterAll(() => service.stop());

beforeEach(async () => {
  slowness = 0;
  proxy = new DatabaseProxy(service.db.serviceUrl);
  proxy.delay = (bytes) => {
    if (!bytes.subarray(4, 8).equals(startup)) return undefined;
    begun += 1;
    return slowness === 0 ? undefined : sleep(slowness, undefined, { ref: false });
  };
  node = await startNode(await proxy.listen());
  return async () => {
    await node.stop();
    await proxy.close();
  };
});

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const statuses = async (answers: readonly Promise<Answer>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

const api = () => node.api.as(merchant.token);

const read = () => api().get('/products');

const write = (quantity: number) =>
  api().post('/inventory/adjustments', {
    product_id: merchant.products[0],
    location_id: merchant.locations[0],
    target_quantity: `${quantity}`,
    reason: 'stock_count',
  });

test('a server that is slow to open refuses nobody, and what it opened is kept', async () => {
  expect((await read()).status).toBe(200);
  begun = 0;
  slowness = 1_200;
  expect(await statuses(times(60, read))).toEqual(times(60, () => 200));
  expect(await statuses(times(60, (n) => write(n + 1)))).toEqual(times(60, () => 201));
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThan(connectionsOf(readConnections).each);
});

test('nobody waits for an opening that hangs when an open connection comes free', async () => {
  expect((await read()).status).toBe(200);
  slowness = 60_000;
  expect(await statuses(times(20, read))).toEqual(times(20, () => 200));
});

test('an opening that hangs is given up after 1 s when the server was lost before', async () => {
  expect((await read()).status).toBe(200);
  slowness = 60_000;
  proxy.cut();
  const started = performance.now();
  expect(await statuses(times(10, read))).toEqual(times(10, () => 503));
  expect(performance.now() - started).toBeLessThan(2_800);
  slowness = 0;
  await expect.poll(async () => (await read()).status, { timeout: 5_000 }).toBe(200);
});
