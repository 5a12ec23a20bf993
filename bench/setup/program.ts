// Other programs: whether one is installed, and running one to its end.

import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** The path of a program on the PATH. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

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
