// Brings a schema up to date: plain SQL files, forward only, one statement a step. Each step is one
// transaction that also records it, so a killed migration goes on at the next start. A locked row
// lets one process do a step at a time; unlike a lock of the session, it works behind a pooler.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Statement } from '../core/statement.ts';
import { Client } from './client.ts';
import { codeOf, patienceOfWork } from './find.ts';
import { type Migration, readMigrations } from './migrations.ts';
import { ensureServiceRole, grantRights } from './role.ts';

export interface MigrateOptions {
  /** The URLs of the schema's owner and of the service. */
  readonly owner: string;
  readonly service: string;
  /** The schema to bring up to date, made if it is not there. */
  readonly schema?: string;
  /** The line of the audit trail that the last step of a migration writes. */
  readonly auditLine?: ((migration: string) => Statement) | undefined;
  /** Called each time that a step gives way to others who hold its tables. */
  readonly onBlocked?: (migration: string, pause: number) => void;
}

export interface MigrateResult {
  /** The migrations that this call finished. */
  readonly applied: readonly string[];
  readonly version: number;
  /** The service connects as the schema's owner: only triggers guard the ledger then. */
  readonly serviceIsOwner: boolean;
}

/**
 * Everybody who needs a table waits behind the step that waits for it: a backup or a `verify` would
 * stop all service for as long as it runs. So a step waits for less than a write does (2 s), gives
 * way, and tries again. But it waits for longer than deadlock_timeout (1 s), because only then does
 * PostgreSQL end an autovacuum that holds the table, which may run for hours.
 */
const tableWait = 1_500;
const firstPause = 1_000;
const longestPause = 10_000;
const patience = 15 * 60_000;

/**
 * Applies what is missing, as the schema's owner. Before, the service's role gets its settings,
 * and afterwards its rights.
 * @throws Error naming the remedy when the database is newer than this program, or a migration
 *   that was applied has changed since.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const migrations = await readMigrations();
  return asOwner(options, async (client, begin) => {
    const serviceIsOwner = await ensureServiceRole(client, options.service, begin);
    const applied = await applyMissing(client, migrations, migrations, { ...options, begin });
    if (!serviceIsOwner) await grantRights(client, options.service, begin);
    return { applied, version: migrations.length, serviceIsOwner };
  });
}

/**
 * Applies what is missing up to this version, for the rows of a backup of that version. No service
 * uses the schema yet, so none gets its rights.
 */
export async function migrateThrough(owner: string, version: number): Promise<void> {
  const migrations = await readMigrations();
  await asOwner({ owner }, async (client, begin) => {
    await applyMissing(client, migrations.slice(0, version), migrations, { begin });
  });
}

/** @param work given what each of its transactions begins with. */
async function asOwner<Result>(
  { owner, schema = 'public' }: Pick<MigrateOptions, 'owner' | 'schema'>,
  work: (client: pg.Client, begin: string) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    connectionString: owner,
    application_name: 'tallybook',
    ...patienceOfWork,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const begin = beginIn(schema);
    await createHistory(client, schema, begin);
    return await work(client, begin);
  } finally {
    await client.end();
  }
}

/** The owner may be the service's role, with its settings, and a pooler may be before it. */
const beginIn = (schema: string) => `begin read write;
  set local timezone = 'UTC'; set local lock_timeout = '60s'; set local statement_timeout = 0;
  set local search_path = ${pg.escapeIdentifier(schema)}, pg_temp`;

/** Row 0 is the lock. It also names the migration in progress and counts its steps so far. */
async function createHistory(client: pg.Client, schema: string, begin: string): Promise<void> {
  try {
    await client.query(begin);
    if (schema !== 'public') {
      await client.query(`create schema if not exists ${pg.escapeIdentifier(schema)}`);
    }
    await client.query(`
      create table if not exists schema_migrations (
        number integer primary key,
        name text not null,
        checksum text not null,
        steps integer not null,
        applied_at timestamptz not null default now()
      );
      insert into schema_migrations (number, name, checksum, steps) values (0, '', '', 0)
        on conflict do nothing;
      commit`);
  } catch (error) {
    await client.query('rollback');
    // "if not exists" is not safe against another process at the same instant; the second look is.
    if (!['23505', '42P07', '42710', '42P06'].includes(codeOf(error))) throw error;
    await createHistory(client, schema, begin);
  }
}

