// More requests than the service can do at once: the promised number is queued, more are refused
// without an effect, and the load of one merchant does not delay another.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../src/core/limits.ts';
import type { Principal } from '../src/core/principal.ts';
import { Problem } from '../src/core/problem.ts';
import { readConnections } from '../src/database/server-connections.ts';
import { type Answer, newKey } from './kit/api.ts';
import { waitsOf } from './kit/database.ts';
import { type Environment, startEnvironment, startNode } from './kit/environment.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { DatabaseProxy } from './kit/proxy.ts';
import { submitAdjustment } from './kit/submit.ts';

let service: Environment;
let noisy: TestMerchant;
let quiet: TestMerchant;
let principal: Principal;

beforeAll(async () => {
  service = await startEnvironment();
  [noisy, quiet] = await Promise.all([
    createTestMerchant(service, 'Noisy'),
    createTestMerchant(service, 'Quiet'),
  ]);
  const caller = await service.service.api.authenticator.authenticate(noisy.token, undefined);
  if (caller === undefined) throw new Error('the token is not valid');
  principal = caller.principal;
});
afterAll(() => service.stop());

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

/** Runs `body` while another session holds what the statement locks. It must take less than 2 s. */
async function whileLocked(statement: string, body: () => Promise<void>): Promise<void> {
  const session = await service.db.session();
  await session.query('begin');
  await session.query(statement);
  try {
    await body();
  } finally {
    await session.query('rollback');
  }
}

const lockedCustomers = 'lock table customers in access exclusive mode';

