// Takes a backup: one snapshot of all tables, on one connection, while everyone goes on writing. It
// does not migrate: before an upgrade, a backup is of the schema as it still is.

import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { begin, commit, requireCommitted, type Statement } from '../../core/statement.ts';
import type { Found } from '../find.ts';
import { requireKnown } from '../migrate.ts';
import { readMigrations } from '../migrations.ts';
import {
  endOfTable,
  lineOf,
  type Manifest,
  newManifest,
  placed,
  type TableSum,
  type Trailer,
} from './format.ts';
import { beginLong, withSession } from './session.ts';
import { appliedMigrations, columnList, findTables, type Table, tableName } from './tables.ts';

/** Half the processor time of the usual 6, for a file that is a tenth larger. */
const compressionLevel = 3;

export interface BackupOptions {
  /** As a role that may read every table, such as the owner of the schema. */
  readonly url: string;
  /** The database as that role found it. */
  readonly found: Found;
  readonly programVersion: string;
  /** The line in the audit trail. It is committed first: no backup leaves without it. */
  readonly auditLine: Statement;
  readonly warn: (message: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface BackupReport {
  readonly created_at: string;
  readonly schema_version: number;
  readonly rows: number;
  /** Of what is in it; the restore of it names the same. */
  readonly sha256: string;
}

/**
 * Writes a whole backup. The destination is ended unless it is standard output.
 * @throws when it is not whole: what has been written by then is of no use.
 */
export async function backUp(options: BackupOptions, destination: Writable): Promise<BackupReport> {
  const { url, found, auditLine, signal } = options;
  await requireWhole(found);
  return withSession(url, signal, async (client) => {
    await record(client, auditLine);
    const { manifest, tables } = await beginSnapshot(client, options);
    const sums: { trailer?: Trailer } = {};
    await pipeline(
      archive(client, manifest, tables, sums),
      createGzip({ level: compressionLevel, chunkSize: 64 * 1024 }),
      destination,
      { end: destination !== process.stdout, ...(signal === undefined ? {} : { signal }) },
    );
    if (sums.trailer === undefined) throw new Error('the backup was not written to its end');
    return {
      created_at: manifest.created_at,
      schema_version: manifest.schema_version,
      rows: sums.trailer.tables.reduce((total, { rows }) => total + rows, 0),
      sha256: sums.trailer.sha256,
    };
  });
}

/** Of a newer schema this program does not know what to keep. */
async function requireWhole({ version, inProgress }: Found): Promise<void> {
  requireKnown(version, inProgress, await readMigrations());
  if (inProgress !== '') {
    throw new Error(`${inProgress} is applied only in part: run "tallybook migrate" first`);
  }
  if (version === 0) throw new Error('there is nothing to back up: the database is empty');
}

async function record(client: pg.Client, auditLine: Statement): Promise<void> {
  await beginLong(client, begin.text);
  await client.query(auditLine.text, [...auditLine.values]);
  requireCommitted(await client.query(commit.text));
}

/**
 * The tables are locked against migrations before the snapshot is taken, which is with the first
 * query and not with BEGIN: so rows, columns and the version of the schema are of one moment.
 */
async function beginSnapshot(
  client: pg.Client,
  { programVersion, warn }: BackupOptions,
): Promise<{ manifest: Manifest; tables: readonly Table[] }> {
  const before = await findTables(client);
  await beginLong(client, 'begin isolation level repeatable read read only');
  await client.query(`lock table ${before.kept.map(tableName).join(', ')} in access share mode`);
  const { rows } = await client.query<{ now: string }>(
    `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`,
  );
  const { kept, foreign } = await findTables(client);
  if (foreign.length > 0) {
    warn(`not part of Tallybook, and not in the backup: ${foreign.join(', ')}`);
  }
  const manifest = newManifest({
    program_version: programVersion,
    created_at: rows[0]?.now ?? '',
    migrations: await appliedMigrations(client),
    tables: kept.map(({ name, cell, columns }) => ({
      ...placed({ name, cell }),
      columns: [...columns],
    })),
  });
  return { manifest, tables: kept };
}

/** Ends the snapshot before the trailer: a stream of rows that broke off is known by then. */
async function* archive(
  client: pg.Client,
  manifest: Manifest,
  tables: readonly Table[],
  sums: { trailer?: Trailer },
): AsyncGenerator<Buffer> {
  const whole = createHash('sha256');
  const sumsOf: (() => TableSum)[] = [];
  const summed = (bytes: Buffer): Buffer => {
    whole.update(bytes);
    return bytes;
  };
  yield summed(lineOf(manifest));
  for (const table of tables) {
    const hash = createHash('sha256');
    const rows = client.query(copyStreams.to(copyOut(table)));
    for await (const chunk of rows as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield summed(chunk);
    }
    const sha256 = hash.digest('hex');
    // The server says how many rows there were after the last of them: asked for at the end.
    sumsOf.push(() => ({ ...placed(table), rows: rows.rowCount, sha256 }));
    yield summed(endOfTable);
  }
  requireCommitted(await client.query(commit.text));
  sums.trailer = { tables: sumsOf.map((sum) => sum()), sha256: whole.digest('hex') };
  yield lineOf(sums.trailer);
}

/** In an order of their own: the same rows make the same backup, and load in that order. */
function copyOut({ columns, order, ...table }: Table): string {
  const ordered = order.length === 0 ? '' : ` order by ${columnList(order)}`;
  return `copy (select ${columnList(columns)} from ${tableName(table)}${ordered}) to stdout`;
}
