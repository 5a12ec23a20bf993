// Limits on a real database, whose clock and locks decide: what two nodes admit together, what that
// costs, and that one node by itself is exact.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { mintId } from '../../core/id.ts';
import type { MerchantId, Principal, RateLimit } from '../../core/principal.ts';
import type { Writer } from '../../core/statement.ts';
import { connectDatabase, type Database } from '../../database/connect.ts';
import { Gcra, monotonic } from './gcra.ts';
import { RateLimiter } from './limiter.ts';

let db: TestDatabase;
const databases: Database[] = [];
const limiters: RateLimiter[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await Promise.all(limiters.map((limiter) => limiter.close()));
  await Promise.all(databases.map((database) => database.close()));
  await db.drop();
});

interface Node {
  readonly limiter: RateLimiter;
  /** When it asked the database, in seconds. */
  readonly asked: number[];
}

/**
 * A node's limiter with a connection of its own.
 * @param late how long every second question is on its way, in milliseconds.
 */
async function startNode({ patience = 5_000, clock = monotonic, late = 0 } = {}): Promise<Node> {
  const database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  const asked: number[] = [];
  const writer: Writer = {
    connect: async () => {
      asked.push(performance.now() / 1_000);
      if (late > 0 && asked.length % 2 === 0) await pause(late);
      return database.leases.connect();
    },
  };
  const limiter = new RateLimiter(writer, { patience, clock });
  databases.push(database);
  limiters.push(limiter);
  // A service has its connection before its first request.
  await limiter.admit(caller({ perMinute: 1, burst: 1 }));
  asked.length = 0;
  return { limiter, asked };
}

function caller(
  rateLimit: RateLimit | null,
  merchantRateLimit: RateLimit | null = null,
  merchant = mintId('mer_') as MerchantId,
): Principal {
  return {
    merchant,
    merchantName: 'Corner Shop',
    credentialId: mintId('cred_'),
    credentialName: 'till',
    kind: 'personal_access_token',
    role: null,
    application: null,
    scopes: new Set(),
    tokenScopes: null,
    locations: 'all',
    expiresAt: null,
    lastUsedAt: null,
    rateLimit,
    merchantRateLimit,
  };
}

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Notes in `admitted` when a request is, in seconds. */
async function ask({ limiter }: Node, principal: Principal, admitted: number[]): Promise<void> {
  const { retryAfter } = await limiter.admit(principal);
  if (retryAfter === undefined) admitted.push(performance.now() / 1_000);
}

/**
 * Asks several thousand times a second, some at once.
 * @returns when the last answer came, in seconds: a busy machine gives it late.
 */
async function flood(node: Node, principal: Principal, seconds: number, admitted: number[]) {
  const start = performance.now();
  const end = start + seconds * 1_000;
  while (performance.now() < end) {
    await Promise.all(Array.from({ length: 8 }, () => ask(node, principal, admitted)));
    await pause(1);
  }
  return (performance.now() - start) / 1_000;
}

/** Asks at an even pace, without waiting for the answers. */
async function trickle(
  node: Node,
  principal: Principal,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  admitted: number[],
) {
  const start = performance.now();
  const asked: Promise<void>[] = [];
  while (asked.length < perSecond * seconds) {
    const due = ((performance.now() - start) / 1_000) * perSecond;
    while (asked.length < due) asked.push(ask(node, principal, admitted));
    await pause(1);
  }
  await Promise.all(asked);
}

/** How long this process does not run, in seconds. Of what is allowed then nothing is asked for. */
function watchStalls() {
  const [every, isStall] = [5, 25];
  let last = performance.now();
  let stalled = 0;
  const watching = setInterval(() => {
    const now = performance.now();
    if (now - last > isStall) stalled += now - last - every;
    last = now;
  }, every);
  return {
    end: () => {
      clearInterval(watching);
      return stalled / 1_000;
    },
  };
}

