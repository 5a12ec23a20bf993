// One process at a time makes, starts, joins or stops the server of a data directory. The lock is a
// directory with one file, named after the process that holds it. The file system decides races: a
// rename onto a directory succeeds only while that is missing or empty, and the file of a process
// that has ended is removed by its name, so no process removes a lock that another has just taken.

import { randomBytes } from 'node:crypto';
import {
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './directory.ts';

/** A process that holds it may replay a long write-ahead log after a crash, which takes minutes. */
const WAIT_LIMIT_MS = 15 * 60_000;
const POLL_MS = 20;

interface Waiting {
  /** Called once, after three seconds. */
  readonly notice: (message: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export async function withLock<T>(
  path: string,
  waiting: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  // And a part that is never used twice.
  const name = `${ownProcess()}-${randomBytes(9).toString('hex')}`;
  await acquire(path, name, waiting);
  try {
    return await work();
  } finally {
    rmSync(join(path, name), { force: true });
    removeIfEmpty(path);
  }
}

/** Removes the drafts of processes that ended while they took the lock. Call it under the lock. */
export function removeStaleDrafts(path: string): void {
  const prefix = `${basename(path)}.`;
  for (const entry of readdirSync(dirname(path))) {
    const name = entry.startsWith(prefix) ? entry.slice(prefix.length) : '';
    if (!/^\d+-\d+-[0-9a-f]+$/.test(name) || isAlive(name)) continue;
    rmSync(join(dirname(path), entry), { recursive: true, force: true });
  }
}

async function acquire(path: string, name: string, { notice, signal }: Waiting): Promise<void> {
  const begin = Date.now();
  let noticeAt = begin + 3_000;
  for (;;) {
    const holder = holderOf(path);
    if (holder !== undefined && !isAlive(holder)) {
      rmSync(join(path, holder), { force: true });
      continue;
    }
    if (holder === undefined && take(path, name)) return;
    signal?.throwIfAborted();
    const process = `process ${holder?.split('-')[0]}`;
    if (Date.now() - begin > WAIT_LIMIT_MS) {
      throw new Error(`${process} still holds ${path}: end it first`);
    }
    if (holder !== undefined && Date.now() > noticeAt) {
      notice(`waiting for ${process}, which holds ${path}`);
      noticeAt = Number.POSITIVE_INFINITY;
    }
    await sleep(POLL_MS);
  }
}

function take(path: string, name: string): boolean {
  const draft = `${path}.${name}`;
  try {
    mkdirSync(draft, { mode: 0o755 });
    // Written so that a full disk fails here, where the message is plain. Nothing reads it.
    writeFileSync(join(draft, name), name);
    // An ordinary user has to be able to remove what a killed root process left.
    if (process.getuid?.() === 0) {
      const { uid, gid } = statSync(dirname(path));
      chownSync(draft, uid, gid);
    }
    renameSync(draft, path);
    return true;
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) return false;
    throw error;
  }
}

function holderOf(path: string): string | undefined {
  try {
    return readdirSync(path)[0];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Another process has taken or removed it.
  }
}

/** This process and its start, because process IDs are used again. */
export function ownProcess(): string {
  return `${process.pid}-${startOf(process.pid) ?? 0}`;
}

/** Whether the process lives that a name begins with. */
export function isAlive(name: string): boolean {
  const [pid, start] = name.split('-').map(Number);
  try {
    process.kill(pid ?? 0, 0);
  } catch (error) {
    // EPERM: it runs, as another user.
    if (codeOf(error) !== 'EPERM') return false;
  }
  const startNow = startOf(pid ?? 0);
  return start === 0 || startNow === undefined || startNow === start;
}

/** Undefined where there is no /proc. The name before the last ")" may hold spaces. */
function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  } catch {
    return undefined;
  }
}
