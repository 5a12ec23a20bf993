// The limit of one credential, or of one merchant as a whole. A request needs this node's own exact
// count and a token of the bucket that all nodes share. A node leases tokens before it needs them,
// a fixed number at a time, and gives back what it did not use within 200 ms. A few requests need
// no token, so that a quiet caller costs no write. While a bucket is empty, the database says when
// each node may ask it next, one node after the other.

import type { RateLimit } from '../../core/principal.ts';
import { askIntervalSeconds, type BucketAnswer, type BucketAsk } from './bucket-store.ts';
import { Gcra } from './gcra.ts';

/** Times are in microseconds. */
const second = 1_000_000;
/** How long the tokens of a lease may be used. */
const leaseLife = second / 5;
/**
 * The bucket holds the burst and what comes in within this time. So no token is lost while nodes
 * wait to ask, and a single node never finds the bucket empty before its own count is used up. It
 * is the interval of asking plus the time that an answer may take.
 */
const extraTime = (askIntervalSeconds + 0.05) * second;
/** A larger part would leave too little for the other nodes when one node is busy. */
const leasePartOfBurst = 1 / 8;
/** What each node admits without a token: of the burst at once, and of the rate. */
const freePartOfBurst = 0.005;
const freePartOfRate = 0.01;
/** When a request has to wait longer for a token, the bucket is asked again: others give back. */
const pauseMax = second;
/** The clocks of node and database do not run at exactly the same speed. */
const tolerance = 0.01;

/** `open`: one more is admitted. `empty`: none now. `unknown`: the database has to be asked. */
export type LimitState = 'open' | 'empty' | 'unknown';

interface Whose {
  readonly merchantId: string;
  /** Empty for the merchant as a whole. */
  readonly credentialId: string;
  /** How many processes share what their node admits without a token. */
  readonly workers: number;
}

export class LimitCounter {
  readonly limit: RateLimit;
  /** How many requests wait for an answer of the database. */
  waiting = 0;
  readonly #merchantId: string;
  readonly #credentialId: string;
  readonly #own: Gcra;
  readonly #free: Gcra;
  /** Tokens per microsecond. */
  readonly #rate: number;
  readonly #bucketSize: number;
  readonly #leaseSize: number;
  /** Tokens of the lease; below zero: admitted without the database, and owed. */
  #tokens = 0;
  #leaseEndsAt = 0;
  /** When the bucket will be full, by the last answer to this node. */
  #fullAt = 0;
  /** The bucket is not asked before. */
  #pausedUntil = 0;
  #lastRequestAt = 0;
  #isAsking = false;
  #askedAt = 0;
  #wanted = 0;
  /** Tokens used since the bucket was asked. */
  #usedSinceAsk = 0;