/** The largest share of the limit that any window has seen. */
function worstShare(times: readonly number[], { perMinute, burst }: RateLimit): number {
  const sorted = [...times].sort((a, b) => a - b);
  let worst = 0;
  for (const [first, from] of sorted.entries()) {
    for (let last = first; last < sorted.length; last += 1) {
      const window = (sorted[last] ?? from) - from;
      const share = (last - first + 1) / (burst + (perMinute / 60) * window);
      if (share > worst) worst = share;
    }
  }
  return worst;
}

/** The most that fall within one second. */
function mostPerSecond(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return Math.max(
    0,
    ...sorted.map((from) => sorted.filter((time) => time >= from && time < from + 1).length),
  );
}

/** Asks until it is refused. Returns the seconds of Retry-After. */
async function exhaust({ limiter }: Node, principal: Principal): Promise<number> {
  for (;;) {
    const { retryAfter } = await limiter.admit(principal);
    if (retryAfter !== undefined) return retryAfter;
  }
}

/** Admitted in so many seconds, against what the limit allows. */
function shareOf(admitted: readonly number[], limit: RateLimit, seconds: number): number {
  return admitted.length / (limit.burst + (limit.perMinute / 60) * seconds);
}

// What one node asks costs microseconds, so several tests keep their pace beside each other.
describe.concurrent('two nodes together', () => {
  test.each([
    { perMinute: 6_000, burst: 1_000, seconds: 3 },
    { perMinute: 6_000, burst: 100, seconds: 3 },
    { perMinute: 600, burst: 40, seconds: 4 },
    { perMinute: 6_000, burst: 1, seconds: 5 },
  ])('admit $perMinute a minute and burst $burst within 5 %', async ({ seconds, ...limit }) => {
    const nodes = await Promise.all([startNode(), startNode()]);
    const principal = caller(limit);
    const admitted: number[] = [];
    const stalls = watchStalls();
    const took = await Promise.all(nodes.map((node) => flood(node, principal, seconds, admitted)));
    // A small bucket is full soon, and what would come in while nobody asks is lost.
    const asking = seconds - stalls.end();
    expect(shareOf(admitted, limit, asking)).toBeGreaterThan(0.95);
    expect(shareOf(admitted, limit, Math.max(...took))).toBeLessThan(1.05);
    expect(mostPerSecond(nodes.flatMap((node) => node.asked))).toBeLessThan(20);
    expect(nodes.map((node) => node.limiter.admittedAlone)).toEqual([0, 0]);
  });

  test.each([
    { perMinute: 6_000, burst: 1_000, late: 120 },
    { perMinute: 6_000, burst: 1, late: 120 },
    { perMinute: 60_000, burst: 150, late: 400 },
  ])('admit $perMinute a minute and burst $burst, $late ms late', async ({ late, ...limit }) => {
    const nodes = await Promise.all([startNode({ late }), startNode({ late })]);
    const principal = caller(limit);
    const admitted: number[] = [];
    const took = await Promise.all(nodes.map((node) => flood(node, principal, 4, admitted)));
    expect(shareOf(admitted, limit, Math.max(...took))).toBeLessThan(1.05);
  });

  test('admit within 5 % in every window, whatever they have leased before', async () => {
    const limit = { perMinute: 6_000, burst: 1_000 };
    const nodes = await Promise.all([startNode(), startNode()]);
    const principal = caller(limit);
    const admitted: number[] = [];
    const even = { perSecond: 50, seconds: 2 };
    await Promise.all(nodes.map((node) => trickle(node, principal, even, admitted)));
    expect(admitted).toHaveLength(2 * even.perSecond * even.seconds);
    await Promise.all(nodes.map((node) => flood(node, principal, 1, admitted)));
    expect(worstShare(admitted, limit)).toBeLessThan(1.05);
    expect(mostPerSecond(nodes.flatMap((node) => node.asked))).toBeLessThan(20);
  });

  test('share a merchant’s limit between its credentials', async () => {
    const limit = { perMinute: 3_000, burst: 200 };
    const { merchant } = caller(null);
    const admitted: number[] = [];
    const floods = [await startNode(), await startNode()].map((node) =>
      flood(node, caller({ perMinute: 60_000, burst: 9_000 }, limit, merchant), 3, admitted),
    );
    const took = await Promise.all(floods);
    expect(shareOf(admitted, limit, 3)).toBeGreaterThan(0.95);
    expect(shareOf(admitted, limit, Math.max(...took))).toBeLessThan(1.05);
  });
});

