// What one node may admit of a limit that all nodes share. The bucket is in the database; a node
// takes tokens from it ahead of need, in leases that are worthless after a moment, and gives back
// what it did not use. A little it admits on credit and settles later or not at all, so that a quiet
// caller costs no write. What all this can add to the limit, with two nodes: see the constants.

import type { RateLimit } from '../../core/principal.ts';

/** Times are in microseconds. */
const minute = 60_000_000;

/**
 * How long the bucket is left alone once it is empty, by all nodes together: 8 questions a second.
 * Meanwhile each node spends what it holds, so the bucket holds as much more than the burst. With
 * the default limits, whose burst is 10 s of rate, that adds 2 % of the burst.
 */
const poolingTime = 200_000;
/** By so much a pause may be shorter, or the same node would always come first. */
const poolingJitter = 0.25;
/** So much shorter is a pause: the answer takes its time as well. */
const pauseTime = poolingTime - 25_000;
/** How much the latest answers count, once they are about so many tokens. */
const latestPart = 0.4;
const sampleTokens = 4;
/** However many nodes there are, none is kept from asking for longer. */
const pauseMax = 1_000_000;
/** How long a lease is good for, and for how long it is meant to last: 2 % of the burst. */
const leaseLife = 200_000;
/** A rate is not guessed from less time, or two requests would look like a flood. */
const sampleMin = 10_000;
/** On credit: of the burst at once (1 % with two nodes), and of the rate for good (2 %). */
const creditOfBurst = 0.005;
const creditOfRate = 0.01;
/** No node takes more ahead of need, or another would find an empty bucket. */
const leaseOfBurst = 1 / 3;
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
  /** Microseconds until the bucket will be full again. */
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
  /** No lease is larger. A small burst is not what limits a fast pace. */
  readonly #leaseMax: number;
  /** Tokens held; below zero, owed. */
  #balance = 0;
  #balancedAt: number;
  #leasedAt = 0;
  /** Held for too long: to be given back. */
  #stale = 0;
  /** Admitted since the last question, which was asked then; and sought, admitted or not. */
  #spent = 0;
  #sought = 0;
  #soughtAt: number;
  /** How many waited for the answer to that question: they are not those yet to come. */
  #served = 0;
  #askedAt: number;
  #isAsking = false;
  #asked: Ask & { readonly after: number } = { owed: 0, wanted: 0, after: 0 };
  /** Which part of what comes into an empty bucket this node gets, a moving average. */
  #part = 1;
  #taken = 0;
  #came = 0;
  #pausedUntil = 0;
  /** When the bucket will be full, as far as this node was told. */
  #fullAt = 0;

  constructor(limit: RateLimit, now: number) {
    this.#limit = limit;
    this.#credit = Math.floor(limit.burst * creditOfBurst);
    this.#rate = limit.perMinute / minute;
    this.size = limit.burst + this.#rate * poolingTime;
    this.#leaseMax = Math.max(1, limit.burst * leaseOfBurst, this.#rate * leaseLife);
    this.#balancedAt = now;
    this.#askedAt = now;
    this.#soughtAt = now;
  }

  standing(now: number): Standing {
    this.#settle(now);
    if (this.#balance > 1 - tolerance) return 'open';
    if (now < this.#pausedUntil) return 'empty';
    return this.#balance - 1 >= -this.#credit ? 'open' : 'unknown';
  }

  /** Counts one that was admitted, be it for lack of an answer. */
  spend(now: number): void {
    this.#soughtAt = now;
    this.#balance = Math.max(this.#balance - 1, -this.#limit.burst);
    this.#spent += 1;
    this.#sought += 1;
  }

  /** Counts one that was refused. */
  miss(now: number): void {
    this.#soughtAt = now;
    this.#sought += 1;
  }

  /** Whether it is time to ask, before anybody has to wait for the answer. */
  isLow(now: number): boolean {
    if (this.#isAsking || now < this.#pausedUntil || this.#sought <= this.#served) return false;
    const left = this.#balance + this.#credit;
    if (left > Math.max(this.#credit / 2, this.#asked.wanted / 4)) return false;
    return this.#balance <= -1 || this.#demand(now) >= 1;
  }

  /** Whether something is to be given back or settled that nobody may come for any more. */
  isLeftOver(now: number): boolean {
    this.#settle(now);
    if (this.#isAsking || now - this.#soughtAt < leaseLife) return false;
    return this.#stale > 0 || this.#balance < -this.#credit;
  }

  /** Whether a new one would do the same. */
  isSettled(now: number): boolean {
    this.#settle(now);
    const isQuiet = now - this.#soughtAt > pauseMax && !this.#isAsking && this.waiting === 0;
    return isQuiet && this.#balance === 0 && this.#stale === 0;
  }

  ask(now: number): Ask {
    this.#settle(now);
    const wanted = Math.max(this.#demand(now), this.waiting);
    const ask = { owed: -this.#balance - this.#stale, wanted, after: now - this.#askedAt };
    this.#asked = ask;
    this.#askedAt = now;
    this.#spent = 0;
    this.#sought = 0;
    this.#served = this.waiting;
    this.#isAsking = true;
    return ask;
  }

  answer({ granted, fullIn }: Answer, now: number): void {
    const { owed, wanted, after } = this.#asked;
    this.#isAsking = false;
    this.#stale = 0;
    // Meanwhile it has spent from the lease before, which has been given back.
    this.#balance = granted - this.#spent;
    this.#balancedAt = now;
    this.#leasedAt = now;
    this.#fullAt = now + fullIn;
    if (granted < wanted) this.#rest(granted + owed, this.#rate * Math.min(after, pauseMax), now);
  }

  /** Nobody knows whether the database did it. */
  fail(): void {
    this.#isAsking = false;
  }

  /** The microseconds until one more may be admitted, as far as can be told. */
  wait(now: number): number {
    return Math.max(this.#pausedUntil - now, this.#wait(now));
  }

  /** How many requests may still be admitted, as far as can be told. */
  remaining(now: number): number {
    if (now < this.#pausedUntil) return Math.max(0, Math.floor(this.#balance + tolerance));
    const inUse = Math.max(0, this.#fullAt - now) * this.#rate - this.#balance - this.#stale;
    return Math.max(0, Math.floor(this.#limit.burst - Math.max(0, inUse) + tolerance));
  }

  /**
   * The bucket is empty. Alone this node would have got all that came in since it asked before; of
   * what it does not get others live. So all nodes together ask as often as one would.
   */
  #rest(taken: number, came: number, now: number): void {
    this.#taken += taken;
    this.#came += came;
    // Alone it gets within one token of what came: never so little that it seems to be one of two.
    if (this.#came >= sampleTokens) {
      const latest = Math.min(Math.max(this.#taken, 0) / this.#came, 2);
      this.#part += (latest - this.#part) * latestPart;
      this.#taken = 0;
      this.#came = 0;
    }
    const nodes = Math.max(1, Math.round(1 / Math.max(this.#part, 0.01)));
    // What comes in meanwhile must fit into the bucket.
    const turn = Math.min(pauseTime * nodes, poolingTime + this.#limit.burst / this.#rate);
    const patience = Math.max(turn * (1 - poolingJitter * Math.random()), this.#wait(now));
    // From when it asked: however long the answer took, it tells of then.
    this.#pausedUntil = this.#askedAt + Math.min(patience, pauseMax);
  }

  #wait(now: number): number {
    return this.#fullAt - now - (this.size - 1) / this.#rate;
  }

  /** What will be needed until the lease ends, by what was sought since the last question. */
  #demand(now: number): number {
    const rate = (this.#sought - 1) / Math.max(now - this.#askedAt, sampleMin);
    return Math.max(0, Math.floor(Math.min(rate * leaseLife, this.#leaseMax)));
  }

  #settle(now: number): void {
    if (this.#balance > 0 && now - this.#leasedAt > leaseLife) {
      this.#stale += this.#balance;
      this.#balance = 0;
    }
    if (this.#balance < 0) {
      const forgiven = (now - this.#balancedAt) * this.#rate * creditOfRate;
      this.#balance = Math.min(0, this.#balance + forgiven);
    }
    this.#balancedAt = now;
  }
}