async function applyMissing(
  client: pg.Client,
  wanted: readonly Migration[],
  known: readonly Migration[],
  options: Pick<MigrateOptions, 'auditLine' | 'onBlocked'> & { readonly begin: string },
): Promise<string[]> {
  const applied: string[] = [];
  for (const migration of wanted) {
    let step: Step;
    do {
      step = await givingWay(migration, options, () =>
        applyStep(client, migration, known, options),
      );
    } while (step === 'more');
    if (step === 'last') applied.push(migration.name);
  }
  return applied;
}

/** Nothing of a step is there until it commits, so it can be tried again. */
async function givingWay<T>(
  { name }: Migration,
  { onBlocked }: Pick<MigrateOptions, 'onBlocked'>,
  work: () => Promise<T>,
): Promise<T> {
  const giveUpAt = performance.now() + patience;
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      return await work();
    } catch (error) {
      // lock_not_available, deadlock_detected
      if (!['55P03', '40P01'].includes(codeOf(error))) throw error;
      if (performance.now() + pause > giveUpAt) {
        throw new Error(
          `${name} cannot be applied, because others hold its tables: end long transactions (a ` +
            'backup, a "tallybook verify") and start again',
          { cause: error },
        );
      }
    }
    onBlocked?.(name, pause);
    await sleep(pause * (0.5 + Math.random()));
  }
}

type Step = 'none' | 'more' | 'last';

/** Applies the next step of a migration, unless all of it is applied. */
async function applyStep(
  client: pg.Client,
  migration: Migration,
  known: readonly Migration[],
  { auditLine, begin }: Pick<MigrateOptions, 'auditLine'> & { readonly begin: string },
): Promise<Step> {
  const { number, name, checksum, steps } = migration;
  try {
    await client.query(`${begin}; select from schema_migrations where number = 0 for update`);
    const { rows } = await client.query<{ name: string; checksum: string; steps: number }>(
      'select name, checksum, steps from schema_migrations where number >= 0 order by number',
    );
    const [progress, ...applied] = rows;
    requireKnown(applied.length, progress?.name ?? '', known);
    const isApplied = applied.length >= number;
    const row = isApplied ? applied[number - 1] : progress;
    const done = row?.steps ?? 0;
    if (done > 0 && row?.checksum !== checksum) {
      throw new Error(`${name} was applied with another content; restore the file`);
    }
    if (isApplied) {
      await client.query('commit');
      return 'none';
    }
    const isLast = done + 1 === steps.length;
    // The log is in order: the last step flushes those before it as well.
    const later = isLast ? '' : '; set local synchronous_commit = off';
    await client.query(`set local lock_timeout = ${tableWait}${later}`);
    await client.query(steps[done] ?? '');
    await client.query(
      'update schema_migrations set name = $1, checksum = $2, steps = $3 where number = 0',
      isLast ? ['', '', 0] : [name, checksum, done + 1],
    );
    if (isLast) {
      await client.query(
        'insert into schema_migrations (number, name, checksum, steps) values ($1, $2, $3, $4)',
        [number, name, checksum, steps.length],
      );
      const line = auditLine?.(name);
      if (line !== undefined) await client.query(line.text, [...line.values]);
    }
    await client.query('commit');
    return isLast ? 'last' : 'more';
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** @throws Error when a newer program has applied a migration here, or a part of one. */
export function requireKnown(
  version: number,
  inProgress: string,
  known: readonly Migration[],
): void {
  const isKnown = inProgress === '' || known.some(({ name }) => name === inProgress);
  if (version <= known.length && isKnown) return;
  const found = isKnown ? version : version + 1;
  throw new Error(
    `the database is at version ${found}, this program knows ${known.length}: run a newer one`,
  );
}
