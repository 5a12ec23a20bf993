// The temporary directory of a test run, which has its name from the process of the run. A run that
// is broken off leaves it; the next run removes it, when that process is gone.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, ownProcess } from '../../src/postgres/lock.ts';

const prefix = 'tallybook-tests-';

/**
 * In memory, where the system has a folder for that with room: to create and drop a database takes
 * 0.1 s there, and 1.5 s on a disk. The servers flush as ever, so a killed process leaves the same;
 * no test takes the power away.
 */
export function makeRunDirectory(): string {
  const memory = '/dev/shm';
  if (existsSync(memory)) removeDeadRuns(memory);
  const { bavail, bsize } = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
  const parent = bavail * bsize > 4 * 2 ** 30 ? memory : tmpdir();
  if (parent !== memory) removeDeadRuns(parent);
  const directory = mkdtempSync(join(parent, `${prefix}${ownProcess()}-`));
  // The account that PostgreSQL runs as has to get to its own directory below.
  chmodSync(directory, 0o755);
  return directory;
}

/** Never that of a run that lives, or whose process the name does not say. */
export function removeDeadRuns(parent: string): void {
  for (const entry of readdirSync(parent)) {
    const name = entry.startsWith(prefix) ? entry.slice(prefix.length) : '';
    if (!/^\d+-\d+-\w+$/.test(name) || isAlive(name)) continue;
    try {
      removeWithMounts(join(parent, entry));
    } catch (error) {
      // It may belong to another user.
      process.stderr.write(`${join(parent, entry)} stays: ${error}\n`);
    }
  }
}

/** A test of a full disk that was broken off leaves its file system mounted. */
export function removeWithMounts(directory: string): void {
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : '';
  const points = mounts.split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const point of points.filter((one) => one.startsWith(`${directory}/`))) {
    execFileSync('umount', ['--lazy', point]);
  }
  rmSync(directory, { recursive: true, force: true });
}
