import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../test/kit/environment.ts';
import { extent, timeout } from '../test/kit/extent.ts';
import { type Fate, FaultProxy, pass } from '../test/kit/fault-proxy.ts';
import type { GivenCredential } from '../test/kit/given.ts';
import {
  ConnectionError,
  PermissionError,
  RateLimitError,
  Tallybook,
  UnavailableError,
} from './main.ts';

let service: Environment;
let proxy: FaultProxy;
let merchant: string;
let given: GivenCredential;
let tb: Tallybook;

beforeAll(async () => {
  service = await startEnvironment();
  proxy = await FaultProxy.listen(service.api.origin);
  merchant = await service.given.merchant();
  given = await service.given.credential(merchant);
  tb = new Tallybook({ baseUrl: proxy.baseUrl, token: given.token });
});
afterAll(async () => {
  proxy.close();
  await service.stop();
});
beforeEach(() => {
  proxy.seen.length = 0;
  proxy.fateOf = () => pass;
});

const answer = (status: number, headers = {}, body = ''): Fate => ({
  kind: 'answer',
  status,
  headers,
  body,
});
const cut = (kind: 'cut request' | 'cut answer', after: number): Fate => ({ kind, after });

/** How long passed between the requests, in milliseconds. */
const gaps = () => proxy.seen.slice(1).map(({ at }, n) => at - (proxy.seen[n]?.at ?? 0));

describe('a write', () => {
  test('keeps one key through lost connections, 408, 429 and 5xx, and happens once', async () => {
    proxy.script(cut('cut request', 64), cut('cut answer', 0), cut('cut answer', 300));
    await tb.customers.create({ name: 'Ada', email: 'ada@example.com' });
    proxy.script(answer(408), answer(429), answer(500));
    const second = await tb.customers.create({ name: 'Ada', email: 'eve@example.com' });
    expect(second.replayed).toBe(false);
    proxy.script(
      answer(503, { 'content-type': 'text/html' }, '<h1>Down</h1>'),
      answer(200, { 'content-type': 'text/html' }, '<h1>Welcome to our network</h1>'),
    );
    await tb.customers.create({ name: 'Ada', email: 'eva@example.com' });
    const keys = proxy.seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(4 + 4 + 3);
    expect([0, 4, 8].map((n) => new Set(keys.slice(n, n + 4)).size)).toEqual([1, 1, 1]);
    for (const name of ['ada', 'eve', 'eva']) {
      expect((await tb.customers.list({ email: `${name}@example.com` })).data).toHaveLength(1);
    }
  });

  test('has a key of its own, or the one that it is given', async () => {
    const body = { name: 'Ada', email: 'a@example.com' };
    await tb.customers.create(body);
    await tb.customers.create(body);
    const first = await tb.customers.create(body, { idempotencyKey: 'order-4711-customer' });
    const again = await tb.customers.create(body, { idempotencyKey: 'order-4711-customer' });
    const keys = proxy.seen.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(3);
    expect([again.replayed, again.operationId]).toEqual([true, first.operationId]);
  });

  test('is sent to no other address that an answer names', async () => {
    proxy.script(answer(307, { location: `${service.api.origin}/api/v1/customers` }));
    await expect(tb.customers.create({ name: 'A', email: 'b@example.com' })).rejects.toMatchObject({
      code: 'unexpected_answer',
      status: 307,
      retryable: false,
    });
    expect(proxy.seen).toHaveLength(1);
  });
});

describe('a wait', () => {
  test('is what Retry-After says in seconds', async () => {
    proxy.script(answer(429, { 'retry-after': '1' }));
    await tb.credential.get();
    expect(gaps()[0]).toBeGreaterThanOrEqual(990);
  });

  test('is what Retry-After says as a date, by the clock of the service', async () => {
    const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
    proxy.script(answer(503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:01 GMT', date }));
    await tb.credential.get();
    expect(gaps()[0]).toBeGreaterThanOrEqual(990);
    expect(gaps()[0]).toBeLessThan(10_000);
  });

  test('that is longer than the budget ends the call with the error at once', async () => {
    proxy.script(answer(429, { 'retry-after': '61' }));
    const error = await tb.credential.get().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryable: true, retryAfter: 61 });
    expect(proxy.seen).toHaveLength(1);
  });
});

