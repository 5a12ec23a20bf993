// Brings the schema up to date: plain SQL files, forward only, one transaction each, guarded by a
// row as the lock, so that it works behind a pooler and two starting processes do no harm. Before
// them the service's role gets its settings, after them its rights.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Statement } from '../core/statement.ts';
import { patienceOfWork } from './reach.ts';
import { ensureServiceRole, grantRights } from './role.ts';

const migrationsDirectory = new URL('../../db/migrations/', import.meta.url);

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}

export interface MigrateOptions {
  /** The URLs of the schema's owner and of the service. */
  readonly owner: string;
  readonly service: string;
  /** What goes into the audit trail in the transaction that applies a migration. */
  readonly deed?: ((migration: string) => Statement) | undefined;
  /** Told each time that a migration gives way to those who hold its tables. */
  readonly onBlocked?: (migration: string, pause: number) => void;
}

/** The trail begins with the migration that makes its tables. */
export const firstWithTrail = 2;

/**
 * Whoever comes for a table queues behind the migration that waits for it: a backup or a `verify`
 * would stop all service for as long as it runs. So a migration waits for less than a write does
 * (2 s), gives way, and tries again. For longer than deadlock_timeout (1 s), though: only then does
 * PostgreSQL end an autovacuum that is in the way, which may run for hours.
 */
const tableWait = 1_500;
const firstPause = 1_000;
const longestPause = 10_000;
const patience = 15 * 60_000;

export interface MigrateResult {
  readonly applied: readonly string[];
  readonly version: number;
  /** The service connects as the schema's owner: only triggers guard the ledger then. */
  readonly serviceIsOwner: boolean;
}

/**
 * Applies what is missing, as the schema's owner.
 * @throws Error naming the remedy when the database is newer than this program, or a migration
 *   that was applied has changed since.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const migrations = await readMigrations();
  return asOwner(options.owner, async (client) => {
    const serviceIsOwner = await ensureServiceRole(client, options.service);
    const applied: string[] = [];
    for (const migration of migrations) {
      const deed = migration.number < firstWithTrail ? undefined : options.deed?.(migration.name);
      const isNews = await givingWay(migration, options, () =>
        applyOnce(client, migration, migrations.length, deed),
      );
      if (isNews) applied.push(migration.name);
    }
    if (!serviceIsOwner) await grantRights(client, options.service);
    return { applied, version: migrations.length, serviceIsOwner };
  });
}

/**
 * Applies what is missing up to this version, for the rows of a backup of that version. There is
 * no service yet, so none gets its rights.
 */
export async function migrateThrough(owner: string, version: number): Promise<void> {
  const migrations = await readMigrations();
  await asOwner(owner, async (client) => {
    for (const migration of migrations.slice(0, version)) {
      await applyOnce(client, migration, migrations.length, undefined);
    }
  });
}

async function asOwner<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tallybook',
    ...patienceOfWork,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // The owner may be the service's role as well, with its settings.
    await client.query(`set timezone = 'UTC'; set lock_timeout = '60s'; set statement_timeout = 0;
      set search_path = public; set default_transaction_read_only = off`);
    await createHistory(client);
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(migrationsDirectory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(name.slice(0, 4));
      if (number !== index + 1) throw new Error(`migration ${name} leaves a gap in the numbers`);
      const sql = await readFile(new URL(name, migrationsDirectory), 'utf8');
      return { number, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function createHistory(client: pg.Client): Promise<void> {
  try {
    await client.query(`
      create table if not exists schema_migrations (
        number integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      );
      insert into schema_migrations (number, name, checksum) values (0, 'lock', '')
        on conflict do nothing`);
  } catch (error) {
    // "if not exists" is not safe against a twin at the same instant; the second look is.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== '23505' && code !== '42P07' && code !== '42710') throw error;
    await createHistory(client);
  }
}

/** Nothing of a migration is there until it commits, so that it can be tried again. */
async function givingWay<T>(
  { name }: Migration,
  { onBlocked }: MigrateOptions,
  work: () => Promise<T>,
): Promise<T> {
  const giveUpAt = performance.now() + patience;
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      return await work();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      // lock_not_available, deadlock_detected
      if (code !== '55P03' && code !== '40P01') throw error;
      if (performance.now() + pause > giveUpAt) {
        throw new Error(
          `${name} cannot be applied, for others hold its tables: end long transactions (a ` +
            'backup, a "tallybook verify") and start again',
          { cause: error },
        );
      }
    }
    onBlocked?.(name, pause);
    await sleep(pause * (0.5 + Math.random()));
  }
}

async function applyOnce(
  client: pg.Client,
  migration: Migration,
  known: number,
  deed: Statement | undefined,
): Promise<boolean> {
  await client.query('begin');
  try {
    await client.query('select from schema_migrations where number = 0 for update');
    const { rows } = await client.query<{ number: number; checksum: string }>(
      'select number, checksum from schema_migrations where number > 0 order by number',
    );
    if (rows.length > known) {
      throw new Error(
        `the database is at version ${rows.length}, this program knows ${known}: run a newer one`,
      );
    }
    const row = rows.find((applied) => applied.number === migration.number);
    if (row !== undefined && row.checksum !== migration.checksum) {
      throw new Error(`${migration.name} was applied with another content; restore the file`);
    }
    if (row === undefined) {
      await client.query(`set local lock_timeout = ${tableWait}`);
      await client.query(migration.sql);
      await client.query(
        'insert into schema_migrations (number, name, checksum) values ($1, $2, $3)',
        [migration.number, migration.name, migration.checksum],
      );
      if (deed !== undefined) await client.query(deed.text, [...deed.values]);
    }
    await client.query('commit');
    return row === undefined;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
