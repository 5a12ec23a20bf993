// One worker, as the main process sees it: started, listening, serving, leaving, ended.

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../config.ts';
import type { Measures } from './measures.ts';
import type { Charge, FromWorker, Known, ToWorker } from './messages.ts';

export interface KeptWorkerOptions {
  readonly charge: Charge;
  known(): Known;
  /** Takes the log of a worker, piece by piece. */
  intoLog(worker: number): (text: string) => void;
  onCount(message: Extract<FromWorker, { say: 'count' }>): Promise<number | undefined>;
}

export interface End {
  readonly code: number | null;
  readonly signal: string | null;
  /** What it said itself. */
  readonly reason: string | undefined;
}

/** A worker that is too busy to answer is counted as it was last read. */
const measurePatience = 2_000;

export class KeptWorker {
  readonly pid: number;
  /** Its URL, once it listens. @throws what keeps it from it */
  readonly listening: Promise<string>;
  readonly ended: Promise<End>;
  /** As last read. */
  measures: Measures = [];
  isServing = false;
  hasServed = false;
  isLeaving = false;
  #isHere = false;
  #isListening = false;
  readonly #worker: Worker;
  #measuring: Promise<void> | undefined;
  #measured: () => void = () => undefined;

  constructor(options: KeptWorkerOptions) {
    const worker = cluster.fork();
    this.#worker = worker;
    this.pid = worker.process.pid ?? 0;
    let failure: Error | undefined;
    let listen: (url: string) => void = () => undefined;
    const listening = new Promise<string>((resolve) => {
      listen = resolve;
    });
    worker.process.stderr?.setEncoding('utf8').on('data', options.intoLog(this.pid));
    worker.on('error', () => undefined);
    worker.on('message', (message: FromWorker) => {
      if (message.say === 'here') {
        this.#isHere = true;
        this.#tell({ say: 'begin', charge: options.charge, known: options.known() });
      } else if (message.say === 'listening') {
        this.#isListening = true;
        listen(message.url);
      } else if (message.say === 'failed') {
        failure = message.isUsage ? new UsageError(message.reason) : new Error(message.reason);
      } else if (message.say === 'measured') {
        this.measures = message.measured;
        this.#measured();
      } else if (message.say === 'count') {
        const { id } = message;
        void options.onCount(message).then((wait) => this.#tell({ say: 'counted', id, wait }));
      }
    });
    this.ended = once(worker, 'exit').then(([code, signal]) => {
      this.isServing = false;
      this.#measured();
      return { code, signal, reason: failure?.message };
    });
    const early = this.ended.then(({ code, signal }) => {
      throw failure ?? new Error(`a worker ended at its start: ${signal ?? `exit code ${code}`}`);
    });
    this.listening = Promise.race([listening, early]);
    // It may end when nobody waits for it any more.
    this.listening.catch(() => undefined);
    early.catch(() => undefined);
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  serve(): void {
    this.isServing = true;
    this.hasServed = true;
    this.#tell({ say: 'serve' });
  }

  lead(): void {
    this.#tell({ say: 'lead' });
  }

  know(known: Known): void {
    this.#tell({ say: 'know', known });
  }

  /** Its metrics now, or as they were last read. */
  async measure(): Promise<Measures> {
    this.#measuring ??= new Promise<void>((resolve) => {
      this.#measured = resolve;
      this.#tell({ say: 'measure' });
    }).finally(() => {
      this.#measuring = undefined;
    });
    await Promise.race([this.#measuring, sleep(measurePatience, undefined, { ref: false })]);
    return this.measures;
  }

  /** Finishes what it has, within `patience` (ms). Resolves when it has ended. */
  async leave(isReplaced: boolean, patience: number): Promise<void> {
    this.isLeaving = true;
    this.isServing = false;
    // It would not hear.
    if (!this.#isHere) this.kill();
    this.#tell({ say: 'leave', isReplaced });
    const timer = setTimeout(() => this.kill(), patience);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.isLeaving = true;
    this.#worker.process.kill('SIGKILL');
  }

  /** Whoever cannot be told has ended, or is about to. */
  #tell(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message, () => undefined);
  }
}
