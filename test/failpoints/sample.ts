// How much of all there is to try is tried: a sample in each run of the tests, everything by
// `npm run failpoints`. A sample is another one each time; its seed stands in the test's name.

import fc from 'fast-check';

export const isExhaustive = process.env.TALLYBOOK_FAILPOINTS === 'all';

const seed = Number(process.env.TALLYBOOK_FAILPOINTS_SEED ?? Date.now() % 1_000_000);

/** What to call the tests of a sample. */
export const extent = isExhaustive ? 'all of them' : `seed ${seed}`;

export const timeout = isExhaustive ? 3_600_000 : 60_000;

/** Numbers from 0 to `last`: all, or so many of them. */
export function sampled(last: number, count: number): number[] {
  if (isExhaustive) return Array.from({ length: last + 1 }, (_, position) => position);
  return fc.sample(fc.nat({ max: last }), { seed, numRuns: count });
}

let draws = 0;

/** All of these, or so many of them; each call draws others. Call it before any test runs. */
export function sampleOf<Item>(items: readonly Item[], count: number): Item[] {
  if (isExhaustive || items.length <= count) return [...items];
  draws += 1;
  const some = fc.shuffledSubarray([...items], { minLength: count, maxLength: count });
  return fc.sample(some, { seed: seed + draws, numRuns: 1 })[0] ?? [];
}
