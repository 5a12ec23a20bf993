// The directory of the server's Unix socket. PostgreSQL refuses a path over 107 bytes, and Node
// silently cuts one off, so the directory may lie outside the data directory. Its path is kept
// there and stays the same over restarts, because the URLs of running processes hold it.

import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Account, canEnter, handOver } from './account.ts';
import { type Layout, writeDurably } from './directory.ts';

/** `sun_path` of Linux less the closing zero; on macOS it is 104 bytes in all. */
const LONGEST_PATH = process.platform === 'darwin' ? 103 : 107;

export function socketIn(directory: string): string {
  return join(directory, '.s.PGSQL.5432');
}

export function keptSocketDirectory(layout: Layout, account: Account): string {
  const kept = existsSync(layout.socketPath) ? readFileSync(layout.socketPath, 'utf8').trim() : '';
  if (kept !== '' && makeUsable(kept, account)) return kept;
  const chosen = newSocketDirectory(layout, account);
  writeDurably(layout.socketPath, `${chosen}\n`);
  return chosen;
}

/**
 * Whether it is a directory of this user only. One that is gone is made again, because temporary
 * directories are cleaned; one of another user is refused.
 */
export function makeUsable(directory: string, account: Account): boolean {
  if (!fits(directory) || !canEnter(dirname(directory), account)) return false;
  try {
    mkdirSync(directory, { mode: 0o700 });
    handOver(directory, account);
  } catch {
    // It exists: the check below decides.
  }
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === account.uid && (found.mode & 0o077) === 0;
}

/** Removes a directory outside the data directory, because nothing else removes it later. */
export function dropSocketDirectory(layout: Layout, directory: string): void {
  if (dirname(directory) === layout.root) return;
  try {
    rmdirSync(directory);
  } catch {
    // Not empty, or removed already: the next start checks it again.
  }
}

/** Whether something accepts connections on the socket of this directory. */
export async function answers(directory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketIn(directory));
    const finish = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    socket.setTimeout(1_000, () => finish(true));
  });
}

function newSocketDirectory(layout: Layout, account: Account): string {
  const inside = join(layout.root, 'postgres.socket.d');
  if (makeUsable(inside, account)) return inside;
  for (const parent of [tmpdir(), '/tmp']) {
    if (!fits(join(parent, 'tallybook-XXXXXX')) || !canEnter(parent, account)) continue;
    const directory = mkdtempSync(join(parent, 'tallybook-'));
    handOver(directory, account);
    return directory;
  }
  throw new Error(
    `No place for the database socket: ${layout.root} and ${tmpdir()} are too long (over ` +
      `${LONGEST_PATH} bytes with the file name) or closed to user "${account.name}". Set TMPDIR ` +
      'to a short directory that this user can enter.',
  );
}

function fits(directory: string): boolean {
  return Buffer.byteLength(socketIn(directory)) <= LONGEST_PATH;
}
