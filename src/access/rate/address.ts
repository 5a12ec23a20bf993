// Who guesses credentials is told to stop, by address. Only bad credentials count and only they are
// refused: whoever has a valid one is let in from everywhere. What is remembered is bounded; under a
// flood from more addresses than fit, the one that failed longest ago is forgotten.

import { isIPv4, isIPv6 } from 'node:net';
import { limits } from '../../core/limits.ts';
import type { RateLimit } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import { type Clock, Gcra, monotonic, secondsOf } from './gcra.ts';

const failureLimit: RateLimit = {
  perMinute: limits.failedAuthenticationsPerMinute,
  burst: limits.failedAuthenticationsPerMinute,
};

/** An IPv4 address has 15 characters, a /64 network 19; other text is cut. */
const keyLengthMax = 64;

/** After so long without a failure an address owes nothing. In microseconds. */
const forgivenAfter = 60_000_000;

export class FailedAuthentications {
  readonly #clock: Clock;
  readonly #addressesMax: number;
  /**
   * Two generations instead of one map in order of use: taking the oldest out of a large map again
   * and again costs 20 µs each time, because it looks through all that were taken out before.
   */
  #recent = new Map<string, Gcra>();
  #older: ReadonlyMap<string, Gcra> = new Map();
  #begunAt: number;

  constructor(clock: Clock = monotonic, addressesMax: number = limits.failingAddressesMax) {
    this.#clock = clock;
    this.#addressesMax = addressesMax;
    this.#begunAt = clock();
  }

  /** How many addresses are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** Counts a failure. Returns the answer to it when there were too many, instead of the 401. */
  refusal(address: string): Problem | undefined {
    const now = this.#clock();
    const failures = this.#failuresOf(networkOf(address), now);
    if (!failures.admits(now)) {
      return new Problem('rate_limited', {
        message: 'Too many failed authentications from this address.',
        headers: { 'Retry-After': String(secondsOf(failures.wait(now))) },
      });
    }
    failures.take(now);
    return undefined;
  }

  #failuresOf(key: string, now: number): Gcra {
    const known = this.#recent.get(key);
    if (known !== undefined) return known;
    const isGenerationOver =
      this.#recent.size >= this.#addressesMax / 2 || now - this.#begunAt > forgivenAfter;
    if (isGenerationOver) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#begunAt = now;
    }
    const failures = this.#older.get(key) ?? new Gcra(failureLimit, now);
    this.#recent.set(key, failures);
    return failures;
  }
}

/** What counts as one address: an IPv4 address, also as IPv6 writes it, or an IPv6 /64 network. */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address.slice(0, keyLengthMax);
  const groups = groupsOf(plain);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  }
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const before = numbersOf(head);
  if (tail === undefined) return before;
  const after = numbersOf(tail);
  const gap = new Array<number>(8 - before.length - after.length).fill(0);
  return [...before, ...gap, ...after];
}

/** The last group may be an IPv4 address, which is two. */
function numbersOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!isIPv4(group)) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
