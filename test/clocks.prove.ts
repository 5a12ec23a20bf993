// A node whose wall clock jumps as it serves, beside one whose clock is right: an hour ahead, two
// hours back, ten years ahead and twenty back. No time that it writes shows it.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idFloor } from '../src/core/id.ts';
import { connectDatabase } from '../src/database/connect.ts';
import { verifyLedger } from '../src/inventory/verify.ts';
import { type Answer, type Api, newKey } from './kit/api.ts';
import { createTestDatabase, type TestDatabase } from './kit/database.ts';
import { Given } from './kit/given.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';

const hour = 3_600_000;
const year = 365 * 24 * hour;
const jumps = [hour, -hour, 10 * year, -10 * year, 0];

const preload = fileURLToPath(new URL('./kit/clock-jumping.mjs', import.meta.url));

let db: TestDatabase;
let given: Given;
let nodes: ServiceProcess[] = [];
let location: string;
let products: string[];
let merchant: string;
/** Of the node that jumps, and of the other. */
let apis: readonly [Api, Api];

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
  merchant = await given.merchant();
  location = await given.location(merchant);
  products = [await given.product(merchant), await given.product(merchant)];
  nodes = await Promise.all([
    startProcess(db, { NODE_OPTIONS: `--import ${preload}` }),
    startProcess(db),
  ]);
  const { token } = await given.credential(merchant);
  const [jumping, right] = nodes.map(({ api }) => api.as(token));
  if (jumping === undefined || right === undefined) throw new Error('there are no nodes');
  apis = [jumping, right];
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.end()));
  await db?.drop();
});

let target = 0;

function adjust(api: Api, product: string | undefined, key = newKey()): Promise<Answer> {
  target += 1;
  const pair = { product_id: product, location_id: location };
  const body = { ...pair, target_quantity: String(target), reason: 'correction' };
  return api.post('/inventory/adjustments', body, { key });
}

const someWrites = () =>
  Array.from({ length: 20 }, (_, n) => adjust(apis[n % 2 ? 1 : 0], products[n % 3 ? 0 : 1]));

/** Until the ID of a request shows the other time; what is written never does. */
async function jump(offset: number): Promise<void> {
  nodes[0]?.child.kill('SIGUSR2');
  const hasJumped = async () => {
    const id = (await apis[0].get('/credential')).body.meta.request_id;
    const floor = (away: number) =>
      idFloor('req_', new Date(Date.now() + offset + away).toISOString()) ?? '';
    return id > floor(-hour / 2) && id < floor(hour / 2);
  };
  await expect.poll(hasJumped).toBe(true);
  const { body } = await apis[0].post('/products', { name: 'Flour' });
  expect(Math.abs(Date.parse(body.data.created_at) - Date.now())).toBeLessThan(60_000);
}

const write = (api: Api) =>
  api.post('/customers', { name: 'Ada', email: 'ada@example.com' }, { key: 'before-all-jumps' });

describe('a clock that jumps', () => {
  test('does not change the ledger, keys, lists or who is admitted', async () => {
    const first = await write(apis[0]);
    const expired = await given.credential(merchant);
    await db.sql(
      `update credential_tokens set created_at = now() - interval '1 day',
         expires_at = now() - interval '1 minute' where credential_id = $1`,
      [expired.id],
    );
    const slow = await given.credential(merchant);
    await db.sql(
      'update credentials set requests_per_minute = 6, request_burst = 1 where id = $1',
      [slow.id],
    );
    for (let n = 0; n < 4; n += 1) await adjust(apis[0], products[n % 2]);
    let cursor = (await apis[0].get('/inventory/movements?limit=1')).body.meta.next_cursor;
    for (const offset of jumps) {
      const writes = someWrites();
      await jump(offset);
      const answers = await Promise.all([...writes, ...someWrites()]);
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
      const replay = await write(apis[0]);
      expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      expect(replay.body.meta.operation_id).toBe(first.body.meta.operation_id);
      expect((await apis[0].as(expired.token).get('/credential')).code).toBe('invalid_token');
      await expectSaneWaits(apis[0].as(slow.token));
      if (cursor === undefined) continue;
      const next = `limit=1&cursor=${encodeURIComponent(cursor)}`;
      const page = await apis[0].get(`/inventory/movements?${next}`);
      expect([page.status, page.body.data.length]).toEqual([200, 1]);
      cursor = page.body.meta.next_cursor;
    }
    await expectSound();
  }, 60_000);
});

test.each([
  { jumps: '0', warned: undefined },
  { jumps: '1', warned: 'is 3600 s ahead of' },
  { jumps: '2', warned: 'is 3600 s behind' },
])('a start with a clock that is off says so ($jumps)', async ({ jumps, warned }) => {
  const env = { NODE_OPTIONS: `--import ${preload}`, TALLYBOOK_TEST_JUMPS: jumps };
  const node = await startProcess(db, env);
  await node.end();
  const lines = node.log().split('\n');
  const warnings = lines.filter((line) => line.includes("this node's clock"));
  expect(warnings).toEqual(warned === undefined ? [] : [expect.stringContaining(warned)]);
});

async function expectSaneWaits(api: Api): Promise<void> {
  const answers = [];
  for (let n = 0; n < 4; n += 1) answers.push(await api.get('/credential'));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(2);
  expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  for (const { headers } of refused) {
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(11);
  }
}

/** Levels equal their ledger, and IDs and times of each go up with the sequence. */
async function expectSound(): Promise<void> {
  const database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  const { differences, movements } = await verifyLedger(database);
  await database.close();
  expect([differences, movements]).toEqual([[], 4 + 40 * jumps.length]);
  for (const product of products) {
    const rows = await db.sql<{ id: string; sequence: number; recorded_at: Date }>(
      `select id, sequence::int, recorded_at from inventory_movements where product_id = $1
       order by sequence`,
      [product],
    );
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
    const ids = rows.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    const times = rows.map(({ recorded_at }) => recorded_at.getTime());
    expect(times).toEqual([...times].sort((a, b) => a - b));
  }
}
