// What one node may admit of a limit that all nodes share. The bucket is in the database; a node
// takes tokens from it ahead of need, in leases that are worthless after a moment, and gives back
// what it did not use. A little it admits on credit and settles later or not at all, so that a
// quiet caller costs no write. Two nodes exceed a limit by what the constants say, together 5 %.

import type { RateLimit } from '../../core/principal.ts';
import { Turns, turnMax } from './turns.ts';

/** Times are in microseconds. */
const minute = 60_000_000;

/**
 * What comes in for so long is held on top of the burst, for those who spend what they hold while
 * they wait for their turn. A turn is shorter by 25 ms, which the way of the answer may take. With
 * the default limits, whose burst is 10 s of rate, it adds 2 % of the burst.
 */
const poolingTime = 200_000;
/** How long a lease is good for, and for how long it is meant to last: 2 % of such a burst. */
const leaseLife = 200_000;
/** On credit: of the burst at once (1 % with two nodes), and of the rate for good (2 %). */
const creditOfBurst = 0.005;
const creditOfRate = 0.01;
/** No node takes more ahead of need, or another would find an empty bucket. */
const leaseOfBurst = 1 / 3;
/** A pace is not guessed from less time, or two requests would look like a flood. */
const sampleMin = 10_000;
/** The clocks of node and database do not run at exactly the same speed. */
const tolerance = 0.01;

/** What a node asks the database for. Tokens, with their fractions where they are owed. */
export interface Ask {
  /** Admitted and not taken from the bucket yet; below zero: taken and not used. */
  readonly owed: number;
  readonly wanted: number;
}

export interface Answer {
  readonly granted: number;
  /** How long until the bucket will be full again. */
  readonly fullIn: number;
}

/** `open`: one is admitted. `empty`: none for now. `unknown`: only the database can tell. */
export type Standing = 'open' | 'empty' | 'unknown';

export class Share {
  /** How many requests wait for an answer of the database. */
  waiting = 0;
  /** How many tokens the bucket holds. */
  readonly size: number;
  readonly #limit: RateLimit;
  readonly #credit: number;
  /** Tokens per microsecond. */
  readonly #rate: number;
  readonly #leaseMax: number;
  readonly #turns = new Turns();
  /** Tokens held, or, below zero, owed; and held for too long, to be given back. */
  #balance = 0;
  #stale = 0;
  #settledAt: number;
  #leasedAt = 0;
  /** Since the last question: admitted, and sought, admitted or not. */
  #spent = 0;
  #sought = 0;
  #soughtAt: number;
  #askedAt: number;
  #isAsking = false;
  #asked: Ask & { readonly served: number } = { owed: 0, wanted: 0, served: 0 };
  /** What came into the bucket between the last two questions. */
  #came = 0;
  #pausedUntil = 0;
  /** When the bucket will be full, as far as this node was told. */
  #fullAt = 0;

  constructor(limit: RateLimit, now: number) {
    this.#limit = limit;
    this.#credit = Math.floor(limit.burst * creditOfBurst);
    this.#rate = limit.perMinute / minute;
    this.size = limit.burst + this.#rate * poolingTime;
    // A small burst is not what limits a fast pace.
    this.#leaseMax = Math.max(1, limit.burst * leaseOfBurst, this.#rate * leaseLife);
    this.#settledAt = now;
    this.#soughtAt = now;
    this.#askedAt = now;
  }

