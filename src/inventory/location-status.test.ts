import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitsOf } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { DatabaseProxy } from '../../test/kit/proxy.ts';

let service: Environment;
let proxy: DatabaseProxy;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = new DatabaseProxy(service.db.serviceUrl);
  await proxy.listen();
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});

test('no adjustment takes effect after its location was answered inactive', async () => {
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const node = await startNode(proxy.url);
  const slow = node.api.as(token);
  const product = await service.given.product(merchant);
  const location = (await api.post('/locations', { name: 'Main Street' })).body.data.id;
  const body = { product_id: product, location_id: location, reason: 'correction' };
  const path = '/inventory/adjustments';
  await slow.post(path, { ...body, target_quantity: '1' });
  // What the slow node saves waits on its way, after its rule has found the location active.
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  proxy.delay = (bytes) => {
    if (!bytes.includes('bind_keys')) return undefined;
    isHeld = true;
    return held;
  };
  const pending = slow.post(path, { ...body, target_quantity: '2' });
  await expect.poll(() => isHeld).toBe(true);
  const patching = api.patch(`/locations/${location}`, { status: 'inactive' });
  await expect.poll(() => waitsOf(service.db)).toBeGreaterThan(0);
  release?.();
  expect((await pending).status).toBe(201);
  expect((await patching).status).toBe(200);
  const late = await slow.post(path, { ...body, target_quantity: '3' });
  expect(late.code).toBe('location_inactive');
  await node.stop();
});
