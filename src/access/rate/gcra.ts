// The generic cell rate algorithm in whole numbers, so that it never drifts: time in microseconds
// of a clock that only goes forward, and use in parts of a request so small that a microsecond pays
// back a whole number of them. No window admits more than burst + rate × window, and
// no request is refused that fits.

import { limits } from '../../core/limits.ts';
import type { RateLimit } from '../../core/principal.ts';

/** What one request uses. A limit of n a minute pays back n in each of its 60 million µs. */
const request = 60_000_000;

/** Now, in microseconds since some moment. */
export type Clock = () => number;

export const monotonic: Clock = () => Math.floor(performance.now() * 1_000);

export class Gcra {
  readonly limit: RateLimit;
  /** All that may be used at once. It is below 2^53 for every burst that a row may have. */
  readonly #size: number;
  #used: number;
  #at: number;

  constructor(limit: RateLimit, now: number, requestsUsed = 0) {
    this.limit = limit;
    this.#size = Math.min(limit.burst, limits.requestBurstMax) * request;
    this.#used = Math.min(requestsUsed * request, this.#size);
    this.#at = now;
  }

  /** Whether one more request is admitted, or so many at once. */
  admits(now: number, requests = 1): boolean {
    return this.#usedAt(now) + requests * request <= this.#size;
  }

  /** Counts what was admitted. */
  take(now: number, requests = 1): void {
    this.#used = this.#usedAt(now) + requests * request;
    this.#at = Math.max(this.#at, now);
  }

  /** The exact microseconds until so many are admitted; 0: now. */
  wait(now: number, requests = 1): number {
    const tooMuch = this.#usedAt(now) + requests * request - this.#size;
    return tooMuch <= 0 ? 0 : Math.ceil(tooMuch / this.limit.perMinute);
  }

  /** How many requests are admitted now. */
  remaining(now: number): number {
    return Math.floor((this.#size - this.#usedAt(now)) / request);
  }

  /** How many requests are not paid back yet, with their fractions. */
  used(now: number): number {
    return this.#usedAt(now) / request;
  }

  isFull(now: number): boolean {
    return this.#usedAt(now) === 0;
  }

  /** Beyond 2^53 the product is not exact, and far above everything that can have been used. */
  #usedAt(now: number): number {
    const past = now - this.#at;
    return past <= 0 ? this.#used : Math.max(0, this.#used - past * this.limit.perMinute);
  }
}

/** Whole seconds to wait, never too early and never none. */
export function secondsOf(microseconds: number): number {
  return Math.max(1, Math.ceil(microseconds / 1_000_000));
}
