// What Tallybook keeps in its data directory beside PostgreSQL's own files: where each lies, the
// passwords, and how a file gets on disk for good. The paths are a promise across versions: moving
// one strands the data of every installation. Losing the passwords would lock the data away, so
// they are on disk before the server that wants them exists.

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface Layout {
  readonly root: string;
  /** PostgreSQL's own data directory: it appears whole, by a rename, once initialised. */
  readonly cluster: string;
  /** Begins the names of half-made clusters; what a crash leaves there is thrown away. */
  readonly unfinished: string;
  readonly passwords: string;
  /** Holds the path of the socket directory, which may lie elsewhere. */
  readonly socketPath: string;
  readonly lock: string;
  /** What the server says before its own log is open. */
  readonly startLog: string;
}

export function layoutOf(dataDirectory: string): Layout {
  const root = resolve(dataDirectory);
  return {
    root,
    cluster: join(root, 'postgres'),
    unfinished: join(root, 'postgres.unfinished-'),
    passwords: join(root, 'postgres.passwords.json'),
    socketPath: join(root, 'postgres.socket'),
    lock: join(root, 'postgres.lock'),
    startLog: join(root, 'postgres.start.log'),
  };
}

export function isInitialised(dataDirectory: string): boolean {
  return existsSync(layoutOf(dataDirectory).cluster);
}

export interface Passwords {
  readonly owner: string;
  readonly service: string;
}

export function keptPasswords(layout: Layout): Passwords {
  if (existsSync(layout.passwords)) return readPasswords(layout.passwords);
  if (existsSync(layout.cluster)) {
    throw new Error(
      `${layout.passwords} is missing, and ${layout.cluster} cannot be opened without it: ` +
        'restore it from the backup of the data directory.',
    );
  }
  const passwords = { owner: newPassword(), service: newPassword() };
  writeDurably(layout.passwords, JSON.stringify(passwords));
  return passwords;
}

function readPasswords(path: string): Passwords {
  let kept: unknown;
  try {
    kept = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(
      `${path} cannot be read: run Tallybook as the user who owns it, or restore it from the ` +
        'backup of the data directory.',
      { cause },
    );
  }
  const { owner, service } = Object(kept) as Record<string, unknown>;
  if (typeof owner !== 'string' || typeof service !== 'string') {
    throw new Error(`${path} is damaged: restore it from the backup of the data directory.`);
  }
  return { owner, service };
}

function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

export function writeDurably(path: string, text: string): void {
  const draft = `${path}.draft`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
    renameSync(draft, path);
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
}

/** No space, or none that this user may still take. */
export function isFull(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Says of what fails for want of space which disk it is. */
export async function explainingFull<T>(root: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isFull(cause)) throw cause;
    throw new Error(
      `the data directory ${root} cannot be written (no space left on device): free space`,
      { cause },
    );
  }
}

/** A rename is on disk only when its directory is. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
