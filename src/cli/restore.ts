// `tallybook restore`: makes a database from a backup, in a new data directory or an empty
// database. All of it is loaded in one transaction, then brought up to date and verified.

import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { ChainReport } from '../access/audit/verify.ts';
import { UsageError } from '../config.ts';
import type { RestoredBackup } from '../database/backup/restore.ts';
import type { Store } from '../database/open.ts';
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

type Restoration = Awaited<ReturnType<typeof verified>> & RestoredBackup;

async function restore(file: string, flags: CommonFlags): Promise<void> {
  const { restoreBackup } = await import('../database/backup/restore.ts');
  const { operatorLine } = await import('../access/audit/operator-entry.ts');
  const [checked, restored] = await restoreBackup(sourceOf(file), {
    auditLine: ({ created_at, sha256 }) =>
      operatorLine({ action: 'database.restore', created_at, sha256 }),
    open: (fill) => withStore(flags, verified, { purpose: 'migration', mustExist: false, fill }),
  });
  await show(flags, { ...checked, ...restored }, describe);
  if (!checked.ok) process.exitCode = 1;
}

function sourceOf(file: string): Readable {
  if (file !== '-') return createReadStream(file);
  if (process.stdin.isTTY) throw new UsageError('name a file, or redirect one to the input');
  return process.stdin;
}

async function verified({ database, schemaVersion, applied }: Store) {
  const { verifyLedger } = await import('../inventory/verify.ts');
  const { verifyChain } = await import('../access/audit/verify.ts');
  const ledger = await verifyLedger(database.writer);
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

function auditText({ records, fault }: ChainReport): string {
  if (fault === null) return `sound: ${count(records, 'record')}`;
  return `${faultName(fault)}: run "tallybook audit verify"`;
}
