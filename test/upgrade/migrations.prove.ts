// What each migration does to a schema, and that it goes on where it was when its process was
// killed, gives way to those who hold its tables, and keeps to its schema.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { schemaSnapshot } from '../../scripts/schema.ts';
import { migrate, migrateThrough } from '../../src/database/migrate.ts';
import { readMigrations } from '../../src/database/migrations.ts';
import { assertSafe } from '../../src/database/safety.ts';
import { withDatabase } from '../kit/postgres.ts';
import { DatabaseProxy } from '../kit/proxy.ts';
import { withClient } from '../kit/sql.ts';
import { changeOf, partsOf } from './look.ts';
import { applyUpTo } from './past.ts';

const migrationCode = new URL('../../dist/database/migrate.js', import.meta.url);

let admin: pg.Client;
/** The schema after each migration, from version 0 on, and a database of each to copy. */
const snapshots: string[] = [];
const parts: string[][] = [];
const templates: string[] = [];
const made: string[] = [];

beforeAll(async () => {
  admin = new pg.Client({ connectionString: inject('ownerUrl') });
  await admin.connect();
  const migrations = await readMigrations();
  for (let version = 0; version <= migrations.length; version += 1) {
    const name = newName();
    await admin.query(`create database ${name}`);
    const url = ownerOf(name);
    await withClient(url, async (client) => {
      await applyUpTo(client, version);
      parts.push(await partsOf(client));
    });
    snapshots.push(await schemaSnapshot(url));
    templates.push(name);
  }
});
afterAll(async () => {
  for (const name of made) await admin.query(`drop database if exists ${name} with (force)`);
  await admin.end();
}, 300_000);

/**
 * What a migration changes about tables that were there: nothing goes that is not named here. What
 * nodes of the version before still use must not be among it.
 */
const changes: Readonly<Record<string, object>> = {};

describe('a migration', () => {
  test('changes of older tables what is listed here, and nothing else', async () => {
    const found: Record<string, object> = {};
    for (const { number, name } of (await readMigrations()).slice(1)) {
      found[name] = changeOf(parts[number - 1] ?? [], parts[number] ?? []);
    }
    expect(found).toEqual(changes);
  });
});

describe.each([
  { cells: 1, parts: [0.2, 0.5, 0.8] },
  { cells: 3, parts: [0.3, 0.6, 0.9] },
])('a migration of $cells cells', ({ cells, parts }) => {
  test('continues after a kill where it was: each step is whole or absent', async () => {
    expect(existsSync(migrationCode), 'run "npm run build" first').toBe(true);
    const steps = (await readMigrations()).map(
      (one) => one.steps.length + cells * one.cellSteps.length,
    );
    const all = steps.reduce((sum, one) => sum + one, 0);
    const { messages, steps: ends } = await runKilledAt(undefined, cells);
    expect(ends).toBe(all);
    const done = new Set<number>();
    const versions = new Set<string>();
    // Within each of the exchanges that a step has, and far apart.
    for (const part of parts) {
      for (const next of [0, 3]) {
        const killed = await runKilledAt(Math.floor(messages * part) + next, cells);
        done.add(killed.steps);
        versions.add(killed.versions.join(' '));
      }
    }
    expect([...done].filter((one) => one > 0 && one < all).length).toBeGreaterThan(2);
    // Some when the first cell was whole, and the last was not.
    if (cells > 1) expect(versions.size).toBeGreaterThan(1);
  }, 300_000);
});

// In a database of an operator's the named ones sort as it does by default, and start-up looks at
// the version of that; the private server's default never changes
// (src/database/open-directory.prove.ts).
test('an index sorts bytes, but for external IDs', async () => {
  const found = await withClient(ownerOf(templates.at(-1) ?? ''), async (client) => {
    await client.query('set search_path = cell_1, public');
    const { rows } = await client.query<{ found: string }>(
      `select i.indexrelid::regclass::text as found from pg_index i
       cross join lateral unnest(i.indcollation) as part (oid)
       join pg_collation c on c.oid = part.oid
       where i.indrelid in (select oid from pg_class
         where relnamespace = any (current_schemas(false)::text[]::regnamespace[]))
         and c.collname <> 'C' order by 1`,
    );
    return rows.map((row) => row.found);
  });
  expect(found).toEqual(['customers_external_id', 'locations_external_id', 'products_external_id']);
});

