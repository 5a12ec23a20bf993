// What a limiter does when its database is late, silent or gone. What lies between them here loses
// or holds back exactly what a test says.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { DatabaseProxy } from '../../../test/kit/proxy.ts';
import { mintId } from '../../core/id.ts';
import type { MerchantId, Principal, RateLimit } from '../../core/principal.ts';
import { connectDatabase, type Database } from '../../database/connect.ts';
import { RateLimiter } from './limiter.ts';

let db: TestDatabase;
let proxy: DatabaseProxy;
let database: Database;
let limiter: RateLimiter;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  proxy = new DatabaseProxy(db.serviceUrl);
  database = connectDatabase({ url: await proxy.listen(), writers: 1 });
  limiter = new RateLimiter(database.leases);
});
afterEach(async () => {
  await limiter.close();
  await proxy.close();
  await database.close();
});

function caller(rateLimit: RateLimit): Principal {
  return {
    merchant: mintId('mer_') as MerchantId,
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
    merchantRateLimit: null,
  };
}

/** How many of so many requests, one after the other, are admitted. */
async function admittedOf(count: number, principal: Principal): Promise<number> {
  let admitted = 0;
  for (let n = 0; n < count; n += 1) {
    const { retryAfter } = await limiter.admit(principal);
    if (retryAfter === undefined) admitted += 1;
  }
  return admitted;
}

/** So small that only the database can tell, and hardly refilled during a test. */
const small = { perMinute: 2, burst: 20 };

test('a database that never answers fails no request: the node keeps the limit', async () => {
  await admittedOf(1, caller(small));
  proxy.isHole = true;
  const startedAt = performance.now();
  expect(await admittedOf(30, caller(small))).toBe(20);
  expect(await admittedOf(30, caller(small))).toBe(20);
  // Only the first of them waited.
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

test('a database that cannot be reached fails no request, and is asked again', async () => {
  proxy.refuses = true;
  const principal = caller(small);
  expect(await admittedOf(30, principal)).toBe(20);
  proxy.refuses = false;
  const rows = () =>
    db.sql('select from rate_buckets where credential_id = $1', [principal.credentialId]);
  await expect.poll(rows).toHaveLength(1);
});

test('a request is answered while the database’s answer is still on its way', async () => {
  await admittedOf(1, caller(small));
  let deliver: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    deliver = resolve;
  });
  proxy.delay = () => held;
  const principal = caller(small);
  const before = limiter.admittedAlone;
  expect(await admittedOf(30, principal)).toBe(20);
  expect(limiter.admittedAlone - before).toBe(20);
  proxy.delay = () => undefined;
  deliver();
  // Once it answers, what was admitted without it counts for other nodes as well.
  const used = async () => {
    const [row] = await db.sql<{ tokens: number }>(
      `select extract(epoch from full_at - now())::float8 / 30 as tokens from rate_buckets
       where credential_id = $1`,
      [principal.credentialId],
    );
    return row?.tokens ?? 0;
  };
  await expect.poll(used).toBeGreaterThan(19);
  expect(await used()).toBeLessThan(20.1);
});
