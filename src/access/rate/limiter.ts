// How many requests a credential and a merchant may send. A request takes one of each or, when one
// of them refuses, none. Ordinarily that is arithmetic. Near a limit a request waits for the
// database, at most for the patience, and a failure of the limiter never fails a request.

import { limits } from '../../core/limits.ts';
import type { Principal, RateLimit } from '../../core/principal.ts';
import type { Writer } from '../../core/statement.ts';
import { type Clock, monotonic, secondsOf } from './gcra.ts';
import { Leases } from './leases.ts';
import { LimitCounter } from './limit-counter.ts';

/** What is left of a limit after a request. */
export interface LimitLeft {
  readonly limit: RateLimit;
  readonly remaining: number;
}

export interface Verdict {
  /** Undefined when the credential has no limit. */
  readonly credential: LimitLeft | undefined;
  /** Only where the merchant's limit refuses. */
  readonly merchant: LimitLeft | undefined;
  /** Whole seconds to wait; undefined: admitted. */
  readonly retryAfter: number | undefined;
}

interface RateLimiterOptions {
  /** How long a request waits for the database, in milliseconds. */
  readonly patience?: number;
  readonly clock?: Clock;
  /** How many processes share what a node admits without asking. */
  readonly workers?: number;
}

/** In milliseconds. */
const sweepInterval = 1_000;

/** The limits of one request. */
interface Counters {
  readonly credential: LimitCounter | undefined;
  readonly merchant: LimitCounter | undefined;
}

export class RateLimiter {
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #credentials = new Map<string, LimitCounter>();
  readonly #merchants = new Map<string, LimitCounter>();
  readonly #sweeping: NodeJS.Timeout;
  /** In microseconds. */
  readonly #patience: number;
  readonly #workers: number;
  #alone = 0;

  constructor(writer: Writer, options: RateLimiterOptions = {}) {
    const { patience = limits.leaseTimeout, clock = monotonic, workers = 1 } = options;
    this.#clock = clock;
    this.#workers = workers;
    this.#patience = patience * 1_000;
    this.#leases = new Leases(writer, clock, patience);
    this.#sweeping = setInterval(() => this.#sweep(), sweepInterval);
    this.#sweeping.unref();
  }

  /** How many credentials and merchants it knows: those whose bucket is not full. */
  get size(): number {
    return this.#credentials.size + this.#merchants.size;
  }

  /** How many requests were admitted by this node's own counts, because no answer came. */
  get admittedAlone(): number {
    return this.#alone;
  }

  /**
   * A promise only when the database has to be asked. It is never rejected.
   * @param requests as how many it counts, of each limit no more than its burst.
   */
  admit(principal: Principal, requests = 1): Verdict | Promise<Verdict> {
    const now = this.#clock();
    const { merchant, credentialId, rateLimit, merchantRateLimit } = principal;
    const counters = {
      credential: this.#counterIn(this.#credentials, merchant, credentialId, rateLimit, now),
      merchant: this.#counterIn(this.#merchants, merchant, '', merchantRateLimit, now),
    };
    return (
      this.#judge(counters, requests, now, this.#leases.isAway(now)) ??
      this.#ask(counters, requests, now)
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#leases.close();
  }

  /** Undefined: the database has to be asked. */
  #judge(
    { credential, merchant }: Counters,
    requests: number,
    now: number,
    isAlone: boolean,
  ): Verdict | undefined {
    const first = credential?.stateAt(now, isAlone, requests) ?? 'open';
    const second = merchant?.stateAt(now, isAlone, requests) ?? 'open';
    if (first === 'empty' || second === 'empty') {
      const waits = [
        first === 'empty' ? (credential?.refuse(now, requests) ?? 0) : 0,
        second === 'empty' ? (merchant?.refuse(now, requests) ?? 0) : 0,
      ];
      return {
        credential: leftOf(credential, now),
        merchant: second === 'empty' ? leftOf(merchant, now) : undefined,
        retryAfter: secondsOf(Math.max(...waits)),
      };
    }
    if (first === 'unknown' || second === 'unknown') return undefined;
    if (isAlone) this.#alone += 1;
    for (const counter of [credential, merchant]) {
      counter?.take(now, requests);
      if (!isAlone && counter?.isLow(now)) void this.#leases.ask(counter);
    }
    return { credential: leftOf(credential, now), merchant: undefined, retryAfter: undefined };
  }

  async #ask(counters: Counters, requests: number, since: number): Promise<Verdict> {
    for (;;) {
      const now = this.#clock();
      const isAlone = this.#leases.isAway(now) || now - since >= this.#patience;
      const verdict = this.#judge(counters, requests, now, isAlone);
      if (verdict !== undefined) return verdict;
      const { credential, merchant } = counters;
      const unknown = [credential, merchant].filter(
        (counter) => counter?.stateAt(now, false, requests) === 'unknown',
      );
      await Promise.all(unknown.map((counter) => counter && this.#answerTo(counter)));
    }
  }

  async #answerTo(counter: LimitCounter): Promise<void> {
    counter.waiting += 1;
    await this.#leases.ask(counter);
    counter.waiting -= 1;
  }

  #counterIn(
    known: Map<string, LimitCounter>,
    merchantId: string,
    credentialId: string,
    limit: RateLimit | null,
    now: number,
  ): LimitCounter | undefined {
    if (limit === null) return undefined;
    const key = credentialId === '' ? merchantId : credentialId;
    const before = known.get(key);
    const isSame =
      before?.limit.perMinute === limit.perMinute && before.limit.burst === limit.burst;
    if (isSame) return before;
    const whose = { merchantId, credentialId, workers: this.#workers };
    const counter = new LimitCounter(whose, limit, now, before);
    known.set(key, counter);
    return counter;
  }

  #sweep(): void {
    const now = this.#clock();
    const isAway = this.#leases.isAway(now);
    for (const known of [this.#credentials, this.#merchants]) {
      for (const [key, counter] of known) {
        if (counter.isIdle(now)) known.delete(key);
        else if (!isAway && counter.needsSettling(now)) void this.#leases.ask(counter);
      }
    }
  }
}

function leftOf(counter: LimitCounter | undefined, now: number): LimitLeft | undefined {
  return counter && { limit: counter.limit, remaining: counter.remaining(now) };
}
