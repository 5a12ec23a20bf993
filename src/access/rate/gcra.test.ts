import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RateLimit } from '../../core/principal.ts';
import { Gcra, secondsOf } from './gcra.ts';

/** One request in the units in which a microsecond pays back `perMinute`: all is whole. */
const request = 60_000_000n;

/**
 * The most that any window admits beyond its limit, in whole units: over all pairs of admitted
 * requests, how many there are from one to the other, less burst + rate × time between them. The
 * number of the first one less the rate's share is the same for all windows that end later, so the
 * smallest so far is enough: a million arrivals have half a billion pairs and one pass.
 */
function worstExcess(admitted: readonly number[], { perMinute, burst }: RateLimit): bigint {
  let smallest: bigint | undefined;
  let worst: bigint | undefined;
  for (const [index, at] of admitted.entries()) {
    const height = BigInt(index) * request - BigInt(perMinute) * BigInt(at);
    if (smallest === undefined || height < smallest) smallest = height;
    const excess = height - smallest + request - BigInt(burst) * request;
    if (worst === undefined || excess > worst) worst = excess;
  }
  return worst ?? 0n;
}

function worstExcessByAllPairs(admitted: readonly number[], limit: RateLimit): bigint {
  const excesses = admitted.flatMap((from, first) =>
    admitted.slice(first).map((to, more) => {
      const allowed = BigInt(limit.burst) * request + BigInt(limit.perMinute) * BigInt(to - from);
      return BigInt(more + 1) * request - allowed;
    }),
  );
  return excesses.reduce((worst, one) => (one > worst ? one : worst), excesses[0] ?? 0n);
}

/** Which arrivals are admitted. Those that are not are tried again when they are told to. */
function simulate(limit: RateLimit, gaps: Iterable<number>, start = 0) {
  const gcra = new Gcra(limit, start);
  const admitted: number[] = [];
  const faults: string[] = [];
  let now = start;
  let refused = 0;
  for (const gap of gaps) {
    now += gap;
    if (gcra.admits(now)) {
      gcra.take(now);
      admitted.push(now);
      continue;
    }
    refused += 1;
    const wait = gcra.wait(now);
    const later = now + secondsOf(wait) * 1_000_000;
    if (gcra.admits(now + wait - 1)) faults.push(`admitted a microsecond before ${now + wait}`);
    if (!gcra.admits(now + wait)) faults.push(`refused at ${now + wait}`);
    if (!gcra.admits(later)) faults.push(`refused after Retry-After at ${later}`);
  }
  return { admitted, refused, faults, gcra, now };
}

/** mulberry32: the same arrivals in every run. */
function* gapsOf(seed: number, count: number, mean: number): Generator<number> {
  let state = seed;
  for (let n = 0; n < count; n += 1) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const uniform = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    // Exponential gaps with quiet spells: bursts, floods and idle times in one run.
    yield Math.floor(-Math.log(1 - uniform) * mean * (n % 1_000 === 0 ? 500 : 1));
  }
}

/** Limits as they are set, and as nobody should set them. */
const limits: readonly RateLimit[] = [
  { perMinute: 6_000, burst: 1_000 },
  { perMinute: 30_000, burst: 5_000 },
  { perMinute: 7_001, burst: 13 },
  { perMinute: 1, burst: 1 },
  { perMinute: 1_000_000, burst: 1 },
  { perMinute: 1_000_000, burst: 1_000_000 },
];

describe('over a million arrivals', () => {
  test.each(limits)('$perMinute a minute, burst $burst: no window exceeds it', (limit) => {
    for (const load of [0.5, 1, 4]) {
      const mean = 60_000_000 / limit.perMinute / load;
      const { admitted, refused, faults } = simulate(limit, gapsOf(20_261_121, 400_000, mean));
      expect(admitted.length + refused).toBe(400_000);
      expect(worstExcess(admitted, limit) <= 0n).toBe(true);
      expect(faults).toEqual([]);
    }
  });

  test('what is refused would have exceeded it', () => {
    const limit = { perMinute: 6_000, burst: 10 };
    const gcra = new Gcra(limit, 0);
    const admitted: number[] = [];
    let now = 0;
    for (const gap of gapsOf(7, 2_000, 4_000)) {
      now += gap;
      const isAdmitted = gcra.admits(now);
      expect(isAdmitted).toBe(worstExcess([...admitted, now], limit) <= 0n);
      if (!isAdmitted) continue;
      gcra.take(now);
      admitted.push(now);
    }
  });
});

describe('for any limit and any arrivals', () => {
  const anyLimit = fc.record({
    perMinute: fc.integer({ min: 1, max: 1_000_000 }),
    burst: fc.integer({ min: 1, max: 50 }),
  });
  const anyGaps = fc.array(fc.oneof(fc.nat(100), fc.nat(100_000), fc.nat(100_000_000)), {
    maxLength: 120,
  });
  const anyStart = fc.nat(2 ** 31);

  test('no window exceeds it, and a request after the stated wait is admitted', () => {
    fc.assert(
      fc.property(anyLimit, anyGaps, anyStart, (limit, gaps, start) => {
        const { admitted, faults } = simulate(limit, gaps, start);
        const worst = worstExcess(admitted, limit);
        expect(worst).toBe(worstExcessByAllPairs(admitted, limit));
        expect(worst <= 0n).toBe(true);
        expect(faults).toEqual([]);
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  test('as many are admitted at once as remain, and no more', () => {
    fc.assert(
      fc.property(anyLimit, anyGaps, (limit, gaps) => {
        const { gcra, now } = simulate(limit, gaps);
        for (let left = gcra.remaining(now); left > 0; left -= 1) {
          expect(gcra.admits(now)).toBe(true);
          gcra.take(now);
          expect(gcra.remaining(now)).toBe(left - 1);
        }
        expect(gcra.admits(now)).toBe(false);
      }),
      { seed: 4, numRuns: 500 },
    );
  });
});

test('after years at full speed it admits exactly what it did at first', () => {
  const limit = { perMinute: 7_001, burst: 3 };
  const start = 2 ** 50;
  const early = simulate(limit, gapsOf(1, 50_000, 5_000)).admitted;
  const late = simulate(limit, gapsOf(1, 50_000, 5_000), start).admitted;
  expect(late.map((at) => at - start)).toEqual(early);
});

test('a clock that stands still or goes back pays nothing back', () => {
  const gcra = new Gcra({ perMinute: 60, burst: 2 }, 10_000_000);
  gcra.take(10_000_000);
  gcra.take(9_000_000);
  expect([gcra.admits(9_000_000), gcra.admits(10_000_000)]).toEqual([false, false]);
  expect(gcra.wait(10_000_000)).toBe(1_000_000);
  expect(gcra.admits(11_000_000)).toBe(true);
});

test('a wait is stated in whole seconds, at least one', () => {
  expect([1, 999_999, 1_000_000, 1_000_001].map(secondsOf)).toEqual([1, 1, 1, 2]);
});
