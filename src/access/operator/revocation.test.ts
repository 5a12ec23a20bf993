import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startNode, startService, type TestService } from '../../../test/support/service.ts';
import { connectDatabase, type Database } from '../../database/connect.ts';
import { changeLocations, changeScopes, revoke } from './credentials.ts';

let service: TestService;
let other: Awaited<ReturnType<typeof startNode>>;
let operator: Database;
let merchant: string;
let location: string;

beforeAll(async () => {
  service = await startService();
  other = await startNode(service.db.serviceUrl);
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
  merchant = await service.given.merchant();
  location = await service.given.location(merchant);
});
afterAll(async () => {
  await operator.close();
  await other.stop();
  await service.stop();
});

/** Requests to both nodes without pause, each with when it started and how it ended. */
function besiege(token: string, path: string) {
  const seen: { startedAt: number; status: number }[] = [];
  let isOver = false;
  const clients = Array.from({ length: 8 }, async (_, index) => {
    const api = (index % 2 === 0 ? service : other).api.as(token);
    while (!isOver) {
      const startedAt = performance.now();
      const { status } = await api.get(path);
      seen.push({ startedAt, status });
    }
  });
  return {
    seen,
    end: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

async function expectNoneAfter(path: string, status: number, change: (id: string) => unknown) {
  for (let round = 0; round < 12; round += 1) {
    const { id, token } = await service.given.credential(merchant);
    const siege = besiege(token, path);
    await expect.poll(() => siege.seen.length).toBeGreaterThan(20);
    await change(id);
    const changedAt = performance.now();
    const enough = () => siege.seen.filter((one) => one.startedAt > changedAt).length;
    await expect.poll(enough).toBeGreaterThan(40);
    await siege.end();
    expect(siege.seen.some((one) => one.status === 200)).toBe(true);
    const later = siege.seen.filter((one) => one.startedAt > changedAt);
    expect(new Set(later.map((one) => one.status))).toEqual(new Set([status]));
  }
}

describe('once the operator’s command has returned, no later request on any node', () => {
  test('is admitted with a revoked token', async () => {
    await expectNoneAfter('/credential', 401, (id) => revoke(operator, id));
  });

  test('uses a scope that was taken away', async () => {
    await expectNoneAfter('/products', 403, (id) => changeScopes(operator, id, ['customers.read']));
  });

  test('reaches a location that is no longer granted', async () => {
    const path = `/inventory/levels?location_id=${location}`;
    await expectNoneAfter(path, 403, (id) => changeLocations(operator, id, []));
  });
});
