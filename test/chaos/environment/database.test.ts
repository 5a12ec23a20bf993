// The eyes of a nemesis on its database: a crash is seen where there was one and nowhere else, the
// log is read rightly, and a proxy counts what it has done something to.

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { factsOf } from '../check/server-log.ts';
import { ChaosDatabase, processesOf } from './database.ts';
import { startLone } from './lone.ts';
import { ToxicProxy } from './toxic-proxy.ts';

let directory: string;
let database: ChaosDatabase;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-chaos-test-'));
  database = await ChaosDatabase.on(await startLone(directory));
});
afterAll(async () => {
  await database.stop();
  await rm(directory, { recursive: true, force: true });
});

async function session(name = 'test', url = database.ownerUrl): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: name });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin read write');
  return client;
}

test('a deadlock is counted, by the log of the server', async () => {
  await database.query('create table public.rows as select n from generate_series(1, 2) n');
  const before = database.facts().deadlocks.length;
  const [a, b] = await Promise.all([session(), session()]);
  const take = (client: pg.Client, n: number) =>
    client.query('select from rows where n = $1 for update', [n]);
  await take(a, 1);
  await take(b, 2);
  const both = await Promise.allSettled([take(a, 2), take(b, 1)]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await Promise.all([a.end(), b.end()]);
  await vi.waitFor(() => expect(database.facts().deadlocks).toHaveLength(before + 1), 10_000);
  expect(database.facts().deadlocks.at(-1)).toMatch(/select from rows where n = \$1 for update/);
});

test('a killed server and a killed backend are crashes, a lost connection is none', async () => {
  const before = database.facts().recoveries;
  expect(await database.crashes(async () => undefined)).toBe(false);
  const client = await session();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const processes = () => database.servers.flatMap(processesOf);
  const terminate = 'select pg_terminate_backend($1)';
  expect(await database.crashes(() => database.query(terminate, [rows[0]?.pid]))).toBe(false);
  await database.ready();
  expect(database.facts().recoveries).toBe(before);
  for (const victim of [() => processes()[0], () => processes().at(-1)]) {
    expect(await database.crashes(async () => process.kill(victim() ?? 0, 'SIGKILL'))).toBe(true);
    await database.ready();
  }
  await vi.waitFor(() => expect(database.facts().recoveries).toBe(before + 2), 10_000);
}, 60_000);

test('a node is inside a batch while a transaction of its own is open', async () => {
  const client = await session('node 7', database.serviceUrl);
  expect(await database.busyBackends('node 7')).toHaveLength(1);
  expect(await database.busyBackends('node %')).toHaveLength(1);
  expect(await database.busyBackends('node 0')).toEqual([]);
  await client.query('rollback');
  expect(await database.busyBackends('node %')).toEqual([]);
  await client.end();
});

test('a recovery that did not succeed is none', () => {
  const line = (text: string) => `2026-01-01 00:00:00.000 UTC [7] LOG:  ${text}`;
  const crashed = line('database system was interrupted; last known up at 2026-01-01 00:00:00 UTC');
  const ready = line('database system is ready to accept connections');
  const facts = (lines: string[]) => factsOf(lines.join('\n')).recoveries;
  expect(facts([ready, crashed, crashed])).toBe(0);
  expect(facts([ready, crashed, crashed, ready])).toBe(1);
  expect(facts([crashed, ready, ready])).toBe(1);
  expect(facts([crashed, line('entering standby mode'), ready])).toBe(0);
});

test('a proxy has touched nothing until there was something to be touched', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const proxy = new ToxicProxy(() => ({ host: '127.0.0.1', port }));
  await proxy.listen();
  proxy.reset();
  proxy.toxic = { kind: 'blackhole' };
  expect(proxy.touched).toBe(0);
  const answer = fetch(`http://127.0.0.1:${proxy.port}`).catch(() => undefined);
  await vi.waitFor(() => expect(proxy.touched).toBe(1), 10_000);
  proxy.reset();
  expect(proxy.touched).toBe(2);
  await answer;
  await proxy.close();
  await new Promise((resolve) => server.close(resolve));
});
