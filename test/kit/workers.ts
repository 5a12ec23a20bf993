// The processes of a node with workers, as the system knows them.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Those that a main process has started to serve, and that are there now. */
export function workersOf(main: number | undefined): number[] {
  if (main === undefined) return [];
  return read(`/proc/${main}/task/${main}/children`)
    .split(' ')
    .filter((pid) => pid !== '' && read(`/proc/${pid}/cmdline`).includes('\0serve\0'))
    .map(Number);
}

export function isThere(pid: number): boolean {
  // What has ended, and nobody has asked for, has no command line.
  return read(`/proc/${pid}/cmdline`) !== '';
}

/** Resolves once it is so. @throws Error after 100 seconds: a worker may start slowly */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 100_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
