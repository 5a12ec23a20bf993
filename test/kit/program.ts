// Programs run to their end: Tallybook's command line as it was built, and others.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const thisCheckout = fileURLToPath(new URL('../..', import.meta.url));

interface ProgramOptions {
  readonly limitMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes whose output is wanted as well as that of 0. */
  readonly alsoGood?: readonly number[];
}

/**
 * Its standard output. The environment is not passed on: settings such as PGOPTIONS would change
 * what is measured.
 * @throws Error with what it wrote to standard error.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { limitMs, cwd, env = {}, alsoGood = [] }: ProgramOptions,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      timeout: limitMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024 * 1024,
      cwd,
      env: { PATH: process.env.PATH ?? '', ...env },
    });
    return stdout;
  } catch (error) {
    const { code, stdout, stderr } = Object(error) as Record<string, unknown>;
    if (typeof code === 'number' && alsoGood.includes(code)) return String(stdout);
    throw new Error(`${program} failed: ${String(stderr ?? error).slice(-1_000)}`, {
      cause: error,
    });
  }
}

/** One command of a checkout's command line, with its answer as JSON. */
export function runTallybook(
  args: readonly string[],
  options: Partial<ProgramOptions> & { readonly checkout?: string } = {},
): Promise<string> {
  const { checkout = thisCheckout, limitMs = 600_000, ...others } = options;
  const all = [join(checkout, 'bin/tallybook.js'), ...args, '--json'];
  return runProgram(process.execPath, all, { limitMs, ...others });
}

export interface Verification {
  readonly ok: boolean;
  readonly levels: number;
  readonly movements: number;
  readonly differences: readonly unknown[];
}

/** What `tallybook verify` says of the ledger. */
export async function verifyLedger(databaseUrl: string): Promise<Verification> {
  const args = ['verify', '--database-url', databaseUrl];
  return JSON.parse(await runTallybook(args, { alsoGood: [1] })) as Verification;
}
