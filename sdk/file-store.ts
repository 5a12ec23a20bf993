// An outbox in one file: a log of what was added, changed and removed, one line for each write to
// the disk. A line counts when it is whole, and a promise is kept when its line is on the disk.
// Only the last line can be torn, because none is written before the one before it is there.

import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, link, open, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OutboxEntry, OutboxStore } from './outbox-store.ts';

type Change = { readonly put: OutboxEntry } | { readonly remove: string };

interface Asked {
  readonly change: Change;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Written anew when this much of it is of entries that are gone. */
const compactFrom = 1024 * 1024;

export class FileStore implements OutboxStore {
  readonly #path: string;
  readonly #entries: Map<string, OutboxEntry>;
  #file: FileHandle;
  #size: number;
  #sizeOfEntries: number;
  #asked: Asked[] = [];
  #writing: Promise<void> | undefined;
  #broken: unknown;

  private constructor(path: string, entries: Map<string, OutboxEntry>, written: Written) {
    this.#path = path;
    this.#entries = entries;
    this.#file = written.file;
    this.#size = written.size;
    this.#sizeOfEntries = written.size;
  }

  /** One process at a time: a second one is refused. */
  static async open(path: string): Promise<FileStore> {
    await lock(path);
    try {
      const entries = replay(path, await readFile(path, 'utf8').catch(emptyIfMissing));
      return new FileStore(path, entries, await writeAnew(path, entries));
    } catch (error) {
      await unlink(lockOf(path));
      throw error;
    }
  }

  async all(): Promise<readonly OutboxEntry[]> {
    return [...this.#entries.values()];
  }

  async add(entry: OutboxEntry): Promise<void> {
    await this.#append({ put: entry });
  }

  async replace(entry: OutboxEntry): Promise<void> {
    await this.#append({ put: entry });
  }

  async remove(id: string): Promise<void> {
    await this.#append({ remove: id });
  }

  /** Waits for what is being written, and lets another process have the file. */
  async close(): Promise<void> {
    await this.#writing;
    this.#broken = new Error('The store is closed.');
    await this.#file.close();
    await unlink(lockOf(this.#path));
  }

  #append(change: Change): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ change, resolve, reject });
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
    });
  }

  /** Everything that was asked for meanwhile goes into one line. */
  async #write(): Promise<void> {
    while (this.#asked.length > 0) {
      const some = this.#asked;
      this.#asked = [];
      try {
        if (this.#broken !== undefined) throw this.#broken;
        await this.#writeLine(lineOf(some.map(({ change }) => change)));
        for (const { change } of some) apply(this.#entries, change);
        for (const { resolve } of some) resolve();
        // What cannot be made shorter now is whole as it is.
        const isLong = this.#size > 2 * this.#sizeOfEntries + compactFrom;
        if (isLong) await this.#compact().catch(() => undefined);
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
  }

  async #writeLine(line: Buffer): Promise<void> {
    try {
      await this.#file.write(line, 0, line.length, this.#size);
      await this.#file.datasync();
      this.#size += line.length;
    } catch (error) {
      // A part of it may be there, and no line may follow a torn one.
      try {
        await this.#file.truncate(this.#size);
        await this.#file.datasync();
      } catch (failure) {
        this.#broken = failure;
      }
      throw error;
    }
  }

  async #compact(): Promise<void> {
    const written = await writeAnew(this.#path, this.#entries);
    await this.#file.close();
    this.#file = written.file;
    this.#size = written.size;
    this.#sizeOfEntries = written.size;
  }
}

function apply(entries: Map<string, OutboxEntry>, change: Change): void {
  if ('put' in change) entries.set(change.put.id, change.put);
  else entries.delete(change.remove);
}

function lineOf(changes: readonly Change[]): Buffer {
  const text = JSON.stringify(changes);
  return Buffer.from(`${checksum(text)} ${text}\n`);
}

const checksum = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** @throws Error when a line is damaged that was whole once. */
function replay(path: string, text: string): Map<string, OutboxEntry> {
  const entries = new Map<string, OutboxEntry>();
  const lines = text.split('\n');
  // What follows the last line break was torn, or is nothing.
  lines.pop();
  for (const [index, line] of lines.entries()) {
    const json = line.slice(17);
    if (line.slice(0, 16) === checksum(json)) {
      for (const change of JSON.parse(json) as Change[]) apply(entries, change);
    } else if (index < lines.length - 1) {
      throw new Error(`${path} is damaged at line ${index + 1}.`);
    }
  }
  return entries;
}

interface Written {
  readonly file: FileHandle;
  readonly size: number;
}

/** The whole file under another name first: whenever the process dies, one of the two is whole. */
async function writeAnew(
  path: string,
  entries: ReadonlyMap<string, OutboxEntry>,
): Promise<Written> {
  const file = await open(`${path}.new`, 'w', 0o600);
  const lines = [...entries.values()].map((entry) => lineOf([{ put: entry }]));
  const bytes = Buffer.concat(lines);
  try {
    await file.write(bytes, 0, bytes.length, 0);
    await file.sync();
    await rename(`${path}.new`, path);
  } catch (error) {
    await file.close();
    throw error;
  }
  // From here on it is the file. Windows cannot sync a folder, and needs not.
  await syncFolder(dirname(path)).catch(() => undefined);
  return { file, size: bytes.length };
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const lockOf = (path: string) => `${path}.lock`;

/** The lock names its process: one that died leaves it behind. */
async function lock(path: string): Promise<void> {
  const own = await nameOf(process.pid);
  if (await createLock(path, own)) return;
  const owner = (await readFile(lockOf(path), 'utf8').catch(emptyIfMissing)).trim();
  const pid = Number(owner.split(' ')[0]);
  const isAlive = pid > 0 && owner === (await nameOf(pid));
  const error = new Error(`${path} is used by process ${pid}; if it is not, delete ${path}.lock.`);
  if (isAlive) throw error;
  // Of two that find the same lock one takes it away; who took a newer one gives it back.
  const taken = `${path}.lock.${randomUUID()}`;
  await rename(lockOf(path), taken).catch(emptyIfMissing);
  const name = (await readFile(taken, 'utf8').catch(emptyIfMissing)).trim();
  if (name !== '' && name !== owner) await rename(taken, lockOf(path));
  else await unlink(taken).catch(emptyIfMissing);
  if (!(await createLock(path, own))) throw error;
}

/** With its text from the first moment on, or not at all. */
async function createLock(path: string, name: string): Promise<boolean> {
  const made = `${path}.lock.${randomUUID()}`;
  await writeFile(made, name, { mode: 0o600 });
  try {
    await link(made, lockOf(path));
    return true;
  } catch (error) {
    if (Object(error).code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(made);
  }
}

/** A process and when it began, where that can be read: its number is given to others later. */
async function nameOf(pid: number): Promise<string> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (Object(error).code === 'ESRCH') return 'nobody';
  }
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const started = status.slice(status.lastIndexOf(')')).split(' ')[20] ?? '';
  return `${pid} ${started}`.trim();
}

function emptyIfMissing(error: unknown): string {
  if (Object(error).code === 'ENOENT') return '';
  throw error;
}
