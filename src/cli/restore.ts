// `tallybook restore`: makes a database from a backup, in a new data directory or an empty
// database. All of it is loaded in one transaction, then brought up to date and verified.

import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { ChainReport } from '../access/audit/verify.ts';
import { UsageError } from '../config.ts';
import type { Manifest, Trailer } from '../database/backup/format.ts';
import type { BackupReader } from '../database/backup/read.ts';
import type { FillTarget, Store } from '../database/open.ts';
import type { Verification } from '../inventory/verify.ts';
import { faultName } from './audit.ts';
import { type CommonFlags, define, withStore } from './command.ts';
import { count, members, show } from './output.ts';

export function defineRestore(program: Command): void {
  define(program, {
    name: 'restore',
    description:
      'Make a database of a backup, in a new data directory or an empty database, bring it up to ' +
      'date and verify it. Exit code 1 when nothing was restored, or the ledger or the audit ' +
      'trail is not sound.',
    example: 'tallybook restore tallybook.backup.gz --data ./restored',
  })
    .argument('<file>', 'the file that "tallybook backup" has written. "-": standard input')
    .action(restore);
}

interface Restoration {
  readonly ok: boolean;
  /** Of the backup. */
  readonly created_at: string;
  readonly program_version: string;
  readonly sha256: string;
  readonly rows: number;
  /** Of the database now. */
  readonly schema_version: number;
  readonly applied: readonly string[];
  readonly ledger: Verification;
  readonly audit: ChainReport;
}

async function restore(file: string, flags: CommonFlags): Promise<void> {
  const { BackupReader } = await import('../database/backup/read.ts');
  const backup = await BackupReader.open(sourceOf(file));
  try {
    const restoration = await restoreFrom(backup, flags);
    await show(flags, restoration, describe);
    if (!restoration.ok) process.exitCode = 1;
  } finally {
    backup.close();
  }
}

function sourceOf(file: string): Readable {
  if (file !== '-') return createReadStream(file);
  if (process.stdin.isTTY) throw new UsageError('name a file, or redirect one to the input');
  return process.stdin;
}

async function restoreFrom(backup: BackupReader, flags: CommonFlags): Promise<Restoration> {
  const { requireKnownSchema } = await import('../database/backup/format.ts');
  const { readMigrations } = await import('../database/migrations.ts');
  const { manifest } = backup;
  // This comes before anything is created.
  requireKnownSchema(manifest, await readMigrations());
  let loaded: Trailer | undefined;
  const fill = async (target: FillTarget, signal: AbortSignal | undefined) => {
    loaded = await load(backup, target, signal);
  };
  return withStore(
    flags,
    async (store) => {
      if (loaded === undefined) throw new Error('nothing was restored');
      return { ...(await verified(store)), ...summary(manifest, loaded), ...versions(store) };
    },
    { purpose: 'migration', mustExist: false, fill },
  );
}

async function load(
  backup: BackupReader,
  target: FillTarget,
  signal: AbortSignal | undefined,
): Promise<Trailer> {
  const { loadBackup } = await import('../database/backup/load.ts');
  const { operatorLine } = await import('../access/audit/operator-entry.ts');
  const { created_at } = backup.manifest;
  const auditLine = ({ sha256 }: Trailer) =>
    operatorLine({ action: 'database.restore', created_at, sha256 });
  return loadBackup({ ...target, auditLine, signal }, backup);
}

async function verified({ database }: Store) {
  const { verifyLedger } = await import('../inventory/verify.ts');
  const { verifyChain } = await import('../access/audit/verify.ts');
  const ledger = await verifyLedger(database.writer);
  const audit = await verifyChain(database.reader);
  return { ok: ledger.ok && audit.ok, ledger, audit };
}

function summary({ created_at, program_version }: Manifest, { tables, sha256 }: Trailer) {
  const rows = tables.reduce((total, table) => total + table.rows, 0);
  return { created_at, program_version, sha256, rows };
}

function versions({ schemaVersion, applied }: Store) {
  return { schema_version: schemaVersion, applied };
}

function describe(restoration: Restoration): string {
  const { ok, created_at, program_version, rows, schema_version, applied } = restoration;
  const { ledger, audit, sha256 } = restoration;
  const levels = `${count(ledger.levels, 'level')} and ${count(ledger.movements, 'movement')}`;
  const found = count(ledger.differences.length, 'difference');
  const news = applied.length === 0 ? '' : `, after ${applied.join(', ')}`;
  const text = members([
    ['Restored', `${count(rows, 'row')} as of ${created_at}, by version ${program_version}`],
    ['SHA-256', `${sha256} (of the content)`],
    ['Schema', `version ${schema_version}${news}`],
    ['Ledger', ledger.ok ? `sound: ${levels} agree` : `${found}: run "tallybook verify"`],
    ['Audit', auditText(audit)],
  ]);
  const rest = 'What was revoked or erased after that moment has to be revoked or erased again.';
  return ok ? `${text}\n\n${rest}` : text;
}

function auditText({ records, fault }: ChainReport): string {
  if (fault === null) return `sound: ${count(records, 'record')}`;
  return `${faultName(fault)}: run "tallybook audit verify"`;
}
