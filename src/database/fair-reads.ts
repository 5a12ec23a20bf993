// Who reads next. A merchant may start a query while it holds fewer connections than are free: the
// first gets half of them, and what a second one takes leaves some for a third. Room is kept for
// others before they come, because a query under way cannot be taken back. What exceeds this waits,
// merchants by turns, and is refused rather than kept beyond its time.

import { limits } from '../core/limits.ts';
import { DatabaseFailure, type Reader, type Statement } from '../core/statement.ts';

interface Waiting {
  readonly since: number;
  start(): void;
  refuse(error: DatabaseFailure): void;
}

/** One merchant's queries. */
interface Line {
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
  /** Of merchants that read just now. What is known of a merchant goes when it is done. */
  readonly #lines = new Map<string, Line>();
  /** The lines in which somebody waits, in the order of their turns. */
  readonly #turns = new Set<Line>();
  #free: number;
  #waiting = 0;
  #alarm: NodeJS.Timeout | undefined;

  constructor(reader: Reader, connections: number) {
    this.#reader = reader;
    this.#free = connections;
  }

  /** Queries that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The reader of one merchant. Its queries fail as `away` when their wait would be too long. */
  readerOf(merchant: string): Reader {
    return { query: (statement) => this.#query(merchant, statement) };
  }

  async #query<Row>(merchant: string, statement: Statement<Row>): Promise<Row[]> {
    const line = this.#lineOf(merchant);
    // Nobody of this merchant waits then: whoever may start has been started.
    if (line.running < this.#free) this.#take(line);
    else await this.#turn(line);
    const started = performance.now();
    try {
      return await this.#reader.query(statement);
    } finally {
      this.#giveBack(line, performance.now() - started);
    }
  }

  #lineOf(merchant: string): Line {
    let line = this.#lines.get(merchant);
    if (line === undefined) {
      line = { merchant, waiting: [], running: 0, duration: 0 };
      this.#lines.set(merchant, line);
    }
    return line;
  }

  #take(line: Line): void {
    line.running += 1;
    this.#free -= 1;
  }

  /** Resolves when the query may run. @throws DatabaseFailure when that would be too late. */
  #turn(line: Line): Promise<void> {
    if (this.#isTooLong(line)) {
      this.#forget(line);
      throw tooMany();
    }
    return new Promise((start, refuse) => {
      line.waiting.push({ since: performance.now(), start, refuse });
      this.#turns.add(line);
      this.#waiting += 1;
      this.#watch();
    });
  }

  #isTooLong({ waiting, running, duration }: Line): boolean {
    const ahead = waiting.length;
    if (this.#waiting >= limits.queuedTotalMax || ahead >= limits.queuedPerMerchantMax) return true;
    const wait = (ahead * duration) / Math.max(1, running);
    return ahead >= limits.queuedPerMerchantMin && wait > limits.readWaitMax;
  }

  #giveBack(line: Line, duration: number): void {
    line.duration += (duration - line.duration) * (line.duration === 0 ? 1 : latestShare);
    line.running -= 1;
    this.#free += 1;
    // One that ends may let several start: it leaves more free for each of them to hold.
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#startFirst(next);
    this.#forget(line);
  }

  /** Skips merchants that hold enough: at most as many as there are connections. */
  #next(): Line | undefined {
    if (this.#free === 0) return undefined;
    for (const line of this.#turns) if (line.running < this.#free) return line;
    return undefined;
  }

  #startFirst(line: Line): void {
    const first = line.waiting.shift();
    this.#turns.delete(line);
    if (line.waiting.length > 0) this.#turns.add(line);
    this.#waiting -= 1;
    this.#take(line);
    first?.start();
  }

  #forget(line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(line.merchant);
  }

  /** One timer for all that wait: it goes off when the oldest has waited too long. */
  #watch(): void {
    if (this.#alarm !== undefined || this.#waiting === 0) return;
    const oldest = Math.min(...[...this.#turns].map((line) => line.waiting[0]?.since ?? 0));
    const left = oldest + limits.readWaitMax - performance.now();
    this.#alarm = setTimeout(() => {
      this.#alarm = undefined;
      for (const line of this.#turns) this.#refuseLate(line);
      this.#watch();
    }, left);
    this.#alarm.unref();
  }

  #refuseLate(line: Line): void {
    const latest = performance.now() - limits.readWaitMax;
    const { waiting } = line;
    const kept = waiting.findIndex(({ since }) => since > latest);
    const late = waiting.splice(0, kept < 0 ? waiting.length : kept);
    this.#waiting -= late.length;
    if (waiting.length === 0) this.#turns.delete(line);
    this.#forget(line);
    for (const { refuse } of late) refuse(tooMany());
  }
}

function tooMany(): DatabaseFailure {
  return new DatabaseFailure('away', undefined, new Error('too many wait for a connection'));
}
