// What a node believes the database's clock to show: never later than it does, and after answers
// that came late, or a clock that was set, as exact as before.

import { expect, test } from 'vitest';
import { DatabaseClock } from './database-clock.ts';

const second = 1_000_000;
/** The database's clock at the node's 0. */
const ahead = 1_900_000_000;

/** A question that was so many seconds on its way, and its answer as many more. */
function ask(clock: DatabaseClock, at: number, [there, back]: readonly number[], set = 0): void {
  const time = ahead + set + at / second + Number(there);
  clock.note(at, time, at + (Number(there) + Number(back)) * second);
}

function errorAt(clock: DatabaseClock, now: number, set = 0): number {
  return Number(clock.timeAt(now)) - (ahead + set + now / second);
}

test('before the first answer it is unknown', () => {
  expect(new DatabaseClock().timeAt(0)).toBe(null);
});

test('the fastest answer says it best, however late the questions and other answers are', () => {
  const clock = new DatabaseClock();
  ask(clock, 0, [0.4, 0.3]);
  expect(errorAt(clock, second)).toBeCloseTo(-0.3, 2);
  ask(clock, second, [0.4, 0.002]);
  ask(clock, 2 * second, [0.4, 0.3]);
  ask(clock, 3 * second, [0, 0.4]);
  const error = errorAt(clock, 4 * second);
  expect(error).toBeLessThanOrEqual(0);
  expect(error).toBeGreaterThan(-0.01);
});

test.each([-10, 10])('a clock that is set by %d s is believed with the next answer', (set) => {
  const clock = new DatabaseClock();
  ask(clock, 0, [0.001, 0.001]);
  ask(clock, second, [0.001, 0.001], set);
  const error = errorAt(clock, second, set);
  expect(Math.abs(error)).toBeLessThan(0.002);
});

test('one that runs a little slower is not believed to be later than it is', () => {
  const clock = new DatabaseClock();
  ask(clock, 0, [0.001, 0.001]);
  const hour = 3_600;
  // 100 parts in a million.
  expect(errorAt(clock, hour * second, -hour / 10_000)).toBeLessThan(0);
});