test.concurrent('six nodes ask for an empty bucket less than 20 times a second', async () => {
  const limit = { perMinute: 6_000, burst: 300 };
  const nodes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => startNode()));
  const principal = caller(limit);
  const admitted: number[] = [];
  await Promise.all(nodes.map((node) => flood(node, principal, 4, admitted)));
  const asked = nodes.flatMap((node) => node.asked);
  // At first each of them learns that it is not alone.
  const last = Math.max(...asked);
  expect(mostPerSecond(asked.filter((time) => time > last - 2))).toBeLessThan(20);
  expect(shareOf(admitted, limit, 4)).toBeGreaterThan(0.95);
});

test('whose bucket is full again is forgotten', async () => {
  const { limiter } = await startNode();
  const before = limiter.size;
  const limit = { perMinute: 60_000, burst: 100 };
  await Promise.all(Array.from({ length: 500 }, () => limiter.admit(caller(limit, limit))));
  expect(limiter.size).toBe(before + 1_000);
  await expect.poll(() => limiter.size).toBe(before);
});

describe('one node by itself', () => {
  const limits: readonly RateLimit[] = [
    { perMinute: 6_000, burst: 1_000 },
    { perMinute: 6_000, burst: 1 },
    { perMinute: 600, burst: 7 },
    { perMinute: 60_000, burst: 150 },
  ];

  const late = limits.flatMap((limit) => [0, 120].map((late) => ({ ...limit, late })));

  test.each(late)('is exact: $perMinute a minute, burst $burst, $late ms late', async (given) => {
    const { late, ...limit } = given;
    let now = 0;
    const clock = () => {
      now = monotonic();
      return now;
    };
    const node = await startNode({ clock, late });
    const principal = caller(limit);
    const exact = new Gcra(limit, monotonic());
    const end = performance.now() + 1_000;
    let admitted = 0;
    for (let asked = 1; performance.now() < end; asked += 1) {
      const { retryAfter } = await node.limiter.admit(principal);
      expect(retryAfter === undefined).toBe(exact.admits(now));
      if (retryAfter === undefined) {
        exact.take(now);
        admitted += 1;
      }
      // Without pause, then every now and then.
      if (asked % 40 === 0) await pause(15);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    // A quarter of what it may be: a busy machine asks less often.
    expect(admitted).toBeGreaterThan(limit.perMinute / 60 / 4);
  });

  test('admits a caller that waited for the stated time', async () => {
    const node = await startNode();
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const principal = caller({ perMinute: 30 + 7 * n, burst: 1 + (n % 9) });
        const seconds = await exhaust(node, principal);
        const end = performance.now() + seconds * 1_000;
        // A timer may go off a little early.
        while (performance.now() < end) await pause(end - performance.now());
        return (await node.limiter.admit(principal)).retryAfter;
      }),
    );
    expect(new Set(answers)).toEqual(new Set([undefined]));
  });

  test('never asks the database for a caller of a request a second', async () => {
    let seconds = 1_000;
    const node = await startNode({ clock: () => seconds * 1_000_000 });
    const limit = { perMinute: 6_000, burst: 1_000 };
    const quiet = caller(limit, limit);
    for (; seconds < 2_000; seconds += 1) {
      expect(node.limiter.admit(quiet)).not.toBeInstanceOf(Promise);
    }
    expect(node.asked).toEqual([]);
  });
});
