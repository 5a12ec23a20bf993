// A primary that is killed under load while its standby takes over, again and again: nothing that
// was acknowledged is lost, and a server that was replaced is not used, whoever leads there.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { openStore } from '../src/database/open.ts';
import { startPrivateServer } from '../src/postgres/server.ts';
import { newKey } from './kit/api.ts';
import type { TestDatabase } from './kit/database.ts';
import { Detour } from './kit/detour.ts';
import { testSecret } from './kit/environment.ts';
import { adjustment, Load, openShop, type Shop } from './kit/load.ts';
import { startProcess } from './kit/process.ts';
import { verifyLedger } from './kit/program.ts';
import {
  missingForReplication,
  type Pair,
  type ReplicaServer,
  startPair,
} from './kit/replication.ts';
import { sqlAt } from './kit/sql.ts';

const missing = missingForReplication();
const kills = 20;
const role = 'tallybook_service';
let pair: Pair;
let primary: ReplicaServer;
let other: ReplicaServer;
let shop: Shop;

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing);
});
beforeAll(async () => {
  if (missing !== undefined) return;
  pair = await startPair();
  [primary, other] = pair.servers;
  await primary.sql('create database books');
  const node = await serve();
  await primary.sql(
    `alter table merchants alter column requests_per_minute set default 0;
     alter table credentials alter column requests_per_minute set default 0`,
    'books',
  );
  shop = await openShop(books);
  await node.end();
});
afterAll(async () => {
  if (missing === undefined) await pair.stop();
});

/** SQL as the owner, on whichever server is the primary. */
const books: Pick<TestDatabase, 'sql'> = {
  sql: (text, values) => sqlAt(primary.url('owner', 'books'), text, values),
};

const serve = (urlOf: (role: string) => string = (one) => pair.url(one, 'books')) =>
  startProcess({ ownerUrl: urlOf('owner'), serviceUrl: urlOf(role) } as TestDatabase);

/** @returns how long (ms) until a write was acknowledged after the promotion. */
async function failOver(load: Load): Promise<number> {
  await primary.kill();
  await other.promote();
  const promotedAt = performance.now();
  [primary, other] = [other, primary];
  const known = load.sent.length;
  await load.more(5);
  return (load.sent[known]?.at ?? Number.POSITIVE_INFINITY) - promotedAt;
}

test(`${kills} times the primary is killed, and every acknowledged write is there`, async () => {
  const node = await serve();
  const load = new Load(node.api, shop);
  const back: number[] = [];
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      await load.more(20);
      back.push(await failOver(load));
      await other.follow(primary);
    }
    await load.stop();
    back.sort((a, b) => a - b);
    const median = Math.round(back[kills / 2] ?? 0);
    console.log(
      `${load.sent.length} writes acknowledged (${load.answers}); ` +
        `back after ${median} ms, at most ${Math.round(back.at(-1) ?? 0)} ms`,
    );
    expect(back.at(-1)).toBeLessThan(2_000);
    await load.expectWhole(books, node.api, 1);
    expect(await verifyLedger(pair.url(role, 'books'))).toMatchObject({ ok: true });
  } finally {
    await load.stop();
    await node.end();
  }
}, 900_000);

/** What the server that was replaced has of writes. */
const written = async (server: ReplicaServer) =>
  (await server.sql('select count(*)::int as n from operations', 'books'))[0]?.n;

test('a primary that comes back without being fenced is not used', async () => {
  const detour = await Detour.to(primary.url());
  const [behindProxy, led] = await Promise.all([
    serve(),
    serve((one) => detour.through(primary.url(one, 'books'))),
  ]);
  const apis = [behindProxy, led].map(({ api }) => api.as(shop.token));
  const [caller] = apis as [(typeof apis)[0]];
  const load = new Load(behindProxy.api, shop, 2);
  try {
    await load.more(10);
    await failOver(load);
    detour.turnTo(primary.url());
    await expect
      .poll(async () => (await led.api.as(shop.token).get('/credential')).status)
      .toBe(200);
    await other.start();
    const before = await written(other);
    // HAProxy knows of it, and leads nowhere else.
    await load.more(40);
    await load.stop();
    // What a proxy does that asks for less than ours: it leads to the server from before.
    detour.turnTo(other.url());
    const api = led.api.as(shop.token);
    const answers = await Promise.all([
      api.post('/inventory/adjustments', adjustment(shop, 1_000_000)),
      api.get(`/inventory/levels?location_id=${shop.location}`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    await expect.poll(led.log).toContain('has taken over: stop it');
    await expectUnused(other);
    expect(await written(other)).toBe(before);
    detour.turnTo(primary.url());
    const key = newKey();
    const body = adjustment(shop, 1_000_001);
    const again = async () =>
      (await led.api.as(shop.token).post('/inventory/adjustments', body, { key })).status;
    await expect.poll(again).toBe(201);
    expect((await caller.post('/inventory/adjustments', body, { key: newKey() })).status).toBe(422);
    await load.expectWhole(
      { sql: async <Row>() => (await onlyOf(load)) as Row[] },
      behindProxy.api,
      1,
    );
  } finally {
    await load.stop();
    await Promise.all([behindProxy, led].map((node) => node.end()));
    detour.close();
    await other.stop();
    await other.follow(primary);
  }
}, 300_000);

/** Whoever starts there, and has seen no other, says why it waits, and changes nothing. */
async function expectUnused(server: ReplicaServer): Promise<void> {
  const said: string[] = [];
  const warn = ({ reason }: Record<string, unknown>) => said.push(String(reason));
  const log = { info: () => undefined, warn };
  const reason = 'commits wait for a standby, and none is connected';
  const urls = { databaseUrl: server.url(role, 'books') };
  const secret = { TALLYBOOK_SECRET: testSecret };
  for (const own of [{}, { TALLYBOOK_MIGRATE_URL: server.url('owner', 'books') }]) {
    const leave = new AbortController();
    const { signal } = leave;
    const config = readConfig(urls, { ...secret, ...own });
    const ended = expect(openStore(config, log, { startPrivateServer, signal })).rejects.toThrow();
    await expect.poll(() => said.at(-1)).toContain(`the database cannot be used: ${reason}`);
    leave.abort();
    await ended;
    said.length = 0;
  }
  const purpose = 'worker';
  const worker = await openStore(readConfig(urls, secret), log, { startPrivateServer, purpose });
  expect(await worker.isCurrent()).toBe(false);
  expect(said).toContain(reason);
  await worker.close();
}

/** The movements of this load alone: the shop has others. */
async function onlyOf(load: Load): Promise<{ id: string }[]> {
  const ids = load.sent.map(({ answer }) => answer.body.meta.operation_id);
  return books.sql<{ id: string }>(
    'select operation_id as id from inventory_movements where operation_id = any ($1)',
    [ids],
  );
}

test('a start says what a failover may lose', async () => {
  const said = async () => {
    const node = await serve();
    await node.end();
    return node.log();
  };
  expect(await said()).toContain('a write is acknowledged when a standby has it');
  await primary.sql("alter system set synchronous_standby_names = ''");
  await primary.sql('select pg_reload_conf()');
  expect(await said()).toMatch(/"level":"warn".*no write waits for the standby: a failover may/);
  await other.stop();
  await expect
    .poll(async () => (await primary.sql('select from pg_stat_replication')).length)
    .toBe(0);
  expect(await said()).toMatch(/"level":"info".*the server has no standby/);
}, 120_000);
