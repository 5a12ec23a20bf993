// Brings a schema up to date: plain SQL files, forward only, one statement a step. Each step is one
// transaction that also records it, so a killed migration goes on at the next start. A locked row
// lets one process do a step at a time; unlike a lock of the session, it works behind a pooler.

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { firstCell } from '../core/cells.ts';
import type { Statement } from '../core/statement.ts';
import { findCells } from './cells.ts';
import {
  goInto,
  hideCells,
  isOnCitus,
  spreadFunctions,
  spreadRights,
  spreadSettings,
  spreadTables,
  spreadTransaction,
} from './citus.ts';
import { Client } from './client.ts';
import { codeOf, patienceOfWork } from './find.ts';
import { type Migration, readMigrations } from './migrations.ts';
import { alone, ensureServiceRole, grantLikeFirst, grantRights } from './role.ts';

export interface MigrateOptions {
  /** The URLs of the schema's owner and of the service. */
  readonly owner: string;
  readonly service: string;
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
  return asOwner(options.owner, async (owner) => {
    const { client, begin } = owner;
    const settings = owner.isSpread ? spreadSettings : {};
    const serviceIsOwner = await ensureServiceRole(client, options.service, begin, settings);
    const applied = await applyMissing(owner, migrations, migrations, options);
    if (!serviceIsOwner) {
      await grantRights(client, options.service, begin, owner.isSpread ? spreadRights : '');
    }
    return { applied, version: migrations.length, serviceIsOwner };
  });
}

/**
 * Applies what is missing up to this version, for the rows of a backup of that version. No service
 * uses the schema yet, so none gets its rights.
 */
export async function migrateThrough(owner: string, version: number): Promise<void> {
  const migrations = await readMigrations();
  await asOwner(owner, async (as) => {
    await applyMissing(as, migrations.slice(0, version), migrations, {});
  });
}

/**
 * Adds a cell of the present version, with the rights that the service's role has in the first one.
 * All of it, or nothing.
 * @param auditLine committed with it.
 * @throws Error when there is one of this name, or the schema is not up to date.
 */
export async function addCell(owner: string, cell: string, auditLine: Statement): Promise<void> {
  const migrations = await readMigrations();
  await asOwner(owner, ({ client, begin }) =>
    givingWay(cell, {}, () =>
      alone(client, begin, async () => {
        const { rows } = await client.query<{ version: number; in_progress: string }>(
          `select max(number) as version, max(name) filter (where number = 0) as in_progress
           from schema_migrations`,
        );
        const [{ version, in_progress } = { version: 0, in_progress: '' }] = rows;
        requireKnown(version, in_progress, migrations);
        if (version < migrations.length || in_progress !== '') {
          throw new Error('the schema is not up to date: run "tallybook migrate" first');
        }
        if ((await findCells(client)).includes(cell)) throw new Error(`there is ${cell} already`);
        await client.query(`set local lock_timeout = ${tableWait}`);
        await makeCell(client, cell, version);
        await grantLikeFirst(client, cell);
        await client.query(auditLine.text, [...auditLine.values]);
      }),
    ),
  );
}

/** Makes a cell as the migrations up to a version leave it, in a transaction of the owner's. */
export async function makeCell(client: pg.Client, cell: string, version: number): Promise<void> {
  const migrations = await readMigrations();
  await client.query(`create schema ${cell}`);
  await goInto(client, cell);
  for (const { cellSteps } of migrations.slice(0, version)) {
    for (const step of cellSteps) await client.query(step);
  }
  await client.query('insert into cells (name, version) values ($1, $2)', [cell, version]);
  await client.query('set local search_path = public, pg_temp');
}

/** A connection of the schema's owner, and what its transactions begin with. */
interface Owner {
  readonly client: pg.Client;
  readonly begin: string;
  readonly isSpread: boolean;
}

async function asOwner<Result>(
  owner: string,
  work: (as: Owner) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    connectionString: owner,
    application_name: 'tallybook',
    ...patienceOfWork,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const isSpread = await createHistory(client);
    return await work({ client, isSpread, begin: isSpread ? begin + spreadTransaction : begin });
  } finally {
    await client.end();
  }
}

