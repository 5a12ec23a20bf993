// The way to the shared buckets: what is asked at the same moment is one statement, one statement
// is under way at a time, and nobody waits for it beyond a moment. While the database is late or
// away nothing is asked and each node keeps the limits by itself.

import type { Writer } from '../../core/statement.ts';
import { commitAll } from '../transact.ts';
import type { Clock } from './gcra.ts';
import type { Answer } from './share.ts';
import { type BucketAnswer, type BucketAsk, takeTokens } from './store.ts';

/** Whatever draws on a shared bucket. */
export interface Drawer {
  ask(now: number): BucketAsk;
  answer(answer: Answer, now: number): void;
  fail(): void;
}

/** How long nothing is asked after a failure, in microseconds. */
const restAfterFailure = 1_000_000;

/** Those who ask in one statement. */
class Round {
  readonly drawers: Set<Drawer>;
  readonly isOver: Promise<void>;
  end: () => void = () => undefined;

  constructor(drawers: Iterable<Drawer> = []) {
    this.drawers = new Set(drawers);
    this.isOver = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

export class Leases {
  readonly #writer: Writer;
  readonly #clock: Clock;
  /** In milliseconds. */
  readonly #patience: number;
  #next: Round | undefined;
  #current: Round | undefined;
  #isLate = false;
  #awayUntil = 0;
  #isClosed = false;

  constructor(writer: Writer, clock: Clock, patience: number) {
    this.#writer = writer;
    this.#clock = clock;
    this.#patience = patience;
    // The first to ask would wait for the connection.
    void writer.connect().then(
      (connection) => connection.release(),
      () => undefined,
    );
  }

  /** Whether no answer is to be expected soon. */
  isAway(now: number): boolean {
    return this.#isLate || now < this.#awayUntil;
  }

  /** Resolves when the drawer has its answer, or when it is not worth waiting for any longer. */
  ask(drawer: Drawer): Promise<void> {
    if (this.#current?.drawers.has(drawer)) return this.#current.isOver;
    this.#next ??= new Round();
    this.#next.drawers.add(drawer);
    const { isOver } = this.#next;
    // Behind the requests that arrived together with this one.
    if (this.#current === undefined) setImmediate(() => this.#send());
    return isOver;
  }

  /** Waits for the statement under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current?.isOver;
  }

  #send(): void {
    const round = this.#next;
    if (this.#current !== undefined || round === undefined) return;
    this.#next = undefined;
    if (this.#isClosed) {
      round.end();
      return;
    }
    this.#current = round;
    const timer = setTimeout(() => this.#callLate(round), this.#patience);
    timer.unref();
    void this.#take([...round.drawers]).finally(() => {
      clearTimeout(timer);
      this.#isLate = false;
      this.#current = undefined;
      round.end();
      this.#send();
    });
  }

  /** After one more look at the network: this process may have been busy for as long itself. */
  #callLate(round: Round): void {
    setImmediate(() => {
      if (this.#current !== round) return;
      this.#isLate = true;
      round.end();
      const released = this.#next;
      if (released === undefined) return;
      // They are still asked for, but whoever comes later waits for the answer again.
      this.#next = new Round(released.drawers);
      released.end();
    });
  }

  async #take(drawers: readonly Drawer[]): Promise<void> {
    const now = this.#clock();
    try {
      const asks = drawers.map((drawer) => drawer.ask(now));
      const [rows = []] = await commitAll(this.#writer, [takeTokens(asks)]);
      const answeredAt = this.#clock();
      for (const { position, granted, full_in } of rows as readonly BucketAnswer[]) {
        drawers[position - 1]?.answer({ granted, fullIn: full_in * 1_000_000 }, answeredAt);
      }
    } catch {
      // Whoever holds the connection has reported it.
      this.#awayUntil = this.#clock() + restAfterFailure;
      for (const drawer of drawers) drawer.fail();
    }
  }
}
