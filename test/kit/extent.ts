// How much of all there is to try is tried: a sample by `npm test`, everything by `npm run prove`,
// which runs each file that imports this one again. A random sample is another one each time; its
// seed stands in the name of the test.

import fc from 'fast-check';

export const isProof = process.env.TALLYBOOK_PROVE === 'everything';

/** So many of what could go on for ever. */
export const extent = (sample: number, proof: number): number => (isProof ? proof : sample);

export const seed = Number(process.env.TALLYBOOK_TEST_SEED ?? Date.now() % 1_000_000);

/** What to call the tests of a random sample. */
export const extentName = `${isProof ? 'all of them, ' : ''}seed ${seed}`;

/** For tests that try everything there is. */
export const timeout = isProof ? 3_600_000 : 120_000;

/** Of more than this a proof takes each second, third, … number, from another one each time. */
const numbersMax = 120;

/** Numbers from 0 to `last`: all, or so many of them. */
export function numbersTo(last: number, count: number): number[] {
  if (isProof) {
    const stride = Math.ceil((last + 1) / numbersMax);
    const all = Array.from({ length: last + 1 }, (_, position) => position);
    return all.filter((position) => position % stride === seed % stride);
  }
  return fc.sample(fc.nat({ max: last }), { seed, numRuns: count });
}

/**
 * Of things that many others try, too, what one of these tries: each of so many in turn, from
 * another one each time; in a proof all.
 */
export const shareOf = <Item>(items: readonly Item[], shares: number, turn: number) =>
  isProof ? items : items.filter((_, n) => (n + turn + seed) % shares === 0);

let draws = 0;

/**
 * So many of these; in a proof all, or `proof` of them. Each call draws others. Call it before any
 * test runs.
 */
export function sampleOf<Item>(
  items: readonly Item[],
  sample: number,
  proof: number = items.length,
): Item[] {
  const count = extent(sample, proof);
  if (items.length <= count) return [...items];
  draws += 1;
  const some = fc.shuffledSubarray([...items], { minLength: count, maxLength: count });
  return fc.sample(some, { seed: seed + draws, numRuns: 1 })[0] ?? [];
}
