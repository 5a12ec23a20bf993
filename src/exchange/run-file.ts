// FILE.import: what a run is, and how far it came. It is on the disk before the first request,
// and a plan before the request that carries it out, so that whoever goes on sends the same
// requests with the same keys. Whenever the process dies, the file is whole: it is replaced,
// never changed.

import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CountMoment } from './send-counts.ts';
import type { Plan } from './sender.ts';

export interface Totals {
  created: number;
  changed: number;
  unchanged: number;
  refused: number;
}

export interface Run {
  /** Part of every key. */
  readonly run: string;
  readonly credential_id: string;
  readonly sha256: string;
  readonly rows: number;
  /** What was asked for: another command is another run. */
  readonly command: Readonly<Record<string, unknown>>;
  /** The moment that counts are of. */
  readonly counted_at: CountMoment | null;
  isFinished: boolean;
  /** From the first row on; those behind may have been sent as well. */
  rows_done: number;
  totals: Totals;
  /** How much of the file of refused rows belongs to the rows that are done. */
  refused_bytes: number;
  /** Of rows that are not done, by the first of them. */
  plans: Record<string, Plan>;
}

export class RunFile {
  readonly path: string;
  readonly run: Run;
  #saving: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(path: string, run: Run) {
    this.path = path;
    this.run = run;
  }

  /** Undefined when there is none. */
  static async read(path: string): Promise<Run | undefined> {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as Run;
    } catch (error) {
      if (Object(error).code === 'ENOENT') return undefined;
      if (error instanceof SyntaxError)
        throw new Error(`${path} is damaged: delete it to begin anew`);
      throw error;
    }
  }

  /** On the disk as it is now. Whoever asks while it is being written shares what comes next. */
  save(): Promise<void> {
    this.#next ??= (this.#saving ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => {
        this.#saving = this.#next;
        this.#next = undefined;
        return replace(this.path, `${JSON.stringify(this.run)}\n`);
      });
    return this.#next;
  }
}

async function replace(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  // Windows cannot sync a folder, and needs not.
  const folder = await open(dirname(path), 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

/** One process at a time. @throws Error when there is another one. */
export async function lockRun(path: string): Promise<() => Promise<void>> {
  const lock = `${path}.lock`;
  const file = await openLock(lock);
  await file.writeFile(`${process.pid}\n`);
  await file.close();
  return () => rm(lock, { force: true });
}

async function openLock(lock: string): Promise<FileHandle> {
  try {
    return await open(lock, 'wx', 0o600);
  } catch (error) {
    if (Object(error).code !== 'EEXIST') throw error;
  }
  const pid = Number(await readFile(lock, 'utf8').catch(() => ''));
  if (pid > 0 && isAlive(pid)) {
    throw new Error(`process ${pid} imports this file; if it does not, delete ${lock}`);
  }
  await rm(lock, { force: true });
  return open(lock, 'wx', 0o600);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return Object(error).code !== 'ESRCH';
  }
}
