// The service behind PgBouncer, which Debian has without support of prepared statements: the write
// path, the model, what other clients leave in the sessions, and what becomes of requests when the
// pooler comes, goes or changes its ways.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { migrate } from '../src/database/migrate.ts';
import { addressOf, throughPort } from './chaos/environment/database.ts';
import { ToxicProxy } from './chaos/environment/toxic-proxy.ts';
import { type Api, newKey } from './kit/api.ts';
import { addCells } from './kit/cells.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
  waitsOf,
  withoutLimits,
} from './kit/database.ts';
import { Detour } from './kit/detour.ts';
import { adjustment, Load, openShop, type Shop } from './kit/load.ts';
import { type Pooler, poolerFor } from './kit/pgbouncer.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { runTallybook, verifyLedger } from './kit/program.ts';
import { isInstalled } from './kit/samples.ts';
import { kept } from './model/kept.ts';
import { checkModel, type OpenedService, openService, runCommands } from './model/run.ts';

const isThere = isInstalled('pgbouncer');
const nameless = 'behind a pooler that does not keep prepared statements';
let pooler: Pooler;
let db: TestDatabase;

/** Before the server of all tests, for every database of it. */
const startPooler = (changes?: Readonly<Record<string, string>>) =>
  poolerFor([inject('ownerUrl'), inject('serviceUrl')], changes);

beforeEach((context) => {
  if (!isThere) context.skip('pgbouncer is not installed');
});
beforeAll(async () => {
  if (!isThere) return;
  pooler = await startPooler();
  db = await createTestDatabase();
  await withoutLimits(db);
});
afterAll(async () => {
  if (!isThere) return;
  await db.drop();
  await pooler.stop();
});

const throughPooler = (url: string) => pooler.through(url);

const serve = (through: (url: string) => string, env = {}): Promise<ServiceProcess> =>
  startProcess({ ...db, serviceUrl: through(db.serviceUrl) }, env);

async function expectWhole(load: Load, { api }: ServiceProcess): Promise<void> {
  await load.expectWhole(db, api);
  expect(await verifyLedger(db.serviceUrl)).toMatchObject({ ok: true });
}

/** Two nodes and 50 requests with one key, again and again. */
async function expectOnce(apis: readonly Api[]): Promise<void> {
  const shop = await openShop(db, 5);
  for (let round = 0; round < 5; round += 1) {
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        apis[i % apis.length]
          ?.as(shop.token)
          .post('/inventory/adjustments', adjustment(shop, round), { key }),
      ),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(Array(50).fill(201));
    expect(new Set(answers.map((answer) => answer?.body.meta.operation_id)).size).toBe(1);
  }
  const [count] = await db.sql(
    'select count(*)::int as n from inventory_movements where location_id = $1',
    [shop.location],
  );
  expect(count).toEqual({ n: 5 });
}

describe('in transaction mode without prepared statements', () => {
  test('is found out at the start and said once, and a key does its work once', async () => {
    const two = { TALLYBOOK_WORKERS: '2' };
    const nodes = await Promise.all([serve(throughPooler), serve(throughPooler, two)]);
    try {
      await expectOnce(nodes.map(({ api }) => api));
      for (const node of nodes) expect(node.log().split(nameless)).toHaveLength(2);
      for (const node of nodes)
        expect(node.log().split('its max_client_conn must')).toHaveLength(2);
      for (const node of nodes) expect(node.log()).not.toMatch(/42P05|26000|a pooler has come/);
    } finally {
      await Promise.all(nodes.map((node) => node.end()));
    }
  });

  describe('the model', () => {
    let service: OpenedService;
    beforeAll(async () => {
      if (isThere) service = await openService(throughPooler);
    });
    afterAll(() => service?.close());

    test('says what every answer is', { timeout: 600_000 }, async () => {
      const asked = { runs: 6, minutes: 5, seed: 20_261_123, commands: 100 };
      await checkModel(service, { ...asked, path: undefined, replay: undefined });
    });
    test.each(kept)('$name', ({ commands }) => runCommands(service, commands));
  });

  test('all commands work, and no settings of theirs stay in the sessions', async () => {
    const own = await createEmptyDatabase();
    const other = await createEmptyDatabase();
    const folder = mkdtempSync(join(tmpdir(), 'tallybook-pooler-backup-'));
    const env = (one: TestDatabase) => ({
      DATABASE_URL: pooler.through(one.serviceUrl),
      TALLYBOOK_MIGRATE_URL: pooler.through(one.ownerUrl),
    });
    const file = join(folder, 'backup');
    try {
      await runTallybook(['migrate'], { env: env(own) });
      const made = await runTallybook(['merchant', 'create', '--name', 'Corner'], {
        env: env(own),
      });
      expect(JSON.parse(made).id).toMatch(/^mer_/);
      await runTallybook(['backup', file], { env: env(own) });
      await runTallybook(['restore', file], { env: env(other) });
      expect(JSON.parse(await runTallybook(['verify'], { env: env(other) }))).toMatchObject({
        ok: true,
      });
      expect(await other.sql('select name from merchants')).toEqual([{ name: 'Corner' }]);
      await expectUntouched(pooler.through(own.ownerUrl));
    } finally {
      await own.drop();
      await other.drop();
      rmSync(folder, { recursive: true });
    }
  });
});