/** The owner may be the service's role, with its settings, and a pooler may be before it. */
const begin = `begin read write;
  set local timezone = 'UTC'; set local lock_timeout = '60s'; set local statement_timeout = 0;
  set local search_path = public, pg_temp`;

/**
 * What migrations themselves need. Row 0 is the lock. It also names the migration in progress and
 * counts its steps so far.
 * @returns whether the database is on Citus.
 */
async function createHistory(client: pg.Client): Promise<boolean> {
  try {
    await client.query(begin);
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
      create table if not exists cells (
        name text collate "C" primary key,
        version integer not null,
        created_at timestamptz not null default now()
      );
      insert into cells (name, version) values ('${firstCell}', 0) on conflict do nothing`);
    const { rows } = await client.query<{ has_cell: boolean; is_spread: boolean }>(
      `select ${isOnCitus} as is_spread,
         exists (select from pg_namespace where nspname = $1) as has_cell`,
      [firstCell],
    );
    const [{ has_cell, is_spread } = { has_cell: false, is_spread: false }] = rows;
    if (is_spread) {
      await spreadFunctions(client);
      await spreadTables(client);
    }
    if (!has_cell) await client.query(`create schema ${firstCell}`);
    await client.query('commit');
    return is_spread;
  } catch (error) {
    await client.query('rollback');
    // "if not exists" is not safe against another process at the same instant; the second look is.
    if (!['23505', '42P07', '42710', '42P06'].includes(codeOf(error))) throw error;
    return createHistory(client);
  }
}

async function applyMissing(
  owner: Owner,
  wanted: readonly Migration[],
  known: readonly Migration[],
  options: Pick<MigrateOptions, 'auditLine' | 'onBlocked'>,
): Promise<string[]> {
  const applied: string[] = [];
  for (const migration of wanted) {
    let step: Step;
    do {
      step = await givingWay(migration.name, options, () =>
        applyStep(owner, migration, known, options),
      );
    } while (step === 'more');
    if (step === 'last') applied.push(migration.name);
  }
  return applied;
}

/** Nothing of a step is there until it commits, so it can be tried again. */
async function givingWay<T>(
  name: string,
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
  { client, begin, isSpread }: Owner,
  migration: Migration,
  known: readonly Migration[],
  { auditLine }: Pick<MigrateOptions, 'auditLine'>,
): Promise<Step> {
  const { number, name, checksum } = migration;
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
    // No cell is added meanwhile, so the steps that were counted are the first of these.
    const steps = stepsIn(migration, await findCells(client));
    const isLast = done + 1 === steps.length;
    // The log is in order: the last step flushes those before it as well.
    const later = isLast ? '' : '; set local synchronous_commit = off';
    await client.query(`set local lock_timeout = ${tableWait}${later}`);
    if (isSpread && done === 0) await hideCells(client);
    await perform(client, migration, steps[done]);
    if (isSpread) await spreadTables(client);
    await client.query(
      'update schema_migrations set name = $1, checksum = $2, steps = $3 where number = 0',
      isLast ? ['', '', 0] : [name, checksum, done + 1],
    );
    if (isLast) {
      await client.query(
        'insert into schema_migrations (number, name, checksum, steps) values ($1, $2, $3, $4)',
        [number, name, checksum, steps.length],
      );
      // Also where it did nothing.
      await client.query('update cells set version = $1', [number]);
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

/** A step in one place: the global tables, or a cell. */
interface PlacedStep {
  readonly sql: string;
  readonly cell?: string;
  /** The cell is of this version afterwards. */
  readonly isLastOfCell?: boolean;
}

/** One cell after the other. */
function stepsIn({ steps, cellSteps }: Migration, cells: readonly string[]): PlacedStep[] {
  const last = cellSteps.length - 1;
  return [
    ...steps.map((sql) => ({ sql })),
    ...cells.flatMap((cell) =>
      cellSteps.map((sql, index) => ({ sql, cell, isLastOfCell: index === last })),
    ),
  ];
}

async function perform(
  client: pg.Client,
  { number }: Migration,
  { sql, cell, isLastOfCell }: PlacedStep = { sql: '' },
): Promise<void> {
  if (cell !== undefined) await goInto(client, cell);
  await client.query(sql);
  if (isLastOfCell === true) {
    await client.query('update cells set version = $1 where name = $2', [number, cell]);
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
