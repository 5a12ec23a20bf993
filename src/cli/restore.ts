// `tallybook restore`: makes a database from a backup, in a new data directory or an empty
// database. All of it is loaded in one transaction, then brought up to date and verified.

import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { InvalidArgumentError } from 'commander';
import type { ChainReport } from '../access/audit/verify.ts';
import { UsageError } from '../config.ts';
import type { RestoredBackup } from '../database/backup/restore.ts';
import type { OpenOptions, Store } from '../database/open.ts';
import { faultName } from './audit.ts';
import { type CommonFlags, define, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, members, show } from './output.ts';
import { differencesOf } from './verify.ts';

export function defineRestore(program: DocumentedCommand): void {
  define(program, {
    name: 'restore',
    description:
      'Make a database of a backup, in a new data directory or an empty database, bring it up to ' +
      'date and verify it. Exit code 1 when nothing was restored, or the ledger or the audit ' +
      'trail is not sound.',
    example: 'tallybook restore tallybook.backup.gz --data ./restored',
  })
    .argument('<file>', 'the file that "tallybook backup" has written. "-": standard input')
    .option(
      '--accept-unsound',
      'take rows that contradict each other as they are, and name them: to save what can be saved',
    )
    .option(
      '--cells <number>',
      'deal the merchants out among so many cells; otherwise each stays in its own',
      cellsOf,
    )
    .action(restore);
}

function cellsOf(text: string): number {
  const number = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (number >= 1) return number;
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}

interface RestoreFlags extends CommonFlags {
  readonly acceptUnsound?: boolean;
  readonly cells?: number;
}

/** What was restored, and what a look at it has shown. */
export type Restoration = Checked & RestoredBackup;

type Checked = Awaited<ReturnType<typeof checked>>;

async function restore(file: string, flags: RestoreFlags): Promise<void> {
  const { acceptUnsound, cells } = flags;
  const restoration = await restoreFrom(() => sourceOf(file), {
    ...{ acceptUnsound, cells },
    open: (options) => withStore(flags, checked, options),
  });
  await show(flags, restoration, acceptUnsound ? describeSaved : describe);
  if (!isSound(restoration) && acceptUnsound !== true) process.exitCode = 1;
}

export const isSound = ({ ok, broken }: Restoration): boolean => ok && broken.length === 0;

interface RestoreOptions {
  readonly acceptUnsound?: boolean | undefined;
  readonly cells?: number | undefined;
  /** Opens the database with these options, and checks it. */
  readonly open: (options: Partial<OpenOptions>) => Promise<Checked>;
}

/** @throws Error when nothing was restored. */
export async function restoreFrom(
  source: () => Readable,
  { acceptUnsound, cells, open }: RestoreOptions,
): Promise<Restoration> {
  const { restoreBackup } = await import('../database/backup/restore.ts');
  const { operatorLine } = await import('../access/audit/operator-entry.ts');
  const [found, restored] = await restoreBackup(source(), {
    auditLine: ({ created_at, sha256 }) =>
      operatorLine({ action: 'database.restore', created_at, sha256 }),
    ...{ acceptUnsound, cells },
    open: (fill) => open({ purpose: 'migration', mustExist: false, fill }),
  });
  return { ...found, ...restored };
}

function sourceOf(file: string): Readable {
  if (file !== '-') return createReadStream(file);
  if (process.stdin.isTTY) throw new UsageError('name a file, or redirect one to the input');
  return process.stdin;
}

/** The ledger and the audit trail of what was restored. */
export async function checked({ database, schemaVersion, applied }: Store) {
  const { verifyLedger } = await import('../inventory/verify.ts');
  const { verifyChain } = await import('../access/audit/verify.ts');
  const ledger = await verifyLedger(database);
  const audit = await verifyChain(database.reader);
  return { ok: ledger.ok && audit.ok, schema_version: schemaVersion, applied, ledger, audit };
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

/** Of a database that was taken as it is: everything in it that contradicts the rest. */
async function describeSaved(restoration: Restoration): Promise<string> {
  const { ledger, broken } = restoration;
  const lines = [
    ...broken.map((key) => `Rows refer to nothing: ${key}.`),
    ...(ledger.ok ? [] : [await differencesOf(ledger)]),
  ];
  const found = lines.length === 0 ? 'Nothing in it is unsound.' : 'Taken as it is:';
  return [describe(restoration), '', found, ...lines].join('\n');
}

function auditText({ records, fault }: ChainReport): string {
  if (fault === null) return `sound: ${count(records, 'record')}`;
  return `${faultName(fault)}: run "tallybook audit verify"`;
}
