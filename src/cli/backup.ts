// `tallybook backup`: a snapshot of everything in one file, with or without a running service. It
// does not depend on the version of PostgreSQL, so it also moves the data to another one.

import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { privateConfig, UsageError } from '../config.ts';
import type { Draft } from '../database/backup/file.ts';
import type { BackupReport } from '../database/backup/write.ts';
import type { Server } from '../database/open.ts';
import { type CommonFlags, define, withConfig, withServer } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, members, show } from './output.ts';
import { programVersion } from './version.ts';

interface BackupFlags extends CommonFlags {
  readonly verify?: boolean;
}

export function defineBackup(program: DocumentedCommand): void {
  define(program, {
    name: 'backup',
    description:
      'Write a backup of everything to a file, as of one moment, while the service goes on. It ' +
      'can be restored on any later version of Tallybook and of PostgreSQL.',
    example: 'tallybook backup tallybook.backup.gz --data ./data',
  })
    .argument('<file>', 'the file; one of this name is replaced at the end. "-": standard output')
    .option(
      '--verify',
      'restore it beside the file, in a database of its own, and verify that. Exit code 1 when ' +
        'it is not sound or could not be tried: it is then named <file>.unsound or ' +
        '<file>.unproven, and an earlier <file> stays',
    )
    .action(backup);
}

async function backup(file: string, flags: BackupFlags): Promise<void> {
  const isOutput = file === '-';
  if (isOutput && process.stdout.isTTY) {
    throw new UsageError('a backup is not for the screen: name a file, or redirect the output');
  }
  if (isOutput && flags.verify) {
    throw new UsageError('--verify needs a file: standard output cannot be read again');
  }
  const report = isOutput ? await toOutput(flags) : await toFile(file, flags);
  // Standard output then holds the backup itself.
  await show(flags, report, describe, isOutput ? process.stderr : process.stdout);
  if (report.proof !== null && report.proof.verdict !== 'sound') process.exitCode = 1;
}

/** What a restored copy has shown; null: it was not tried. */
interface Proof {
  /** `unproven`: it could not be tried, for example because the disk is full. */
  readonly verdict: 'sound' | 'unsound' | 'unproven';
  readonly levels: number;
  readonly movements: number;
  /** Why it is not known to be sound. */
  readonly reason: string | null;
}

type Report = BackupReport & { readonly file: string; readonly proof: Proof | null };

async function toOutput(flags: CommonFlags): Promise<Report> {
  return withServer(flags, (server, signal) => write(server, '-', process.stdout, signal));
}

async function toFile(file: string, flags: BackupFlags): Promise<Report> {
  const { openDraft } = await import('../database/backup/file.ts');
  let draft: Draft | undefined;
  const discard = () => draft?.discard();
  // Also when it is interrupted.
  process.once('exit', discard);
  try {
    const report = await withServer(flags, async (server, signal) => {
      draft = openDraft(file);
      const written = await write(server, file, draft.stream, signal);
      draft.finish();
      return written;
    });
    const proof = flags.verify && draft ? await prove(draft.path) : null;
    const name = proof === null || proof.verdict === 'sound' ? file : `${file}.${proof.verdict}`;
    draft?.keep(name);
    return { ...report, file: name, proof };
  } finally {
    discard();
  }
}

/** Restores the file into a private server of its own, beside it, which is removed afterwards. */
async function prove(file: string): Promise<Proof> {
  const { isSound, checked, restoreFrom } = await import('./restore.ts');
  const { UnsoundBackup } = await import('../database/backup/refusal.ts');
  const { startPrivateServer } = await import('../postgres/server.ts');
  const directory = mkdtempSync(`${file}.proof-`);
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  const config = privateConfig(directory);
  try {
    const restoration = await restoreFrom(() => createReadStream(file), {
      open: (options) =>
        withConfig(config, checked, {
          ...options,
          // It is of no use to anybody when this process is killed.
          startPrivateServer: (own) => startPrivateServer({ ...own, stopWithParent: true }),
        }),
    });
    const { levels, movements } = restoration.ledger;
    if (isSound(restoration)) return { verdict: 'sound', levels, movements, reason: null };
    const reason = 'its ledger or audit trail is not sound';
    return { verdict: 'unsound', levels, movements, reason };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const verdict = error instanceof UnsoundBackup ? 'unsound' : 'unproven';
    return { verdict, levels: 0, movements: 0, reason };
  } finally {
    remove();
  }
}

async function write(
  server: Server,
  file: string,
  stream: Writable,
  signal: AbortSignal,
): Promise<Report> {
  const { backUp } = await import('../database/backup/write.ts');
  const { operatorLine } = await import('../access/audit/operator-entry.ts');
  const options = {
    url: server.url,
    found: server.found,
    programVersion: programVersion(),
    auditLine: operatorLine({ action: 'database.backup', file }),
    warn: (message: string) => process.stderr.write(`warning: ${message}\n`),
    signal,
  };
  return { file, ...(await backUp(options, stream)), proof: null };
}

function describe({ file, created_at, schema_version, rows, sha256, proof }: Report): string {
  return members([
    ['Backup', file === '-' ? 'standard output' : file],
    ['As of', created_at],
    ['Holds', `${count(rows, 'row')}, schema version ${schema_version}`],
    ['SHA-256', `${sha256} (of the content)`],
    ...(proof === null ? [] : [['Proof', proofText(proof)] as const]),
  ]);
}

function proofText({ verdict, levels, movements, reason }: Proof): string {
  const seen = `${count(levels, 'level')} and ${count(movements, 'movement')}`;
  return verdict === 'sound' ? `restored and sound: ${seen} agree` : `${verdict}: ${reason}`;
}