  /** `before`: the same one under another limit. What it has used counts, as far as it fits. */
  constructor(
    { merchantId, credentialId, workers }: Whose,
    limit: RateLimit,
    now: number,
    before?: LimitCounter,
  ) {
    const { perMinute, burst } = limit;
    this.limit = limit;
    this.#merchantId = merchantId;
    this.#credentialId = credentialId;
    this.#own = new Gcra(limit, now, before === undefined ? 0 : before.#own.used(now));
    const freeBurst = Math.floor((burst * freePartOfBurst) / workers);
    this.#free = new Gcra(
      { perMinute: (perMinute * freePartOfRate) / workers, burst: freeBurst },
      now,
    );
    this.#rate = perMinute / (60 * second);
    const extra = this.#rate * extraTime;
    this.#bucketSize = burst + extra;
    this.#leaseSize = Math.max(1, Math.floor(Math.max(burst * leasePartOfBurst, extra)));
  }

  /**
   * @param isAlone without the database only what this node has admitted counts.
   * @param requests as how many the next one counts. One token lets it in; what it needs beyond the
   *   tokens at hand is owed, so that a bucket is not asked for more at a time than it leases.
   */
  stateAt(now: number, isAlone: boolean, requests = 1): LimitState {
    if (!this.#own.admits(now, this.#atMost(requests))) return 'empty';
    if (isAlone || this.#usable(now) >= 1) return 'open';
    if (now < this.#pausedUntil) return 'empty';
    return this.#free.admits(now) ? 'open' : 'unknown';
  }

  /** Counts a request that is admitted. */
  take(now: number, requests = 1): void {
    let left = this.#atMost(requests);
    this.#own.take(now, left);
    this.#lastRequestAt = now;
    if (this.#usable(now) < 1 && this.#free.admits(now)) {
      this.#free.take(now);
      left -= 1;
    }
    if (left === 0) return;
    this.#tokens = Math.max(Math.min(this.#tokens, this.#usable(now)) - left, -this.limit.burst);
    this.#usedSinceAsk += left;
  }

  /** Whether to ask for the next lease before a request has to wait for it. */
  isLow(now: number): boolean {
    if (this.#isAsking || now < this.#pausedUntil || this.#leaseSize === 1) return false;
    // A caller that used most of a lease before its end will need another one.
    if (now < this.#leaseEndsAt) return this.#tokens <= this.#leaseSize / 8;
    return this.#free.limit.burst > 0 && !this.#free.admits(now);
  }

  /** Counts a request that is refused. Returns the microseconds until one may be admitted. */
  refuse(now: number, requests = 1): number {
    this.#lastRequestAt = now;
    const isPaused = this.#usable(now) < 1 && now < this.#pausedUntil;
    const shared = isPaused ? Math.max(this.#pausedUntil - now, this.#nextTokenIn(now)) : 0;
    return Math.max(this.#own.wait(now, this.#atMost(requests)), shared);
  }

  /** How many requests may still be admitted, as far as this node knows. */
  remaining(now: number): number {
    const own = this.#own.remaining(now);
    if (now < this.#pausedUntil) return Math.min(own, Math.max(0, this.#usable(now)));
    // What is left of a lease is not in use, also when the lease is over: it is given back.
    const inUse = Math.max(0, this.#fullAt - now) * this.#rate - this.#tokens;
    const shared = Math.floor(this.limit.burst - Math.max(0, inUse) + tolerance);
    return Math.min(own, Math.max(0, shared));
  }

  /** Whether other nodes lack what this node holds or owes, and no request comes to settle it. */
  needsSettling(now: number): boolean {
    if (this.#isAsking || now < this.#leaseEndsAt) return false;
    return this.#tokens < 0 || (this.#tokens > 0 && now < this.#fullAt);
  }

  /** Whether a new one would do the same. */
  isIdle(now: number): boolean {
    if (this.#isAsking || this.waiting > 0 || now - this.#lastRequestAt < pauseMax) return false;
    return this.#own.isFull(now) && this.#free.isFull(now) && !this.needsSettling(now);
  }

  ask(now: number): BucketAsk {
    // A bucket that was full again since the lease ended has no room for what comes back.
    const isWorthless = this.#tokens > 0 && now >= Math.max(this.#leaseEndsAt, this.#fullAt);
    const isWanted = this.waiting > 0 || now - this.#lastRequestAt < leaseLife;
    this.#wanted = isWanted ? this.#leaseSize : 0;
    this.#askedAt = now;
    this.#isAsking = true;
    this.#usedSinceAsk = 0;
    return {
      merchantId: this.#merchantId,
      credentialId: this.#credentialId,
      secondsPerToken: 60 / this.limit.perMinute,
      size: this.#bucketSize,
      owed: isWorthless ? 0 : -this.#tokens,
      usedHere: this.#own.used(now),
      wanted: this.#wanted,
    };
  }

  answer({ granted, full_in, next_ask_in }: BucketAnswer, now: number): void {
    this.#isAsking = false;
    // The question gave back the old lease, so what was used meanwhile belongs to the new one.
    this.#tokens = granted - this.#usedSinceAsk;
    this.#leaseEndsAt = now + leaseLife;
    this.#fullAt = now + full_in * second;
    if (next_ask_in === null) return;
    // From the time of the question, because the answer may have taken long.
    const pause = Math.max(next_ask_in * second, this.#nextTokenIn(now));
    this.#pausedUntil = this.#askedAt + Math.min(pause, pauseMax);
  }

  /** It is unknown whether the database did it. */
  fail(): void {
    this.#isAsking = false;
  }

  #atMost(requests: number): number {
    return Math.max(1, Math.min(requests, this.limit.burst));
  }

  /** Tokens that may be used now, or owed ones below zero. */
  #usable(now: number): number {
    return now < this.#leaseEndsAt ? this.#tokens : Math.min(this.#tokens, 0);
  }

  /** How long until the bucket holds a token. */
  #nextTokenIn(now: number): number {
    return this.#fullAt - now - (this.#bucketSize - 1) / this.#rate;
  }
}
