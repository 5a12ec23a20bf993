// When a backup is due, and what becomes of it. One that failed is tried again each hour.

import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import type { BackupFailure, BackupFolder, BackupState } from './folder.ts';

export interface TimeOfDay {
  readonly hour: number;
  readonly minute: number;
}

interface Log {
  info(event: object, message: string): void;
  error(event: object, message: string): void;
}

interface DailyOptions {
  readonly folder: BackupFolder;
  /** How many proven backups stay. */
  readonly keep: number;
  /** By the clock and the time zone of this machine. */
  readonly at: TimeOfDay;
  /**
   * Writes a backup to the file and proves it.
   * @throws Error when there is none, or it is not sound.
   */
  readonly take: (file: string, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  readonly clock?: () => Date;
  readonly lookEveryMs?: number;
}

export class DailyBackups {
  readonly #options: DailyOptions;
  readonly #clock: () => Date;
  readonly #abort = new AbortController();
  /** Also kept here, because a folder that cannot be written does not keep it. */
  #failure: BackupFailure | undefined;
  #state: BackupState;
  #running: Promise<void> = Promise.resolve();

  constructor(options: DailyOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => new Date());
    this.#state = this.#look();
  }

  /** As of the last look: who asks on a request must not wait for a disk. */
  get state(): BackupState {
    return this.#state;
  }

  #look(): BackupState {
    const { last, failure } = this.#options.folder.state();
    return { last, failure: this.#failure ?? failure };
  }

  /** Takes one soon when the last one is older than its time. */
  start(): void {
    this.#running = this.#run();
  }

  /** A backup under way is broken off; the next start takes another one. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    const { lookEveryMs: everyMs = limits.backupLookInterval } = this.#options;
    while (!signal.aborted) {
      this.#state = this.#look();
      if (this.#isDue()) {
        await this.#take();
        this.#state = this.#look();
      }
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #isDue(): boolean {
    const now = this.#clock();
    const { last, failure } = this.state;
    if (last !== undefined && last >= latest(this.#options.at, now)) return false;
    return failure === undefined || +now - +failure.at >= limits.backupRetryInterval;
  }

  async #take(): Promise<void> {
    const { folder, keep, take, log } = this.#options;
    const { signal } = this.#abort;
    const begun = this.#clock();
    const file = folder.fileOf(begun);
    try {
      folder.prepare();
      await take(file, signal);
      this.#failure = undefined;
      folder.note(undefined);
      folder.prune(keep);
      const seconds = (+this.#clock() - +begun) / 1_000;
      log.info({ file, seconds }, 'took a backup, restored it and verified it');
    } catch (err) {
      if (signal.aborted) return;
      const reason = err instanceof Error ? err.message : String(err);
      // The log shows the cause of an error: the reason says what became of it.
      log.error({ reason, err, file }, 'THE BACKUP FAILED: it is tried again in an hour');
      this.#note({ at: begun, reason });
    }
  }

  #note(failure: BackupFailure): void {
    this.#failure = failure;
    try {
      this.#options.folder.note(failure);
    } catch (err) {
      this.#options.log.error({ err }, 'the failed backup could not be noted in its folder');
    }
  }
}

/** The last moment that had this time of day, not after `now`. */
export function latest({ hour, minute }: TimeOfDay, now: Date): Date {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate(), hour, minute);
  if (today <= now) return today;
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1, hour, minute);
}
