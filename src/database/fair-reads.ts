// Which query runs next. A merchant may start a query while it holds fewer connections than are
// free: the first gets half of them, and what a second one takes leaves some for a third.
// Connections are kept free for other merchants, because a running query cannot be stopped. Further
// queries wait, one merchant after the other, and are refused when they would wait too long.

import { limits } from '../core/limits.ts';
import type { DatabaseFailure, Reader, Statement } from '../core/statement.ts';
import { tooMany } from './failure.ts';

interface Waiting {
  readonly since: number;
  start(): void;
  refuse(error: DatabaseFailure): void;
}

/** One merchant's queries. */
interface MerchantQueue {
  readonly merchant: string;
  readonly waiting: Waiting[];
  running: number;
  /** How long a query of this merchant takes (ms), a moving average. */
  duration: number;
}

/** How much the latest query counts in the average: a burst of slow ones shows after a few. */
const latestShare = 1 / 8;

export class FairReads {
  readonly #reader: Reader;
  /**
   * Of merchants that read now. An entry is removed when the last query of its merchant has ended.
   */
  readonly #queues = new Map<string, MerchantQueue>();
  /** The queues with waiting queries, in the order in which they are served. */
  readonly #waitingQueues = new Set<MerchantQueue>();
  #free: number;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(reader: Reader, connections: number) {
    this.#reader = reader;
    this.#free = connections;
  }

  /** How many queries wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The reader of one merchant. Its queries fail as `away` when their wait would be too long. */
  readerOf(merchant: string): Reader {
    return { query: (statement) => this.#query(merchant, statement) };
  }

  async #query<Row>(merchant: string, statement: Statement<Row>): Promise<Row[]> {
    const queue = this.#queueOf(merchant);
    // No query of this merchant waits then: those that may start have been started.
    if (queue.running < this.#free) this.#begin(queue);
    else await this.#wait(queue);
    const started = performance.now();
    try {
      return await this.#reader.query(statement);
    } finally {
      this.#end(queue, performance.now() - started);
    }
  }

  #queueOf(merchant: string): MerchantQueue {
    let queue = this.#queues.get(merchant);
    if (queue === undefined) {
      queue = { merchant, waiting: [], running: 0, duration: 0 };
      this.#queues.set(merchant, queue);
    }
    return queue;
  }

  #begin(queue: MerchantQueue): void {
    queue.running += 1;
    this.#free -= 1;
  }

  /** Resolves when the query may run. @throws DatabaseFailure when that would be too late. */
  #wait(queue: MerchantQueue): Promise<void> {
    if (this.#isTooLong(queue)) {
      this.#forget(queue);
      throw tooMany();
    }
    return new Promise((start, refuse) => {
      queue.waiting.push({ since: performance.now(), start, refuse });
      this.#waitingQueues.add(queue);
      this.#waiting += 1;
      this.#setTimer();
    });
  }

  #isTooLong({ waiting, running, duration }: MerchantQueue): boolean {
    const ahead = waiting.length;
    if (this.#waiting >= limits.queuedTotalMax || ahead >= limits.queuedPerMerchantMax) return true;
    const wait = (ahead * duration) / Math.max(1, running);
    return ahead >= limits.queuedPerMerchantMin && wait > limits.readWaitMax;
  }

  #end(queue: MerchantQueue, duration: number): void {
    queue.duration += (duration - queue.duration) * (queue.duration === 0 ? 1 : latestShare);
    queue.running -= 1;
    this.#free += 1;
    // One end may let several start, because each merchant may hold as many as are free.
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#startFirst(next);
    this.#forget(queue);
  }

  /** Skips merchants that hold enough: at most as many as there are connections. */
  #next(): MerchantQueue | undefined {
    if (this.#free === 0) return undefined;
    for (const queue of this.#waitingQueues) if (queue.running < this.#free) return queue;
    return undefined;
  }

  #startFirst(queue: MerchantQueue): void {
    const first = queue.waiting.shift();
    this.#waitingQueues.delete(queue);
    if (queue.waiting.length > 0) this.#waitingQueues.add(queue);
    this.#waiting -= 1;
    this.#begin(queue);
    first?.start();
  }

  #forget(queue: MerchantQueue): void {
    if (queue.running === 0 && queue.waiting.length === 0) this.#queues.delete(queue.merchant);
  }

  /** One timer for all that wait: it ends when the oldest has waited too long. */
  #setTimer(): void {
    if (this.#timer !== undefined || this.#waiting === 0) return;
    const oldest = Math.min(
      ...[...this.#waitingQueues].map((queue) => queue.waiting[0]?.since ?? 0),
    );
    const left = oldest + limits.readWaitMax - performance.now();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      for (const queue of this.#waitingQueues) this.#refuseLate(queue);
      this.#setTimer();
    }, left);
    this.#timer.unref();
  }

  #refuseLate(queue: MerchantQueue): void {
    const latest = performance.now() - limits.readWaitMax;
    const { waiting } = queue;
    const kept = waiting.findIndex(({ since }) => since > latest);
    const late = waiting.splice(0, kept < 0 ? waiting.length : kept);
    this.#waiting -= late.length;
    if (waiting.length === 0) this.#waitingQueues.delete(queue);
    this.#forget(queue);
    for (const { refuse } of late) refuse(tooMany());
  }
}