/** How many queries wait for the customers. */
async function waitingForLocks(): Promise<number> {
  const rows = await service.db.sql(
    `select 1 from pg_locks where not granted and relation = 'customers'::regclass
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return rows.length;
}

/** All were refused without an effect, with different Retry-After values. */
function expectOverloaded(answers: readonly Answer[]): void {
  expect(statuses(answers)).toEqual(times(answers.length, () => 503));
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(['service_unavailable']));
  const waits = new Set(answers.map(({ headers }) => headers.get('retry-after')));
  expect([...waits].sort()).toEqual(['1', '2', '3']);
}

describe('reads of one merchant that get stuck', () => {
  test('hold half of the connections, and other merchants do not wait for them', async () => {
    let answered = 0;
    let stuck: Promise<Answer>[] = [];
    await whileLocked(lockedCustomers, async () => {
      stuck = times(100, async () => {
        const answer = await noisy.api.get('/customers');
        answered += 1;
        return answer;
      });
      await expect.poll(waitingForLocks).toBe(readConnections / 2);
      const others = times(30, () => quiet.api.get(`/products/${quiet.products[0]}`));
      expect(statuses(await Promise.all(others))).toEqual(times(30, () => 200));
      expect(await waitingForLocks()).toBe(readConnections / 2);
      expect(answered).toBe(0);
    });
    for (const status of statuses(await Promise.all(stuck))) {
      expect([200, 503, 504]).toContain(status);
    }
    expect((await noisy.api.get('/customers')).status).toBe(200);
  });

  test('are refused beyond their bound, bind no key, and are served at once again', async () => {
    const { api, customers, products } = noisy;
    const key = newKey();
    const rename = () => api.patch(`/products/${products[0]}`, { name: 'Renamed' }, { key });
    const reader = service.service.api.readerOf(principal.merchant);
    const text = 'select 1 from customers where merchant_id = $1 limit 1';
    let stuck: Promise<unknown> = Promise.resolve();
    const refusedAtOnce: number[] = [];
    await whileLocked(lockedCustomers, async () => {
      const most = readConnections / 2 + limits.queuedPerMerchantMax;
      const statement = { name: '', text, values: [principal.merchant] };
      let isLater = false;
      const asked = times(most + 50, (index) =>
        reader.query(statement).catch(() => {
          // On a slow machine others are, later, because they have waited too long.
          if (!isLater) refusedAtOnce.push(index);
        }),
      );
      stuck = Promise.all(asked);
      await sleep(50);
      isLater = true;
      expect(refusedAtOnce).toEqual(times(50, (index) => most + index));
      const refused = times(60, () => api.get(`/customers/${customers[0]}`));
      expectOverloaded(await Promise.all(refused));
      expect((await rename()).code).toBe('service_unavailable');
      expect((await quiet.api.get('/products')).status).toBe(200);
    });
    await stuck;
    expect((await api.get(`/customers/${customers[0]}`)).status).toBe(200);
    const renamed = await rename();
    expect([renamed.status, renamed.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });
});

describe('256 requests of one merchant at once', () => {
  test('are all served when they read', async () => {
    let answers: Promise<Answer>[] = [];
    await whileLocked(lockedCustomers, async () => {
      answers = times(256, () => noisy.api.get('/customers'));
      await expect.poll(waitingForLocks).toBe(readConnections / 2);
    });
    expect(statuses(await Promise.all(answers))).toEqual(times(256, () => 200));
  });

  test('are all served when they write what another session has locked', async () => {
    let answers: Promise<Answer>[] = [];
    await whileLocked(lockedLevel(), async () => {
      answers = times(256, (n) => noisy.api.post(path, adjustment(0, 1_000 + n)));
      // The merchant's two workers, each with what it found.
      await expect.poll(() => waitsOf(service.db)).toBe(2);
    });
    expect(statuses(await Promise.all(answers))).toEqual(times(256, () => 201));
  });
});

describe('writes of one merchant that get stuck', () => {
  test('do not delay others, are refused beyond their bound, and bind no key', async () => {
    const { api } = noisy;
    const { dispatcher } = service.service;
    const keys = times(30, newKey);
    const late = () =>
      Promise.all(keys.map((key, n) => api.post(path, adjustment(2, 9_000 + n), { key })));
    let queued: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([]);
    await whileLocked(lockedLevel(), async () => {
      const stuck = [submit(adjustment(0, 2_000))];
      await expect.poll(() => waitsOf(service.db)).toBe(1);
      stuck.push(submit(adjustment(0, 2_001)));
      await expect.poll(() => waitsOf(service.db)).toBe(2);
      const waiting = times(limits.queuedPerMerchantMax + 100, (n) =>
        submit(adjustment(1, 2_000 + n)),
      );
      queued = Promise.allSettled([...stuck, ...waiting]);
      await expect.poll(() => dispatcher.queued).toBe(limits.queuedPerMerchantMax);
      expectOverloaded(await late());
      const other = await quiet.api.post(path, {
        ...adjustment(0, 2_000),
        product_id: quiet.products[0],
        location_id: quiet.locations[0],
      });
      expect(other.status).toBe(201);
      expect(dispatcher.queued).toBe(limits.queuedPerMerchantMax);
    });
    const outcomes = await queued;
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(100);
    expect(outcomes.slice(-100).every(({ status }) => status === 'rejected')).toBe(true);
    const unbound = await api.get('/operations?type=inventory.adjust', { key: keys[0] ?? '' });
    expect(unbound.body.data).toEqual([]);
    const retried = await late();
    expect(statuses(retried)).toEqual(times(30, () => 201));
    expect(retried.every(({ headers }) => !headers.has('idempotent-replayed'))).toBe(true);
  });
});

test('writes that fail together get different Retry-After values', async () => {
  const proxy = new DatabaseProxy(service.db.serviceUrl);
  const node = await startNode(await proxy.listen());
  proxy.refuses = true;
  proxy.cut();
  const refusals = await Promise.all(
    times(100, async (n) => {
      const failed = submitAdjustment(node.service, principal, adjustment(1, n + 1));
      const problem = await failed.catch((error: unknown) => error);
      return problem instanceof Problem ? [problem.code, problem.headers['Retry-After']] : [];
    }),
  );
  expect(new Set(refusals.map(([code]) => code))).toEqual(new Set(['service_unavailable']));
  expect(new Set(refusals.map(([, seconds]) => seconds))).toEqual(new Set(['1', '2', '3']));
  await node.stop();
  await proxy.close();
});

const path = '/inventory/adjustments';

function adjustment(product: number, target: number) {
  return {
    product_id: noisy.products[product],
    location_id: noisy.locations[0],
    target_quantity: `${target}`,
    reason: 'stock_count',
  };
}

/** The level of the noisy merchant's first product. */
function lockedLevel(): string {
  return `select 1 from inventory_levels where product_id = '${noisy.products[0]}' for update`;
}

function submit(body: object) {
  return submitAdjustment(service.service, principal, body);
}
