// What a flood of denied requests costs, and that it hides nothing: every one is counted, whatever
// the database does meanwhile.

import { Agent, request } from 'node:http';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AuditTrail } from '../../../test/kit/audit.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { testSecret } from '../../../test/kit/environment.ts';
import { Given } from '../../../test/kit/given.ts';
import { DatabaseProxy } from '../../../test/kit/proxy.ts';
import { readConfig } from '../../config.ts';
import { mintId } from '../../core/id.ts';
import { limits } from '../../core/limits.ts';
import { Problem } from '../../core/problem.ts';
import { connectDatabase, type Database } from '../../database/connect.ts';
import { start } from '../../main.ts';
import { mintToken } from '../token.ts';
import { type Denial, Denials, denialOf } from './denials.ts';
import { verifyChain } from './verify.ts';

let db: TestDatabase;
let trail: AuditTrail;

beforeEach(async () => {
  db = await createTestDatabase();
  trail = new AuditTrail(db);
});
afterEach(async () => {
  await trail.database.close();
  await db.drop();
});

const denials = () => trail.lines('request.denied');
const sum = (lines: readonly { readonly [member: string]: unknown }[]) =>
  lines.reduce((total, { count }) => total + Number(count), 0);

function startEnvironment() {
  const env = {
    TALLYBOOK_MIGRATE_URL: db.ownerUrl,
    TALLYBOOK_SECRET: testSecret,
    TALLYBOOK_TRUSTED_PROXIES: '127.0.0.1',
  };
  return start(
    readConfig({ databaseUrl: db.serviceUrl, port: '0' }, env),
    pino({ level: 'silent' }),
  );
}

/** Sends reads, 32 at a time, and gives their statuses. */
async function flood(
  url: string,
  count: number,
  headersOf: (n: number) => Record<string, string>,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const ask = (n: number) =>
    new Promise<number>((resolve, reject) => {
      const options = { agent, headers: headersOf(n) };
      request(`${url}/api/v1/products?limit=1`, options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
  const statuses = await Promise.all(Array.from({ length: count }, (_, n) => ask(n)));
  agent.destroy();
  return statuses;
}

const address = (n: number) => `198.18.${n >> 8}.${n & 255}`;

test('of ten thousand bad tokens each is counted, and the most frequent are named', async () => {
  const service = await startEnvironment();
  const given = new Given(db);
  const caller = await given.credential(await given.merchant(), { scopes: [] });
  const token = mintToken('pat');
  const statuses = await flood(service.url, 10_000, (n) => ({
    authorization: `Bearer ${n % 2 === 0 ? token : `tb_pat_${n}`}`,
    // Every third from one address, the others each from their own.
    'x-forwarded-for': n % 3 === 0 ? '192.0.2.7' : address(n),
  }));
  expect(statuses.filter((status) => status === 401 || status === 429)).toHaveLength(10_000);
  const known = await flood(service.url, 1, () => ({ authorization: `Bearer ${caller.token}` }));
  expect(known).toEqual([403]);
  await service.stop();
  const lines = await denials();
  const ofCaller = lines.filter(({ credential_id }) => credential_id === caller.id);
  expect(ofCaller).toMatchObject([{ code: 'insufficient_scope', count: 1 }]);
  expect(sum(lines)).toBe(10_001);
  const ofOne = lines.filter((line) => line.address === '192.0.2.7');
  // Once the limit by address answers, a few of them differ from the rest in their code.
  expect(sum(ofOne)).toBeGreaterThan(3_000);
  expect(sum(lines.filter(({ folded }) => folded === true))).toBeGreaterThan(5_000);
  expect(lines.length).toBeLessThan(5 * limits.denialLinesPerMinute);
  expect((await verifyChain(trail.database.reader)).ok).toBe(true);
}, 120_000);

test('a service that stops first writes the denials that it has counted', async () => {
  const service = await startEnvironment();
  await flood(service.url, 25, () => ({}));
  await service.stop();
  expect(sum(await denials())).toBe(25);
});

test('a known caller who is only too fast is not denied', () => {
  const answered = {
    method: 'GET',
    route: '/api/v1/products',
    status: 429,
    requestId: mintId('req_'),
    problem: new Problem('rate_limited'),
    oauthError: undefined,
  };
  expect(denialOf({ ...answered, credentialId: mintId('cred_') })).toBeUndefined();
  expect(denialOf(answered)).toMatchObject({ code: 'rate_limited', status: 429 });
});

describe('while the database fails', () => {
  let proxy: DatabaseProxy;
  let database: Database;
  let recorder: Denials;
  let failures: number;

  beforeEach(async () => {
    proxy = new DatabaseProxy(db.serviceUrl);
    failures = 0;
    const onError = () => {
      failures += 1;
    };
    database = connectDatabase({ url: await proxy.listen(), writers: 2, onError });
    recorder = new Denials(database.writer, { length: 2_000 });
  });
  afterEach(async () => {
    await database.close();
    await proxy.close();
  });

  const stranger = (n: number): Denial => ({
    method: 'GET',
    route: '/api/v1/products',
    status: 401,
    code: 'invalid_token',
    requestId: mintId('req_'),
    address: address(n),
  });

  test('denials wait in bounded room, and are all counted afterwards', async () => {
    proxy.refuses = true;
    const count = 3 * limits.denialKindsMax;
    for (let n = 0; n < count; n += 1) recorder.note(stranger(n));
    await expect.poll(() => failures).toBeGreaterThan(0);
    for (let n = 0; n < count; n += 1) recorder.note(stranger(n));
    expect(await denials()).toEqual([]);
    proxy.refuses = false;
    await expect.poll(async () => sum(await denials())).toBe(2 * count);
    expect((await denials()).length).toBeLessThan(3 * limits.denialLinesPerMinute);
    expect(await recorder.close()).toBe(0);
  });

  test('equal denials are one line at once, and one that counts a minute of them', async () => {
    recorder.note(stranger(1));
    const counts = async () => (await denials()).map(({ count }) => count);
    await expect.poll(counts).toEqual([1]);
    for (let n = 0; n < 9; n += 1) recorder.note(stranger(1));
    await expect.poll(counts).toEqual([1, 9]);
    expect(await recorder.close()).toBe(0);
    expect(await counts()).toEqual([1, 9]);
  });

  test('a line whose commit was not answered is there once, not twice', async () => {
    proxy.cutAfterCommit = true;
    recorder.note(stranger(1));
    recorder.note(stranger(1));
    await expect.poll(() => proxy.commitsCut).toBe(1);
    proxy.cutAfterCommit = false;
    recorder.note(stranger(2));
    expect(await recorder.close()).toBe(0);
    expect((await denials()).map((line) => [line.address, line.count])).toEqual([
      [address(1), 2],
      [address(2), 1],
    ]);
  });

  test('it says at the end how many could not be written down', async () => {
    proxy.refuses = true;
    for (let n = 0; n < 7; n += 1) recorder.note(stranger(n));
    expect(await recorder.close()).toBe(7);
  });
});
