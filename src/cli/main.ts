// The command line: one file per noun. Each loads what it needs only when it runs, so that help is
// immediate. Results go to standard output, everything else to standard error. Exit codes:
// 0 done, 1 failed, 2 not understood.

import { CommanderError } from 'commander';
import { UsageError } from '../config.ts';
import { Problem } from '../core/problem.ts';
import { DatabaseFailure } from '../core/statement.ts';
import { systemMessage, systemReason } from '../core/system-failure.ts';
import { defineApp } from './app.ts';
import { defineAudit } from './audit.ts';
import { defineBackup } from './backup.ts';
import { defineCell } from './cell.ts';
import { defineCheck } from './check.ts';
import { defineCompletion } from './completion.ts';
import { defineCustomer } from './customer.ts';
import { defineDemo } from './demo.ts';
import { defineExport } from './export-files.ts';
import { DocumentedCommand } from './help.ts';
import { defineImport } from './import.ts';
import { defineLimit } from './limit.ts';
import { defineLocation } from './location.ts';
import { defineMerchant } from './merchant.ts';
import { defineMigrate } from './migrate.ts';
import { definePerson } from './person.ts';
import { defineRestore } from './restore.ts';
import { defineServe } from './serve.ts';
import { defineServer } from './server.ts';
import { defineSimulate } from './simulate.ts';
import { defineStatus } from './status.ts';
import { defineToken } from './token.ts';
import { defineVerify } from './verify.ts';
import { programVersion } from './version.ts';

/** Runs one command and sets the exit code of the process. */
export async function run(argv: readonly string[]): Promise<void> {
  // A reader that closes the pipe, such as `head`, is no error. Any other error fails a command but
  // ends no service, because a full disk must not keep it from starting.
  let outputError: unknown;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    outputError = error;
    process.exitCode = 1;
    process.stderr.write(`error: the output could not be written: ${systemReason(error)}\n`);
  });
  process.stderr.on('error', () => undefined);
  try {
    await program().parseAsync(argv);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    // Commander has printed its own errors, and the listener above those of the output.
    const isSaid = error instanceof CommanderError || error === outputError;
    if (!isSaid) process.stderr.write(`error: ${textOf(error)}\n`);
  }
}

function program(): DocumentedCommand {
  const tallybook = new DocumentedCommand('tallybook');
  tallybook
    .description('A commerce back office over HTTP: customers, products and an inventory ledger.')
    .version(programVersion())
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError('Add --help to the command to see what it takes.');
  tallybook.example = 'tallybook serve --data ./data --demo';
  for (const define of [
    defineServe,
    defineStatus,
    defineMigrate,
    defineBackup,
    defineRestore,
    defineVerify,
    defineCell,
    defineServer,
    defineMerchant,
    defineLocation,
    defineToken,
    definePerson,
    defineApp,
    defineLimit,
    defineAudit,
    defineCustomer,
    defineImport,
    defineExport,
    defineDemo,
    defineCheck,
    defineSimulate,
    defineCompletion,
  ]) {
    define(tallybook);
  }
  return tallybook;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const isUsage =
    error instanceof UsageError || (error instanceof Problem && error.code === 'validation_failed');
  return isUsage ? 2 : 1;
}

function textOf(error: unknown): string {
  if (error instanceof Problem) {
    const details = error.details.map(({ field, message }) => `\n  ${field ?? ''} ${message}`);
    return `${error.message}${details.join('')}`;
  }
  if (error instanceof DatabaseFailure && error.cause instanceof Error) {
    return `${error.message}: ${error.cause.message}`;
  }
  return error instanceof Error ? systemMessage(error) : String(error);
}
