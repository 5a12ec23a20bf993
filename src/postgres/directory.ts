// What Tallybook keeps in its data directory beside PostgreSQL's own files: where each file lies,
// the passwords, the secret, and durable writing. The passwords are on disk before
// the server that wants them exists, because losing them would lock the data away.

import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface Layout {
  readonly root: string;
  /** PostgreSQL's own data directory. It appears whole, by a rename, once initialised. */
  readonly cluster: string;
  /** Begins the names of unfinished clusters; the next start removes what a crash left there. */
  readonly unfinished: string;
  readonly passwords: string;
  readonly secret: string;
  /** Holds the path of the socket's directory, which may lie elsewhere. */
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
    secret: join(root, 'secret'),
    socketPath: join(root, 'postgres.socket'),
    lock: join(root, 'postgres.lock'),
    startLog: join(root, 'postgres.start.log'),
  };
}

export function makeRoot(root: string): void {
  try {
    const made = mkdirSync(root, { recursive: true, mode: 0o755 }) !== undefined;
    // As root, PostgreSQL's user must pass through; it need not see what lies there.
    if (made) chmodSync(root, process.getuid?.() === 0 ? 0o711 : 0o700);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(
      `The data directory ${root} cannot be made or written: choose another one, or give this ` +
        'user the right to it.',
      { cause },
    );
  }
}

export interface Passwords {
  readonly owner: string;
  readonly service: string;
}

/** Those of the directory, made when it has none yet. Call it under the lock. */
export function keptPasswords({ passwords: path, cluster }: Layout): Passwords {
  const text = readKept(path);
  if (text === undefined) {
    if (existsSync(cluster)) {
      throw new Error(
        `${path} is missing, and ${cluster} cannot be opened without it: ` +
          'restore it from the backup of the data directory.',
      );
    }
    const passwords = { owner: randomText(24), service: randomText(24) };
    writeDurably(path, JSON.stringify(passwords));
    return passwords;
  }
  try {
    const { owner, service } = JSON.parse(text);
    if (typeof owner === 'string' && typeof service === 'string') return { owner, service };
  } catch {
    // Not JSON: as damaged as JSON without passwords.
  }
  throw new Error(`${path} is damaged: restore it from the backup of the data directory.`);
}

/** A random text that stays the same over restarts. Call it under the lock. */
export function keptSecret({ secret: path }: Layout): string {
  const kept = readKept(path)?.trim();
  if (kept === '') throw new Error(`${path} is empty: remove it, and open cursors become invalid`);
  if (kept !== undefined) return kept;
  const secret = randomText(32);
  writeDurably(path, `${secret}\n`);
  return secret;
}

function readKept(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new Error(
      `${path} cannot be read: run Tallybook as the user who owns it, or restore it from the ` +
        'backup of the data directory.',
      { cause },
    );
  }
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
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

/** A rename is on disk only when its directory is. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** No space, or none that this user may still take. */
export function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error));
}

/** Names the directory in the error of what fails because its disk is full. */
export async function explainingFull<T>(root: string, work: () => Promise<T>): Promise<T> {
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

/** Of the system or of PostgreSQL; empty when the error has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
