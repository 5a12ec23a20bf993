// `tallybook backup`: a snapshot of everything in one file, with or without a running service. It
// does not depend on the version of PostgreSQL, so it also moves the data to another one.

import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { UsageError } from '../config.ts';
import type { BackupReport } from '../database/backup/write.ts';
import type { Server } from '../database/open.ts';
import { type CommonFlags, define, withServer } from './command.ts';
import { count, members, show } from './output.ts';
import { programVersion } from './version.ts';

export function defineBackup(program: Command): void {
  define(program, {
    name: 'backup',
    description:
      'Write a backup of everything to a file, as of one moment, while the service goes on. It ' +
      'can be restored on any later version of Tallybook and of PostgreSQL.',
    example: 'tallybook backup tallybook.backup.gz --data ./data',
  })
    .argument('<file>', 'the file; one of this name is replaced at the end. "-": standard output')
    .action(backup);
}

async function backup(file: string, flags: CommonFlags): Promise<void> {
  const isOutput = file === '-';
  if (isOutput && process.stdout.isTTY) {
    throw new UsageError('a backup is not for the screen: name a file, or redirect the output');
  }
  const report = isOutput ? await toOutput(flags) : await toFile(file, flags);
  // Standard output then holds the backup itself.
  await show(flags, report, describe, isOutput ? process.stderr : process.stdout);
}

type Report = BackupReport & { readonly file: string };

async function toOutput(flags: CommonFlags): Promise<Report> {
  return withServer(flags, (server, signal) => write(server, '-', process.stdout, signal));
}

async function toFile(file: string, flags: CommonFlags): Promise<Report> {
  const { openDraft } = await import('../database/backup/file.ts');
  return withServer(flags, async (server, signal) => {
    const draft = openDraft(file);
    // Also when it is interrupted.
    process.once('exit', draft.discard);
    try {
      const report = await write(server, file, draft.stream, signal);
      draft.keep();
      return report;
    } finally {
      draft.discard();
    }
  });
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
  return { file, ...(await backUp(options, stream)) };
}

function describe({ file, created_at, schema_version, rows, sha256 }: Report): string {
  return members([
    ['Backup', file === '-' ? 'standard output' : file],
    ['As of', created_at],
    ['Holds', `${count(rows, 'row')}, schema version ${schema_version}`],
    ['SHA-256', `${sha256} (of the content)`],
  ]);
}
