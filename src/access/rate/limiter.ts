// How fast a credential and a merchant may ask. A request takes one of each or, when one of them
// refuses, none. In the ordinary case that is arithmetic; only who is near a limit waits for the
// database, for a moment, and no failure of the limiter is ever the request's.

import { limits } from '../../core/limits.ts';
import type { Principal, RateLimit } from '../../core/principal.ts';
import type { Writer } from '../../core/statement.ts';
import { type Clock, monotonic, secondsOf } from './gcra.ts';
import { Leases } from './leases.ts';
import { Subject } from './subject.ts';

/** How a limit stands once the request has been judged. */
export interface LimitState {
  readonly limit: RateLimit;
  readonly remaining: number;
}

export interface Verdict {
  /** Undefined when the credential has no limit. */
  readonly credential: LimitState | undefined;
  /** Only where it is the merchant's limit that refuses. */
  readonly merchant: LimitState | undefined;
  /** Whole seconds to wait; undefined: admitted. */
  readonly retryAfter: number | undefined;
}

/** Forgetting is cheap, and what is left over is wanted by others. In milliseconds. */
const sweepInterval = 1_000;

/** The limits that one request is under. */
interface Under {
  readonly credential: Subject | undefined;
  readonly merchant: Subject | undefined;
}

export class RateLimiter {
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #credentials = new Map<string, Subject>();
  readonly #merchants = new Map<string, Subject>();
  readonly #sweeping: NodeJS.Timeout;
  /** In microseconds. */
  readonly #patience: number;
  #alone = 0;

  constructor(writer: Writer, patience: number = limits.leaseTimeout, clock: Clock = monotonic) {
    this.#clock = clock;
    this.#patience = patience * 1_000;
    this.#leases = new Leases(writer, clock, patience);
    this.#sweeping = setInterval(() => this.#sweep(), sweepInterval);
    this.#sweeping.unref();
  }

  /** How many credentials and merchants it knows: those whose bucket is not full. */
  get size(): number {
    return this.#credentials.size + this.#merchants.size;
  }

  /** How many requests were admitted by what this node knows, for want of an answer. */
  get admittedAlone(): number {
    return this.#alone;
  }

  /** A promise only where the database has to be asked. It is never rejected. */
  admit(principal: Principal): Verdict | Promise<Verdict> {
    const now = this.#clock();
    const { merchant, credentialId, rateLimit, merchantRateLimit } = principal;
    const under: Under = {
      credential: this.#subject(this.#credentials, merchant, credentialId, rateLimit, now),
      merchant: this.#subject(this.#merchants, merchant, '', merchantRateLimit, now),
    };
    return this.#judge(under, now, this.#leases.isAway(now)) ?? this.#ask(under, now);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#leases.close();
  }

  #subject(
    known: Map<string, Subject>,
    merchantId: string,
    credentialId: string,
    limit: RateLimit | null,
    now: number,
  ): Subject | undefined {
    if (limit === null) return undefined;
    const key = credentialId === '' ? merchantId : credentialId;
    const before = known.get(key);
    const isSame =
      before?.limit.perMinute === limit.perMinute && before.limit.burst === limit.burst;
    if (isSame) return before;
    const subject = new Subject(merchantId, credentialId, limit, now, before);
    known.set(key, subject);
    return subject;
  }

  /** Undefined: only the database can tell. */
  #judge({ credential, merchant }: Under, now: number, isAlone: boolean): Verdict | undefined {
    const first = credential?.standing(now, isAlone) ?? 'open';
    const second = merchant?.standing(now, isAlone) ?? 'open';
    if (first === 'empty' || second === 'empty') {
      const waits = [
        first === 'empty' ? (credential?.refuse(now) ?? 0) : 0,
        second === 'empty' ? (merchant?.refuse(now) ?? 0) : 0,
      ];
      return {
        credential: stateOf(credential, now),
        merchant: second === 'empty' ? stateOf(merchant, now) : undefined,
        retryAfter: secondsOf(Math.max(...waits)),
      };
    }
    if (first === 'unknown' || second === 'unknown') return undefined;
    if (credential !== undefined) this.#take(credential, now, isAlone);
    if (merchant !== undefined) this.#take(merchant, now, isAlone);
    if (isAlone) this.#alone += 1;
    return { credential: stateOf(credential, now), merchant: undefined, retryAfter: undefined };
  }

  #take(subject: Subject, now: number, isAlone: boolean): void {
    subject.take(now);
    if (!isAlone && subject.isLow(now)) void this.#leases.ask(subject);
  }

  async #ask(under: Under, since: number): Promise<Verdict> {
    for (;;) {
      const now = this.#clock();
      const isAlone = this.#leases.isAway(now) || now - since >= this.#patience;
      const verdict = this.#judge(under, now, isAlone);
      if (verdict !== undefined) return verdict;
      const { credential, merchant } = under;
      const unknown = [credential, merchant].filter(
        (subject) => subject?.standing(now, false) === 'unknown',
      );
      await Promise.all(unknown.map((subject) => subject && this.#answerTo(subject)));
    }
  }

  async #answerTo(subject: Subject): Promise<void> {
    const isAnswered = subject.awaitAnswer();
    await this.#leases.ask(subject);
    isAnswered();
  }

  #sweep(): void {
    const now = this.#clock();
    const isAway = this.#leases.isAway(now);
    for (const known of [this.#credentials, this.#merchants]) {
      for (const [key, subject] of known) {
        if (subject.isIdle(now)) known.delete(key);
        else if (!isAway && subject.isLeftOver(now)) void this.#leases.ask(subject);
      }
    }
  }
}

function stateOf(subject: Subject | undefined, now: number): LimitState | undefined {
  return subject && { limit: subject.limit, remaining: subject.remaining(now) };
}
