// The workers of a node: so many are kept, whatever becomes of each. One that ends by itself has a
// successor, the later the sooner it ended; and all can be replaced, one after the other.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { limits } from '../core/limits.ts';
import { KeptWorker, type KeptWorkerOptions } from './kept-worker.ts';
import type { Measures } from './measures.ts';

interface PoolOptions extends KeptWorkerOptions {
  readonly log: Logger;
  /** What a worker that has ended was last read to have counted. */
  onEnd(measures: Measures): void;
}

/** Whoever served for so long did not end at its start. */
const steadyTime = 10_000;
const firstDelay = 100;
/** For those that never served; and for those that did, which the load may have ended. */
const longestDelay = 30_000;
const longestDelayAfterService = 1_000;
/** Beyond the time to drain: notes, the database, the process itself. */
const endPatience = limits.drainTimeout + limits.connectionSilenceTimeout + 2_000;

export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #members = new Set<KeptWorker>();
  readonly #over = new AbortController();
  #mayServe = false;
  #leader: KeptWorker | undefined;
  #replacing: Promise<void> | undefined;
  #unexpected = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** How many serve. */
  get serving(): number {
    return [...this.#members].filter(({ isServing }) => isServing).length;
  }

  /** How many have ended by themselves. */
  get endedUnexpectedly(): number {
    return this.#unexpected;
  }

  /**
   * Starts the workers. Resolves with their URL once all have tried.
   * @throws what keeps them from it, when none listens. Nothing is left running then.
   */
  async start(): Promise<string> {
    const firsts = Array.from({ length: this.#options.charge.workers }, () => this.#fork());
    const tries = await Promise.allSettled(firsts.map(({ listening }) => listening));
    const listening = tries.find((one) => one.status === 'fulfilled');
    if (listening === undefined) {
      await this.stop();
      throw tries.find((one) => one.status === 'rejected')?.reason;
    }
    for (const member of firsts) void this.#keep(member);
    return listening.value;
  }

  /** From now on whoever listens serves. */
  serve(): void {
    this.#mayServe = true;
    for (const member of this.#members) if (member.isListening) this.#admit(member);
  }

  /** Replaces those that serve now. A second call while one is under way is the same. */
  replace(): Promise<void> {
    this.#replacing ??= this.#replaceAll().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  /** The metrics of each that is there at this moment. */
  measure(): Promise<Measures>[] {
    return [...this.#members].map((member) => member.measure());
  }

  tell(): void {
    const known = this.#options.known();
    for (const member of this.#members) member.know(known);
  }

  /** Resolves when all have finished what they had, or were ended because they took too long. */
  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all([...this.#members].map((member) => member.leave(false, endPatience)));
  }

  kill(): void {
    this.#over.abort();
    for (const member of this.#members) member.kill();
  }

  #fork(): KeptWorker {
    const member = new KeptWorker(this.#options);
    this.#members.add(member);
    void member.ended.then(() => {
      this.#members.delete(member);
      this.#options.onEnd(member.measures);
      if (this.#leader === member) this.#elect();
    });
    // It was told too late.
    if (this.#over.signal.aborted) member.kill();
    return member;
  }

  /** One serves in this place until it is told to leave, or all are. */
  async #keep(first: KeptWorker): Promise<void> {
    const { log } = this.#options;
    let member = first;
    for (let failures = 0; ; ) {
      const begun = performance.now();
      member.listening.then(
        () => this.#admit(member),
        () => undefined,
      );
      const { code, signal, reason } = await member.ended;
      if (member.isLeaving || this.#over.signal.aborted) return;
      this.#unexpected += 1;
      failures = performance.now() - begun > steadyTime ? 0 : failures + 1;
      const longest = member.hasServed ? longestDelayAfterService : longestDelay;
      const delay = failures < 2 ? 0 : Math.min(firstDelay * 2 ** failures, longest);
      log.error({ worker: member.pid, code, signal, reason, delay }, 'a worker ended');
      await sleep(delay, undefined, { signal: this.#over.signal }).catch(() => undefined);
      if (this.#over.signal.aborted) return;
      member = this.#fork();
    }
  }

  #admit(member: KeptWorker): void {
    if (!this.#mayServe || member.isServing || member.isLeaving) return;
    member.serve();
    this.#options.log.info({ worker: member.pid }, 'a worker serves');
    if (this.#leader === undefined) this.#elect();
  }

  /** One of them does what is to be done once. */
  #elect(): void {
    this.#leader = [...this.#members].find(({ isServing }) => isServing);
    this.#leader?.lead();
  }

  async #replaceAll(): Promise<void> {
    const { log } = this.#options;
    log.info({}, 'replacing the workers');
    for (const member of [...this.#members]) {
      if (!member.isServing || this.#over.signal.aborted) continue;
      const successor = this.#fork();
      await successor.listening;
      void this.#keep(successor);
      this.#admit(successor);
      const leaving = member.leave(true, endPatience + limits.replacedNoticeTime);
      if (this.#leader === member) this.#elect();
      await leaving;
    }
    log.info({}, 'replaced the workers');
  }
}
