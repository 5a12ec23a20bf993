// How nodes ask the shared buckets. Questions of the same moment share one statement, one statement
// runs at a time, and no request waits for it longer than the patience. While the database is late
// or away it is not asked, and each node keeps the limits by its own counts.

import type { Writer } from '../../core/statement.ts';
import { commitAll } from '../transact.ts';
import { type BucketAnswer, takeTokens } from './bucket-store.ts';
import { DatabaseClock } from './database-clock.ts';
import type { Clock } from './gcra.ts';
import type { LimitCounter } from './limit-counter.ts';

/** How long nothing is asked after a failure, in microseconds. */
const restAfterFailure = 1_000_000;

/** The counters that ask in one statement. */
class AskBatch {
  readonly counters: Set<LimitCounter>;
  readonly isOver: Promise<void>;
  end: () => void = () => undefined;

  constructor(counters: Iterable<LimitCounter> = []) {
    this.counters = new Set(counters);
    this.isOver = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

export class Leases {
  readonly #writer: Writer;
  readonly #clock: Clock;
  readonly #databaseClock = new DatabaseClock();
  /** In milliseconds. */
  readonly #patience: number;
  #next: AskBatch | undefined;
  #current: AskBatch | undefined;
  #isLate = false;
  #awayUntil = 0;
  #isClosed = false;

  constructor(writer: Writer, clock: Clock, patience: number) {
    this.#writer = writer;
    this.#clock = clock;
    this.#patience = patience;
    // Otherwise the first request would wait for the connection.
    void writer.connect().then(
      (connection) => connection.release(),
      () => undefined,
    );
  }

  /** Whether no answer is to be expected soon. */
  isAway(now: number): boolean {
    return this.#isLate || now < this.#awayUntil;
  }

  /** Resolves when the counter has its answer, or when the patience is over. */
  ask(counter: LimitCounter): Promise<void> {
    if (this.#current?.counters.has(counter)) return this.#current.isOver;
    this.#next ??= new AskBatch();
    this.#next.counters.add(counter);
    const { isOver } = this.#next;
    // After the requests that arrived together with this one.
    if (this.#current === undefined) setImmediate(() => this.#send());
    return isOver;
  }

  /** Waits for the statement in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current?.isOver;
  }

  #send(): void {
    const batch = this.#next;
    if (this.#current !== undefined || batch === undefined) return;
    this.#next = undefined;
    if (this.#isClosed) {
      batch.end();
      return;
    }
    this.#current = batch;
    // After one more iteration of the event loop, because this process may have been busy itself.
    const timer = setTimeout(() => setImmediate(() => this.#endLate(batch)), this.#patience);
    timer.unref();
    void this.#take([...batch.counters]).finally(() => {
      clearTimeout(timer);
      this.#isLate = false;
      this.#current = undefined;
      batch.end();
      this.#send();
    });
  }

  #endLate(batch: AskBatch): void {
    if (this.#current !== batch) return;
    this.#isLate = true;
    batch.end();
    const waiting = this.#next;
    if (waiting === undefined) return;
    // The question is still asked later, and later requests wait for its answer.
    this.#next = new AskBatch(waiting.counters);
    waiting.end();
  }

  async #take(counters: readonly LimitCounter[]): Promise<void> {
    const askedAt = this.#clock();
    try {
      const asks = counters.map((counter) => counter.ask(askedAt));
      const question = takeTokens(asks, this.#databaseClock.timeAt(askedAt));
      const [rows = []] = await commitAll(this.#writer, [question]);
      const answeredAt = this.#clock();
      for (const row of rows as readonly BucketAnswer[]) {
        counters[row.position - 1]?.answer(row, answeredAt);
        this.#databaseClock.note(askedAt, row.answered_at, answeredAt);
      }
    } catch {
      // The pool has reported the failure.
      this.#awayUntil = this.#clock() + restAfterFailure;
      for (const counter of counters) counter.fail();
    }
  }
}
