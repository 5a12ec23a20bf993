// How soon the service writes again once its database does: figures, not a verdict, for other
// faults go on meanwhile.

import { type Attempt, type Event, isDone } from '../history.ts';

export interface Recovery {
  /** Times (ms) from a database that answers to the first write done, in ascending order. */
  readonly times: readonly number[];
  /** Times that it was down again before anything was done. */
  readonly cutShort: number;
}

export function recoveryOf(attempts: readonly Attempt[], events: readonly Event[]): Recovery {
  const done = attempts.filter((one) => isDone(one) && one.isReplay !== true);
  const ends = done.map(({ end }) => end).sort((a, b) => a - b);
  const times: number[] = [];
  let cutShort = 0;
  for (const [index, { what, at }] of events.entries()) {
    if (what !== 'database up') continue;
    const down = events.slice(index).find((event) => event.what === 'database down');
    const first = ends.find((end) => end >= at);
    if (first === undefined || first >= (down?.at ?? Infinity)) cutShort += 1;
    else times.push(first - at);
  }
  return { times: times.sort((a, b) => a - b), cutShort };
}