  standing(now: number): Standing {
    this.#settle(now);
    if (this.#balance > 1 - tolerance) return 'open';
    if (now < this.#pausedUntil) return 'empty';
    return this.#balance - 1 >= -this.#credit ? 'open' : 'unknown';
  }

  /** Counts one that was admitted, be it for lack of an answer. */
  spend(now: number): void {
    this.#balance = Math.max(this.#balance - 1, -this.#limit.burst);
    this.#spent += 1;
    this.#sought += 1;
    this.#soughtAt = now;
  }

  /** Counts one that was refused. */
  miss(now: number): void {
    this.#sought += 1;
    this.#soughtAt = now;
  }

  /** Whether it is time to ask, before anybody has to wait for the answer. */
  isLow(now: number): boolean {
    if (this.#isAsking || now < this.#pausedUntil) return false;
    // Those who waited for the last answer say nothing of those to come.
    if (this.#sought <= this.#asked.served) return false;
    const left = this.#balance + this.#credit;
    if (left > Math.max(this.#credit / 2, this.#asked.wanted / 4)) return false;
    return this.#balance <= -1 || this.#demand(now) >= 1;
  }

  /** Whether others lack what this node holds or owes, and nobody may come here to settle it. */
  isLeftOver(now: number): boolean {
    this.#settle(now);
    if (this.#isAsking || now - this.#soughtAt < leaseLife) return false;
    return this.#isWorthReturning(now) || this.#balance < -this.#credit;
  }

  /** Whether a new one would do the same. */
  isSettled(now: number): boolean {
    this.#settle(now);
    if (this.#isAsking || this.waiting > 0 || now - this.#soughtAt < turnMax) return false;
    return this.#balance === 0 && !this.#isWorthReturning(now);
  }

  ask(now: number): Ask {
    this.#settle(now);
    const wanted = Math.max(this.#demand(now), this.waiting);
    this.#asked = { owed: -this.#balance - this.#stale, wanted, served: this.waiting };
    this.#came = Math.min(now - this.#askedAt, turnMax) * this.#rate;
    this.#askedAt = now;
    this.#isAsking = true;
    this.#spent = 0;
    this.#sought = 0;
    return this.#asked;
  }

  answer({ granted, fullIn }: Answer, now: number): void {
    this.#isAsking = false;
    // The lease before has been given back; what was spent from it meanwhile is of the new one.
    this.#balance = granted - this.#spent;
    this.#stale = 0;
    this.#settledAt = now;
    this.#leasedAt = now;
    this.#fullAt = now + fullIn;
    const { owed, wanted } = this.#asked;
    if (granted >= wanted) return;
    this.#turns.note(granted + owed, this.#came);
    // What comes in meanwhile must fit into the bucket.
    const turn = Math.min(this.#turns.next(), poolingTime + this.#limit.burst / this.#rate);
    const patience = Math.min(Math.max(turn, this.#tokenIn(now)), turnMax);
    // From when it asked: however long the answer took, it tells of then.
    this.#pausedUntil = this.#askedAt + patience;
  }

  /** Nobody knows whether the database did it. */
  fail(): void {
    this.#isAsking = false;
  }

  /** How long until one more may be admitted, as far as can be told. */
  wait(now: number): number {
    return Math.max(this.#pausedUntil - now, this.#tokenIn(now));
  }

  /** How many requests may still be admitted, as far as can be told. */
  remaining(now: number): number {
    if (now < this.#pausedUntil) return Math.max(0, Math.floor(this.#balance + tolerance));
    const inUse = Math.max(0, this.#fullAt - now) * this.#rate - this.#balance - this.#stale;
    return Math.max(0, Math.floor(this.#limit.burst - Math.max(0, inUse) + tolerance));
  }

  /** How long until the bucket holds a token. */
  #tokenIn(now: number): number {
    return this.#fullAt - now - (this.size - 1) / this.#rate;
  }

  /** What will be needed while a lease lasts, by what was sought since the last question. */
  #demand(now: number): number {
    const pace = (this.#sought - 1) / Math.max(now - this.#askedAt, sampleMin);
    return Math.max(0, Math.floor(Math.min(pace * leaseLife, this.#leaseMax)));
  }

  /** A bucket that is full has no room for what comes back. */
  #isWorthReturning(now: number): boolean {
    return this.#stale > 0 && now < this.#fullAt;
  }

  #settle(now: number): void {
    if (this.#balance > 0 && now - this.#leasedAt > leaseLife) {
      this.#stale += this.#balance;
      this.#balance = 0;
    }
    if (this.#balance < 0) {
      const forgiven = (now - this.#settledAt) * this.#rate * creditOfRate;
      this.#balance = Math.min(0, this.#balance + forgiven);
    }
    this.#settledAt = now;
  }
}
