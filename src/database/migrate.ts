// Brings the schema up to date: plain SQL files, forward only, one transaction each, guarded by a
// row as the lock, so that it works behind a pooler and two starting processes do no harm. Then it
// gives the service's role its rights and its time-outs.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { ensureServiceRole } from './role.ts';

const migrationsDirectory = new URL('../../db/migrations/', import.meta.url);

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}

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
export async function migrate(urls: { owner: string; service: string }): Promise<MigrateResult> {
  const migrations = await readMigrations();
  const client = new pg.Client({ connectionString: urls.owner, application_name: 'tallybook' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // The owner may be the service's role as well, with its settings.
    await client.query(`set timezone = 'UTC'; set lock_timeout = '60s'; set statement_timeout = 0;
      set default_transaction_read_only = off`);
    await createHistory(client);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (await applyOnce(client, migration, migrations.length)) applied.push(migration.name);
    }
    const serviceIsOwner = await ensureServiceRole(client, urls.service);
    return { applied, version: migrations.length, serviceIsOwner };
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

async function applyOnce(client: pg.Client, migration: Migration, known: number): Promise<boolean> {
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
      await client.query(migration.sql);
      await client.query(
        'insert into schema_migrations (number, name, checksum) values ($1, $2, $3)',
        [migration.number, migration.name, migration.checksum],
      );
    }
    await client.query('commit');
    return row === undefined;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
