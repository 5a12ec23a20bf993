// One process at a time initialises, starts or stops the server of a data directory. The lock
// must end with its holder, also on kill -9: it names the holder, and waiters look whether that
// process still lives.

import { createHash, randomBytes } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A holder may be replaying a long write-ahead log after a crash, which takes minutes. */
const WAIT_LIMIT_MS = 15 * 60_000;
const POLL_MS = 20;
/** A draft without a mark may be that of a process which is writing it at this moment. */
const EMPTY_FOR_MS = 60_000;
/** What `create` and `removeDead` add to the name. */
const DRAFT = /^(\.[0-9a-f]{12}){1,9}$/;

interface Waiting {
  /** Told once, when somebody who reads the log might begin to wonder. */
  readonly notice: (message: string) => void;
  readonly signal?: AbortSignal;
}

export async function withLock<T>(
  path: string,
  waiting: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const mark = await acquire(path, waiting);
  try {
    return await work();
  } finally {
    removeIfStill(path, mark);
  }
}

/**
 * Removes what processes left that ended between two steps, such as on a full disk. Call it under
 * the lock only: guards of the dead are of no use then, because the lock no longer has their mark.
 */
export function removeRemains(path: string): void {
  const directory = dirname(path);
  for (const name of readdirSync(directory)) {
    const isOurs = name.startsWith(`${basename(path)}.`);
    if (!isOurs || !DRAFT.test(name.slice(basename(path).length))) continue;
    const file = join(directory, name);
    const mark = read(file) ?? '';
    const isRemains = mark === '' ? ageOf(file) > EMPTY_FOR_MS : !lives(mark);
    if (isRemains) rmSync(file, { force: true });
  }
}

function ageOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? 0 : Date.now() - found.mtimeMs;
}

async function acquire(path: string, waiting: Waiting): Promise<string> {
  const mark = ownMark();
  const deadline = Date.now() + WAIT_LIMIT_MS;
  let noticeAt = Date.now() + 3_000;
  while (!create(path, mark)) {
    waiting.signal?.throwIfAborted();
    const holder = read(path);
    if (holder !== undefined && !lives(holder)) {
      removeDead(path, holder);
      continue;
    }
    if (Date.now() > deadline) {
      throw new Error(`Process ${holder?.split(' ')[0]} still holds ${path}: end it first.`);
    }
    if (Date.now() > noticeAt) {
      waiting.notice(`waiting for process ${holder?.split(' ')[0]}, which holds ${path}`);
      noticeAt = Number.POSITIVE_INFINITY;
    }
    await sleep(POLL_MS);
  }
  return mark;
}

/** A hard link appears whole or not at all, so nobody ever reads half a mark. */
function create(path: string, mark: string): boolean {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, mark, { flag: 'wx', mode: 0o644 });
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Two waiters may find the same dead holder, and the slower one must not remove the lock that
 * the faster one has taken since. So removing a given mark is itself under a lock, named after
 * that mark, and the mark is read again inside it.
 */
function removeDead(path: string, deadMark: string): void {
  const guard = `${path}.${createHash('sha256').update(deadMark).digest('hex').slice(0, 12)}`;
  const mark = ownMark();
  if (create(guard, mark)) {
    removeIfStill(path, deadMark);
    removeIfStill(guard, mark);
    return;
  }
  const remover = read(guard);
  if (remover !== undefined && !lives(remover)) removeDead(guard, remover);
}

function removeIfStill(path: string, mark: string): void {
  if (read(path) === mark) rmSync(path, { force: true });
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Process, its start (numbers of processes are used again), and a part never used twice. */
function ownMark(): string {
  return `${process.pid} ${startOf(process.pid) ?? '-'} ${randomBytes(9).toString('base64url')}`;
}

function lives(mark: string): boolean {
  const [pid, start] = mark.split(' ');
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const startNow = startOf(Number(pid));
  return start === '-' || startNow === undefined || startNow === start;
}

/** Undefined where there is no /proc. The name before the last ")" may hold spaces. */
function startOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}