describe('a call', () => {
  test('ends when its budget of time is used up', async () => {
    proxy.fateOf = () => answer(503);
    const start = performance.now();
    const failing = tb.credential.get({ budgetMs: 700 });
    await expect(failing).rejects.toBeInstanceOf(UnavailableError);
    expect(performance.now() - start).toBeLessThan(10_000);
    proxy.fateOf = () => ({ kind: 'slow', ms: 60_000 });
    await expect(tb.credential.get({ budgetMs: 300 })).rejects.toBeInstanceOf(ConnectionError);
  });

  test('ends when its signal says so: in a request, in a wait, and before', async () => {
    proxy.fateOf = () => ({ kind: 'slow', ms: 60_000 });
    const signal = AbortSignal.timeout(200);
    await expect(tb.credential.get({ signal })).rejects.toBe(await reasonOf(signal));
    proxy.fateOf = () => answer(503, { 'retry-after': '30' });
    const waiting = AbortSignal.timeout(200);
    await expect(tb.credential.get({ signal: waiting })).rejects.toBe(await reasonOf(waiting));
    const sent = proxy.seen.length;
    await expect(tb.credential.get({ signal })).rejects.toBe(signal.reason);
    expect(proxy.seen).toHaveLength(sent);
  });

  test('is not repeated when it is refused', async () => {
    const { token } = await service.given.credential(merchant, { scopes: ['products.read'] });
    const narrow = new Tallybook({ baseUrl: proxy.baseUrl, token });
    await expect(narrow.customers.list()).rejects.toBeInstanceOf(PermissionError);
    expect(proxy.seen).toHaveLength(1);
  });

  test('asks a function for its token each time, and for another one once after 401', async () => {
    const asked: unknown[] = [];
    const token = async (refused?: string) => {
      asked.push(refused);
      return refused === undefined ? 'tb_pat_ended' : given.token;
    };
    const changing = new Tallybook({ baseUrl: proxy.baseUrl, token });
    expect((await changing.credential.get()).data.id).toBe(given.id);
    expect(asked).toEqual([undefined, 'tb_pat_ended']);
    const wrong = new Tallybook({ baseUrl: proxy.baseUrl, token: async () => 'tb_pat_ended' });
    await expect(wrong.credential.get()).rejects.toMatchObject({ code: 'invalid_token' });
    expect(proxy.seen).toHaveLength(3);
  });
});

const reasonOf = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener('abort', () => resolve(signal.reason));
  });

test('writes happen once through cuts after every 64th byte, refusals and delays', {
  timeout,
}, async () => {
  const count = extent(100, 10_000);
  const location_id = await service.given.location(merchant);
  const products = await Promise.all([1, 2, 3, 4].map(() => service.given.product(merchant)));
  let faults = 0;
  proxy.fateOf = (n) => {
    if (n % 3 !== 0) return pass;
    faults += 1;
    // A request has about 500 bytes and an answer 1,500.
    const after = (Math.floor(faults / 5) % 32) * 64;
    const fates: Fate[] = [
      cut('cut request', after % 640),
      cut('cut answer', after),
      answer(503, { 'retry-after': '0' }),
      answer(429, { 'retry-after': n % 2 === 0 ? '1' : new Date(Date.now() + 1000).toUTCString() }),
      { kind: 'slow', ms: 300 },
    ];
    return fates[faults % 5] ?? pass;
  };
  let next = 0;
  const results: string[] = [];
  const work = async () => {
    for (let n = next++; n < count; n = next++) {
      const lines = [{ product_id: products[n % 4] ?? '', quantity: '1' }];
      const body = {
        to_location_id: location_id,
        reason: 'receipt',
        lines,
        reference: `${n}`,
      } as const;
      const { operationId } = await tb.inventory.transfers.create(body);
      results.push(operationId);
    }
  };
  await Promise.all(Array.from({ length: 64 }, work));
  expect(faults).toBeGreaterThan(count / 4);
  expect(new Set(results).size).toBe(count);
  const levels = await service.api
    .as(given.token)
    .get(`/inventory/levels?location_id=${location_id}`);
  const quantities = levels.body.data.map((level: { quantity: string }) => Number(level.quantity));
  expect(quantities).toEqual([count / 4, count / 4, count / 4, count / 4]);
  const [row] = await service.db.sql(
    `select count(*)::int as moved, count(distinct reference)::int as sales
       from inventory_movements where location_id = $1`,
    [location_id],
  );
  expect(row).toEqual({ moved: count, sales: count });
});
