// A cluster by command: its servers, cells that move while they are used, and servers that a start
// refuses. It needs a cluster: see vitest.citus.config.ts.

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { urlAt } from '../src/database/citus.ts';
import { migrate } from '../src/database/migrate.ts';
import type { Api } from './kit/api.ts';
import { createEmptyDatabase, type TestDatabase } from './kit/database.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';
import { runTallybook } from './kit/program.ts';

interface Server {
  readonly server: string;
  readonly is_coordinator: boolean;
  readonly cells: readonly string[];
}

let db: TestDatabase;
let service: Environment;
let till: Api;
let product_id: string;
let location_id: string;

async function json<Printed>(...args: readonly string[]): Promise<Printed> {
  const env = { DATABASE_URL: db.serviceUrl, TALLYBOOK_MIGRATE_URL: db.ownerUrl };
  return JSON.parse(await runTallybook(args, { env }));
}

const servers = () => json<Server[]>('server', 'list');

/** Where a cell is, and a worker where it is not. */
async function placesOf(cell: string): Promise<{ here: string; there: string }> {
  const workers = (await servers()).filter((one) => !one.is_coordinator);
  const nameOf = (has: boolean) =>
    workers.find(({ cells }) => cells.includes(cell) === has)?.server ?? '';
  return { here: nameOf(true), there: nameOf(false) };
}

beforeAll(async () => {
  db = await createEmptyDatabase();
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  await json('cell', 'add', 'cell_2');
  service = await startEnvironment({ db });
  const shop = ['merchant', 'create', '--name', 'Shop', '--cell', 'cell_2'];
  const { id } = await json<{ id: string }>(...shop);
  const all = ['--scopes', 'all', '--locations', 'all'];
  const made = ['token', 'create', '--merchant', id, '--name', 'till', ...all];
  till = service.api.as((await json<{ token: string }>(...made)).token);
  product_id = (await till.post('/products', { name: 'Flour' })).body.data.id;
  location_id = (await till.post('/locations', { name: 'Main Street' })).body.data.id;
});
afterAll(() => service.stop());

/** The first page with an event. A move takes longer than one request waits. */
async function poll(behind: string): Promise<Awaited<ReturnType<Api['get']>>['body']> {
  for (;;) {
    const { status, body } = await till.get(`/events?wait=8&${behind}`);
    expect(status).toBe(200);
    if (body.data.length > 0) return body;
  }
}

const setTo = (target_quantity: string) =>
  till.post('/inventory/adjustments', {
    ...{ product_id, location_id, target_quantity },
    reason: 'stock_count',
  });

test('its servers are listed, the coordinator first, and each cell is on one worker', async () => {
  const [first, ...others] = await servers();
  expect(first).toMatchObject({ is_coordinator: true, cells: [] });
  expect(others.map(({ is_coordinator }) => is_coordinator)).toEqual([false, false]);
  expect(others.flatMap(({ cells }) => cells).sort()).toEqual(['cell_1', 'cell_2']);
});

describe('a cell that is moved', () => {
  test('keeps its journal and positions, and who waits is told what comes behind', async () => {
    const { here, there } = await placesOf('cell_2');
    const before = (await till.get('/events')).body.meta;
    const behind = `after_position=${before.through_position}&journal=${before.journal}`;
    const waiting = poll(behind);
    expect(await json('cell', 'move', 'cell_2', '--to', there)).toEqual({
      name: 'cell_2',
      server: there,
    });
    expect(await placesOf('cell_2')).toEqual({ here: there, there: here });
    expect((await setTo('4')).status).toBe(201);
    const body = await waiting;
    const next = String(Number(before.through_position) + 1);
    expect(body.meta).toMatchObject({ journal: before.journal, through_position: next });
    expect(body.data).toHaveLength(1);
    const lines = await json('audit', 'list', '--action', 'cell.move');
    expect(lines).toMatchObject([{ cell: 'cell_2', from: here, to: there }]);
  });

  test('loses and doubles no write that is made meanwhile, and the ledger is sound', async () => {
    const { there } = await placesOf('cell_2');
    let isOver = false;
    let written = 0;
    const writing = (async () => {
      while (!isOver) {
        written += 1;
        expect((await setTo(String(100 + written))).status).toBe(201);
      }
    })();
    await json('cell', 'move', 'cell_2', '--to', there).finally(() => {
      isOver = true;
    });
    await writing;
    const level = await till.get(`/inventory/levels?location_id=${location_id}`);
    expect(level.body.data).toMatchObject([{ quantity: String(100 + written) }]);
    expect(await json('verify')).toMatchObject({ ok: true, movements: written + 1 });
  });

  test.each([
    ['cell_2', '10.9.9.9:5432', 'there is no server 10.9.9.9:5432, but 127.0.0.1:'],
    ['cell_7', 'there', 'there is no cell cell_7 on any server'],
    ['cell_2', 'here', /cell_2 is on 127\.0\.0\.1:\d+ already/],
  ])('is not: %s to %s', async (cell, to, reason) => {
    const places: Record<string, string> = await placesOf('cell_2');
    const before = await servers();
    const moving = json('cell', 'move', cell, '--to', places[to] ?? to);
    await expect(moving).rejects.toThrow(reason);
    expect(await servers()).toEqual(before);
  });

  test('is moved by the owner of the schema alone', async () => {
    const { there } = await placesOf('cell_2');
    const env = { DATABASE_URL: db.serviceUrl };
    const moving = runTallybook(['cell', 'move', 'cell_2', '--to', there], { env });
    await expect(moving).rejects.toThrow('set TALLYBOOK_MIGRATE_URL');
  });
});

describe('a start is refused, and server and setting are named', () => {
  /** Each statement by itself, in the database at one server. */
  async function at(server: string, ...statements: readonly string[]): Promise<void> {
    const [host = '', port] = server.split(':');
    const url = urlAt(db.ownerUrl, { host, port: Number(port) });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  }

  test.each([
    ['citus.enable_unsafe_triggers', 'off', 'citus.enable_unsafe_triggers is off, it must be on'],
    ['citus.recover_2pc_interval', '1min', 'citus.recover_2pc_interval is 60000 ms, it must be'],
  ])('where a worker has %s = %s', async (name, value, reason) => {
    const { here } = await placesOf('cell_2');
    await at(here, `alter system set ${name} = '${value}'`, 'select pg_reload_conf()');
    try {
      await expect
        .poll(() => servers().catch(({ message }) => message))
        .toContain(`this cluster is not safe to use: on ${here} ${reason}`);
    } finally {
      await at(here, `alter system reset ${name}`, 'select pg_reload_conf()');
    }
    await expect.poll(() => servers().catch(() => [])).toHaveLength(3);
  });
});
