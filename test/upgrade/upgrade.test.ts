// A database of each earlier version, with what that version wrote: brought up to date by the real
// code, it says what it said, and every key is bound as it was. What the earlier versions bound and
// answered was recorded from them (test/upgrade/kept/), and is frozen.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { migrate } from '../../src/database/migrate.ts';
import { readMigrations } from '../../src/database/migrations.ts';
import type { Api } from '../kit/api.ts';
import { startNode } from '../kit/environment.ts';
import { Given } from '../kit/given.ts';
import { withDatabase } from '../kit/postgres.ts';
import { type Exchange, keptVersions, readKept, withoutRequest } from './kept.ts';
import { commonColumns, contentsOf, longest, watchLocks } from './look.ts';
import { applyUpTo, bulk, fill, idOf, type Size } from './past.ts';

const program = fileURLToPath(new URL('../../bin/tallybook.js', import.meta.url));

/** Beside what was recorded. */
const size: Size = { levels: 50, depth: 10 };

let admin: pg.Client;
/** To a database as a new one is. */
let present: pg.Client;
const made: string[] = [];
const clients: pg.Client[] = [];

beforeAll(async () => {
  admin = await connected(inject('ownerUrl'));
  present = (await databaseAt((await readMigrations()).length)).client;
});
afterAll(async () => {
  await Promise.all(clients.filter((client) => client !== admin).map((client) => client.end()));
  for (const name of made) await admin.query(`drop database ${name} with (force)`);
  await admin.end();
});

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

async function databaseAt(version: number) {
  const name = `past_${randomBytes(6).toString('hex')}`;
  made.push(name);
  await admin.query(`create database ${name}`);
  const owner = withDatabase(inject('ownerUrl'), name);
  const client = await connected(owner);
  await applyUpTo(client, version);
  const sql = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
    (await client.query<Row>(text, values)).rows;
  const given = new Given({ sql });
  return { owner, service: withDatabase(inject('serviceUrl'), name), client, given };
}

test('each earlier version has its record', async () => {
  const earlier = (await readMigrations()).slice(0, -1).map(({ number }) => number);
  expect(keptVersions()).toEqual(earlier);
});

describe.each(keptVersions())('a database of version %i', (version) => {
  const { kept, rows } = readKept(version);
  const total = size.levels * size.depth;
  let past: Awaited<ReturnType<typeof databaseAt>>;
  let node: Awaited<ReturnType<typeof startNode>> | undefined;
  let api: Api;

  beforeAll(async () => {
    past = await databaseAt(version);
    const { client } = past;
    await client.query(`set session_replication_role = replica; ${rows}`);
    await client.query('set session_replication_role = origin');
    await fill(client, size);
    // Or an autovacuum would begin now, and be waited for.
    await client.query('vacuum analyze');
  }, 180_000);
  afterAll(() => node?.stop());

  test('is brought up to date, every row as it was, locked for less than a second', async () => {
    const { owner, service, client } = past;
    const columns = await commonColumns(client, present);
    const before = await contentsOf(client, columns);
    expect(Number(before.inventory_movements?.rows)).toBeGreaterThan(total);
    let took = 0;
    const locks = await watchLocks(owner, async () => {
      const started = performance.now();
      await migrate({ owner, service });
      took = performance.now() - started;
    });
    expect(await contentsOf(client, columns)).toEqual(before);
    const { what, ms } = longest(locks);
    console.log(
      `version ${version}, ${before.inventory_movements?.rows} movements: brought up to date in ` +
        `${Math.round(took)} ms; longest lock ${what}, ${ms} ms`,
    );
    expect(ms).toBeLessThan(1_000);
  });

  test('replays every key, and refuses it with another body', async () => {
    node = await startNode(past.service);
    api = node.api.as(kept.token.join(''));
    for (const exchange of kept.exchanges) {
      const { name, status, answer } = exchange;
      for (const body of [exchange.body, exchange.again]) {
        const replay = await send(exchange, body);
        expect(replay.status, name).toBe(status);
        expect(withoutRequest(replay.body), name).toMatchObject(answer);
        expect(replay.headers.get('idempotent-replayed'), name).toBe('true');
      }
      const other = await send(exchange, exchange.changed);
      expect([name, other.status, other.code]).toEqual([name, 409, 'idempotency_key_reused']);
    }
  });

  test('lists what it listed', async () => {
    for (const { path, data } of kept.lists) {
      expect((await api.get(path)).body.data, path).toMatchObject(data);
    }
  });

  test('goes on with ledgers where they stood', async () => {
    const { token } = await past.given.credential(bulk.merchant);
    const caller = api.as(token);
    const [page, last] = [`location_id=${bulk.location}&limit=200`, size.levels];
    const { body: levels } = await caller.get(`/inventory/levels?${page}`);
    const quantities = levels.data.map((level: { quantity: string }) => level.quantity);
    expect(quantities).toEqual(Array(Math.min(200, last)).fill(String(size.depth)));
    const { body: movements } = await caller.get(`/inventory/movements?${page}`);
    expect(movements.data[0]).toMatchObject({ id: idOf('imv', total), sequence: size.depth });
    const next = await caller.post('/inventory/adjustments', {
      product_id: idOf('prod', last),
      location_id: bulk.location,
      target_quantity: '7',
      reason: 'stock_count',
    });
    expect(next.body.data).toMatchObject({
      quantity_before: String(size.depth),
      quantity_after: '7',
      sequence: size.depth + 1,
    });
  });

  test('has a sound ledger', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'verify', '--json', '--database-url', past.service],
      { env: { PATH: process.env.PATH } },
    );
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, differences: [] });
    expect(JSON.parse(stdout).movements).toBeGreaterThan(total);
  });

  function send({ method, path, key, ifMatch }: Exchange, body: string) {
    const headers = ifMatch === null ? {} : { 'if-match': ifMatch };
    return api.send(method, path, body, { key, headers });
  }
});
