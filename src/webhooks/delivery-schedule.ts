// When what failed is tried again, and when no more.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The wait behind each failed attempt. A receiver that is repaired within two days gets all. */
const waits: readonly number[] = [
  ...[5 * second, 30 * second, 2 * minute, 10 * minute],
  ...[1 * hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 24 * hour],
];

/** So much of a wait is left to chance, so that what failed together is not tried together. */
const jitter = 0.2;

/** How long (ms) to wait behind so many failed attempts. Undefined: there is no other one. */
export function waitAfter(tries: number): number | undefined {
  const wait = waits[tries - 1];
  return wait === undefined ? undefined : Math.round(wait * (1 + jitter * Math.random()));
}
