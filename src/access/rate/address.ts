// Limits by address, for callers of whom nothing else is known. An address that guesses credentials
// is refused: only bad credentials count, and only they are refused. The memory is bounded: in a
// flood from more addresses than fit, the addresses that began longest ago are forgotten.

import { isIPv6, SocketAddress } from 'node:net';
import { limits } from '../../core/limits.ts';
import type { RateLimit } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import { type Clock, Gcra, monotonic, secondsOf } from './gcra.ts';

/** An IPv4 address has 15 characters, a /64 network 19; other text is cut. */
const keyLengthMax = 64;

/** After this time an address is as new, because it may use at most a minute's worth. In µs. */
const forgivenAfter = 60_000_000;

/** What is limited, and what those beyond it are told. The last counts applications. */
const addressLimits = {
  failures: {
    perMinute: limits.failedAuthenticationsPerMinute,
    message: 'Too many failed authentications from this address.',
  },
  signIns: {
    perMinute: limits.signInsPerMinute,
    message: 'Too many tries to sign in from this address.',
  },
  consents: {
    perMinute: limits.consentRequestsPerMinute,
    message: 'Too many requests from this address.',
  },
  applicationTokens: {
    perMinute: limits.applicationTokensPerMinute,
    message: 'Too many tokens.',
  },
} as const;

export type AddressLimitName = keyof typeof addressLimits;

/**
 * Counts one from an address, wherever the count is kept: workers of one node share theirs.
 * Returns the seconds to wait when there were too many.
 */
export type CountAddress = (
  limit: AddressLimitName,
  address: string,
) => number | undefined | Promise<number | undefined>;

/** The counts of this process. */
export function countAddresses(): CountAddress {
  const counters = new Map<AddressLimitName, AddressCounter>();
  return (name, address) => {
    const counter = counters.get(name) ?? new AddressCounter(addressLimits[name].perMinute);
    counters.set(name, counter);
    return counter.count(address);
  };
}

/**
 * A connection that its client has reset says no more where it came from. Those are one address:
 * who leaves before the answer is limited as well, because what he asked for has its cost.
 */
const addressOfThoseWhoLeft = 'left';

/** One of the limits, for who answers. */
export class AddressLimit {
  readonly #name: AddressLimitName;
  readonly #count: CountAddress;

  constructor(name: AddressLimitName, count: CountAddress) {
    this.#name = name;
    this.#count = count;
  }

  /**
   * Counts one from an address. Returns the answer to it when there were too many.
   * @param address as the framework says it: undefined in spite of its types when a client has left
   */
  async refusal(address: string | undefined): Promise<Problem | undefined> {
    const wait = await this.#count(this.#name, address ?? addressOfThoseWhoLeft);
    if (wait === undefined) return undefined;
    const { message } = addressLimits[this.#name];
    return new Problem('rate_limited', { message, headers: { 'Retry-After': String(wait) } });
  }
}

/** All of them. */
export const addressLimitsBy = (count: CountAddress) => ({
  failures: new AddressLimit('failures', count),
  signIns: new AddressLimit('signIns', count),
  consents: new AddressLimit('consents', count),
  applicationTokens: new AddressLimit('applicationTokens', count),
});

export class AddressCounter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  readonly #addressesMax: number;
  /**
   * Two generations instead of one map in order of use: taking the oldest out of a large map again
   * and again costs 20 µs each time, because the map looks through all entries that were taken out
   * before.
   */
  #recent = new Map<string, Gcra>();
  #older: ReadonlyMap<string, Gcra> = new Map();
  #begunAt: number;

  constructor(
    perMinute: number,
    clock: Clock = monotonic,
    addressesMax: number = limits.failingAddressesMax,
  ) {
    this.#limit = { perMinute, burst: perMinute };
    this.#clock = clock;
    this.#addressesMax = addressesMax;
    this.#begunAt = clock();
  }

  /** How many addresses are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** Counts one from an address. Returns the seconds to wait when there were too many. */
  count(address: string): number | undefined {
    const now = this.#clock();
    const admitted = this.#admittedOf(networkOf(address), now);
    if (!admitted.admits(now)) return secondsOf(admitted.wait(now));
    admitted.take(now);
    return undefined;
  }

  #admittedOf(key: string, now: number): Gcra {
    const known = this.#recent.get(key);
    if (known !== undefined) return known;
    const isGenerationOver =
      this.#recent.size >= this.#addressesMax / 2 || now - this.#begunAt > forgivenAfter;
    if (isGenerationOver) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#begunAt = now;
    }
    const admitted = this.#older.get(key) ?? new Gcra(this.#limit, now);
    this.#recent.set(key, admitted);
    return admitted;
  }
}

/** What counts as one address: an IPv4 address, also as IPv6 writes it, or an IPv6 /64 network. */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address.slice(0, keyLengthMax);
  const { address: shortest } = new SocketAddress({ address: plain, family: 'ipv6' });
  const [, ipv4] = /^::ffff:([0-9.]+)$/.exec(shortest) ?? [];
  if (ipv4 !== undefined) return ipv4;
  const [before = [], after = []] = shortest.split('::').map(groupsOf);
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

const groupsOf = (part: string) => part.split(':').filter((group) => group !== '');
