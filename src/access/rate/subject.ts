// One credential, or one merchant as a whole, under its limit: what this node has admitted by
// itself, which is exact, and its share of what all nodes may admit. Both must agree.

import type { RateLimit } from '../../core/principal.ts';
import { Gcra } from './gcra.ts';
import { type Answer, Share, type Standing } from './share.ts';
import type { BucketAsk } from './store.ts';

export class Subject {
  readonly limit: RateLimit;
  readonly #merchantId: string;
  readonly #credentialId: string;
  readonly #own: Gcra;
  readonly #share: Share;

  /** `before`: the same one under another limit. What it has used counts, as far as it fits. */
  constructor(
    merchantId: string,
    credentialId: string,
    limit: RateLimit,
    now: number,
    before?: Subject,
  ) {
    this.limit = limit;
    this.#merchantId = merchantId;
    this.#credentialId = credentialId;
    this.#own = new Gcra(limit, now, before === undefined ? 0 : before.#own.used(now));
    this.#share = new Share(limit, now);
  }

  /** Without the database only what this node has admitted counts. */
  standing(now: number, isAlone: boolean): Standing {
    if (!this.#own.admits(now)) return 'empty';
    return isAlone ? 'open' : this.#share.standing(now);
  }

  take(now: number): void {
    this.#own.take(now);
    this.#share.spend(now);
  }

  /** Whether it is time to ask for more. */
  isLow(now: number): boolean {
    return this.#share.isLow(now);
  }

  /** Of one that is `empty`: the microseconds until one more may be admitted. */
  refuse(now: number): number {
    this.#share.miss(now);
    const own = this.#own.wait(now);
    return this.#share.standing(now) === 'empty' ? Math.max(own, this.#share.wait(now)) : own;
  }

  remaining(now: number): number {
    return Math.min(this.#own.remaining(now), this.#share.remaining(now));
  }

  /** Somebody waits for the answer of the database from here until the function is called. */
  awaitAnswer(): () => void {
    this.#share.waiting += 1;
    return () => {
      this.#share.waiting -= 1;
    };
  }

  isLeftOver(now: number): boolean {
    return this.#share.isLeftOver(now);
  }

  /** Whether a new one would do the same. */
  isIdle(now: number): boolean {
    return this.#own.isFull(now) && this.#share.isSettled(now);
  }

  ask(now: number): BucketAsk {
    const { owed, wanted } = this.#share.ask(now);
    return {
      merchantId: this.#merchantId,
      credentialId: this.#credentialId,
      secondsPerToken: 60 / this.limit.perMinute,
      size: this.#share.size,
      owed,
      usedHere: this.#own.used(now),
      wanted,
    };
  }

  answer(answer: Answer, now: number): void {
    this.#share.answer(answer, now);
  }

  fail(): void {
    this.#share.fail();
  }
}