/** As the sessions of the owner began. */
async function expectUntouched(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(
    `select name, setting from pg_settings where source = 'session' and name not in (
      'application_name', 'client_encoding', 'DateStyle', 'TimeZone',
      'standard_conforming_strings')`,
  );
  await client.end();
  expect(rows).toEqual([]);
}

/** What another client may leave behind in each session. Temporary tables hide ours. */
const leftBehind = `
  begin read write;
  create temporary table if not exists credentials (id text);
  create temporary table if not exists inventory_levels (id text);
  commit;
  set search_path = pg_temp;
  set lock_timeout = '1ms';
  set default_transaction_isolation = 'serializable';
  set default_transaction_read_only = off;
  set datestyle = 'German';
  set timezone = 'Asia/Kathmandu';
  set bytea_output = 'escape';
  set intervalstyle = 'sql_standard';
  set extra_float_digits = -15;
  set synchronous_commit = off;
  set idle_in_transaction_session_timeout = '1ms'`;

test('two shops and a careless client share three sessions, and inherit nothing', async () => {
  const small = await startPooler({ 'default_pool_size = 20': 'default_pool_size = 3' });
  const nodes = await Promise.all([
    serve((url) => small.through(url)),
    serve((url) => small.through(url)),
  ]);
  const careless = new pg.Client({ connectionString: small.through(db.serviceUrl) });
  await careless.connect();
  const shops = await Promise.all([openShop(db), openShop(db)]);
  const loads = nodes.map(({ api }, i) => new Load(api, shops[i] as Shop, 4));
  try {
    for (let round = 0; round < 30; round += 1) {
      await careless.query(leftBehind);
      await Promise.all(loads.map((load) => load.more(4)));
    }
    // Longer than what was left behind allows, and less than our own time-outs do.
    const session = await db.session();
    await session.query('begin; select from inventory_levels for update');
    await expect.poll(() => waitsOf(db)).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await session.query('commit');
    await Promise.all(loads.map((load) => load.more(20)));
    await Promise.all(loads.map((load) => load.stop()));
    for (const [i, load] of loads.entries()) {
      await expectWhole(load, nodes[i] as ServiceProcess);
      const [row] = load.sent;
      expect(row?.answer.body.data.recorded_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    }
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
    await careless.end();
    await Promise.all(nodes.map((node) => node.end()));
    await small.stop();
  }
});

test('merchants of three cells share three sessions, and each writes in its own', async () => {
  const own = await createEmptyDatabase();
  await migrate({ owner: own.ownerUrl, service: own.serviceUrl });
  await addCells(own.ownerUrl, ['cell_2', 'cell_3']);
  await withoutLimits(own);
  const small = await startPooler({ 'default_pool_size = 20': 'default_pool_size = 3' });
  const nodes = await Promise.all(
    [1, 2].map(() => startProcess({ ...own, serviceUrl: small.through(own.serviceUrl) }, {})),
  );
  const [node] = nodes as [ServiceProcess];
  const session = await own.session();
  const of = async (cell: string) => {
    await session.query(`set search_path = ${cell}, public`);
    return {
      sql: async <Row>(text: string, values: unknown[] = []) =>
        (await session.query(text, values)).rows as Row[],
    };
  };
  const loads: { readonly cell: string; readonly load: Load }[] = [];
  try {
    for (const [i, cell] of ['cell_1', 'cell_2', 'cell_3', 'cell_2'].entries()) {
      const shop = await openShop(await of(cell), 4, cell);
      loads.push({ cell, load: new Load((nodes[i % 2] ?? node).api, shop, 4) });
    }
    await Promise.all(loads.map(({ load }) => load.more(100)));
    await Promise.all(loads.map(({ load }) => load.stop()));
    for (const { cell, load } of loads) await load.expectWhole(await of(cell), node.api);
    expect(await verifyLedger(own.serviceUrl)).toMatchObject({ ok: true });
    for (const { log } of nodes) expect(log()).not.toMatch(/42P05|26000|42P01/);
  } finally {
    await Promise.all(loads.map(({ load }) => load.stop()));
    await Promise.all(nodes.map((one) => one.end()));
    await small.stop();
    await own.drop();
  }
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'its end by %s under load is 503 at most',
  async (signal) => {
    const own = await startPooler();
    const node = await serve((url) => own.through(url));
    const shop = await openShop(db);
    const load = new Load(node.api, shop);
    try {
      for (let round = 0; round < 5; round += 1) {
        await load.more(40);
        await own.restart(signal);
      }
      await load.more(40);
      await load.stop();
      await expectWhole(load, node);
    } finally {
      await load.stop();
      await node.end();
      await own.stop();
    }
  },
);

test.each(['away', 'silent'] as const)(
  'a server that was %s is used again within 4 s',
  async (how) => {
    let isAway = false;
    const network = new ToxicProxy(() => (isAway ? undefined : addressOf(db.serviceUrl)));
    await network.listen();
    const own = await poolerFor(
      [db.ownerUrl, db.serviceUrl].map((url) => throughPort(url, network.port)),
    );
    const node = await serve((url) => own.through(url));
    const load = new Load(node.api, await openShop(db));
    try {
      await load.more(20);
      if (how === 'away') isAway = true;
      else network.toxic = { kind: 'blackhole' };
      network.reset();
      await expect.poll(() => load.statuses.get(503) ?? 0).toBeGreaterThan(20);
      isAway = false;
      network.toxic = undefined;
      const backAt = performance.now();
      const known = load.sent.length;
      await load.more(5);
      expect((load.sent[known]?.at ?? Number.POSITIVE_INFINITY) - backAt).toBeLessThan(4_000);
      await load.stop();
      await expectWhole(load, node);
    } finally {
      await load.stop();
      await node.end();
      await own.stop();
      await network.close();
    }
  },
);

test('in session mode statements keep their names; the day it changes is 503 at most', async () => {
  const session = { 'pool_mode = transaction': 'pool_mode = session', 'size = 20': 'size = 100' };
  const own = await startPooler(session);
  const nodes = await Promise.all([
    serve((url) => own.through(url)),
    serve((url) => own.through(url)),
  ]);
  const [node] = nodes;
  const shop = await openShop(db);
  let load: Load | undefined;
  try {
    await expectOnce(nodes.map(({ api }) => api));
    expect(node.log()).toContain('behind a pooler: each transaction begins with its own settings');
    load = new Load(node.api, shop);
    await load.more(40);
    await own.restart('SIGTERM', {});
    await load.more(100);
    await load.stop();
    expect(node.log()).toContain('the pooler lost a statement');
    expect(node.log().split('the pooler lost a statement')).toHaveLength(2);
    await expectWhole(load, node);
  } finally {
    await load?.stop();
    await Promise.all(nodes.map((one) => one.end()));
    await own.stop();
  }
});

test('one that comes before a running service is noticed, and is 503 at most', async () => {
  const detour = await Detour.to(db.serviceUrl);
  const node = await serve((url) => detour.through(url));
  const shop = await openShop(db);
  const load = new Load(node.api, shop);
  try {
    await load.more(40);
    expect(node.log()).not.toContain('pooler');
    detour.turnTo(pooler.through(db.serviceUrl));
    await load.more(100);
    await load.stop();
    expect(node.log().split('a pooler has come')).toHaveLength(2);
    await expectWhole(load, node);
  } finally {
    await load.stop();
    await node.end();
    detour.close();
  }
});