describe('a migration whose tables others hold', () => {
  test('gives way to whoever works, and is applied once they let go', async () => {
    const { owner, service } = await copyOf(0);
    const [foundation] = await readMigrations();
    if (foundation === undefined) throw new Error('there is no migration');
    const { name, checksum, steps, cellSteps } = foundation;
    const next = cellSteps.findIndex((step) =>
      /create trigger \w+ .*on inventory_movements/s.test(step),
    );
    await withClient(owner, async (client) => {
      await client.query('set search_path = public, pg_temp');
      for (const step of steps) await client.query(step);
      await client.query('set search_path = cell_1, public, pg_temp');
      for (const step of cellSteps.slice(0, next)) await client.query(step);
      const progress = 'update schema_migrations set name = $1, checksum = $2, steps = $3';
      await client.query(`${progress} where number = 0`, [
        ...[name, checksum, steps.length + next],
      ]);
    });
    const write = 'lock table cell_1.inventory_movements in row exclusive mode';
    await withClient(owner, async (holder) => {
      await holder.query(`begin; ${write}`);
      let pauses = 0;
      const onBlocked = () => {
        pauses += 1;
      };
      const migrating = migrate({ owner, service, onBlocked });
      await withClient(owner, async (worker) => {
        // Behind a migration that did not give way it would wait for as long as the holder works.
        await worker.query(`set lock_timeout = '10s'`);
        while (pauses < 1) await worker.query(`begin; ${write}; commit`);
      });
      await holder.query('commit');
      expect((await migrating).applied).toEqual([name]);
    });
    expect(await schemaSnapshot(owner)).toBe(snapshots[1]);
  });
});

interface Killed {
  /** To the database. */
  readonly messages: number;
  /** Those that were applied by then. */
  readonly steps: number;
  /** Of the cells. */
  readonly versions: readonly number[];
}

/** Migrates an empty database in a process that is killed at its nth message to the database. */
async function runKilledAt(nth: number | undefined, cells: number): Promise<Killed> {
  const name = newName();
  await admin.query(`create database ${name}`);
  const owner = ownerOf(name);
  await makeEmptyCells(owner, cells);
  const service = withDatabase(inject('serviceUrl'), name);
  const proxy = new DatabaseProxy(owner);
  let child: ChildProcess | undefined;
  let messages = 0;
  proxy.toDatabase = (bytes) => {
    messages += 1;
    // The database gets the message, and nobody is there to receive the answer.
    if (messages === nth) child?.kill('SIGKILL');
    return bytes;
  };
  const urls = JSON.stringify({ owner: await proxy.listen(), service });
  const code = `import { migrate } from ${JSON.stringify(migrationCode.href)};
    await migrate(${urls});`;
  child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
  await once(child, 'exit');
  await proxy.close();
  // Its backend may still be at the statement that it was sent.
  const isGone = async () => {
    const { rowCount } = await admin.query(
      'select from pg_stat_activity where datname = $1 limit 1',
      [name],
    );
    return rowCount === 0;
  };
  await expect.poll(isGone, { interval: 5 }).toBe(true);
  const [steps, versions] = [await stepsOf(owner), await versionsOf(owner)];
  const finished = await migrate({ owner, service });
  for (const cell of cellNames(cells)) {
    const found = (await schemaSnapshot(owner, [cell])).replaceAll(cell, 'cell_1');
    expect(found, `${cell}, killed at message ${nth}`).toBe(snapshots.at(-1));
  }
  expect(finished.version).toBe(snapshots.length - 1);
  expect(await versionsOf(owner)).toEqual(Array(cells).fill(finished.version));
  await assertSafe(service, finished.version);
  await admin.query(`drop database ${name} with (force)`);
  return { messages, steps, versions };
}

const cellNames = (cells: number) => Array.from({ length: cells }, (_, n) => `cell_${n + 1}`);

/** Of version 0: the first migration finds them, as later ones find those that were added. */
async function makeEmptyCells(owner: string, cells: number): Promise<void> {
  await migrateThrough(owner, 0);
  await withClient(owner, async (client) => {
    for (const cell of cellNames(cells).slice(1)) {
      await client.query(`create schema ${cell};
        insert into public.cells (name, version) values ('${cell}', 0)`);
    }
  });
}

function versionsOf(owner: string): Promise<number[]> {
  return withClient(owner, async (client) => {
    const { rows } = await client.query('select version from public.cells order by name');
    return rows.map(({ version }) => version);
  });
}

function stepsOf(owner: string): Promise<number> {
  return withClient(owner, async (client) => {
    const { rows: table } = await client.query("select to_regclass('schema_migrations') as there");
    if (table[0]?.there === null) return 0;
    const { rows } = await client.query<{ steps: number }>(
      'select coalesce(sum(steps), 0)::int as steps from schema_migrations',
    );
    return rows[0]?.steps ?? 0;
  });
}

async function copyOf(version: number): Promise<{ owner: string; service: string }> {
  const name = newName();
  await admin.query(`create database ${name} template ${templates[version]}`);
  return { owner: ownerOf(name), service: withDatabase(inject('serviceUrl'), name) };
}

function newName(): string {
  const name = `migrations_${randomBytes(6).toString('hex')}`;
  made.push(name);
  return name;
}

function ownerOf(name: string): string {
  return withDatabase(inject('ownerUrl'), name);
}
