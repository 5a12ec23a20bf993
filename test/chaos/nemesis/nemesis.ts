// What goes wrong, and when: two lanes of faults at a time, one of processes, one of networks and
// rights. Each fault heals what it broke. A lane plays all its faults in random order before it
// plays one again, and does not end before it has: a short run on a slow machine meets them all.

import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../history.ts';
import type { Random } from '../random.ts';
import type { World } from '../world/world.ts';
import { networkFaults } from './network.ts';
import { processFaults } from './processes.ts';
import { rightsFaults } from './rights.ts';
import { storageFaults } from './storage.ts';

export interface Fault {
  readonly name: string;
  /** Breaks something, waits, and mends it. */
  strike(world: World, random: Random): Promise<void>;
}

/** How long a lane rests between two faults. */
const restMs = { low: 150, high: 900 };

/**
 * Until the deadline (on the clock of `now`), or later: see above.
 * @returns how often each fault struck.
 */
export async function unleash(
  world: World,
  random: Random,
  deadline: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const lanes = [
    [...processFaults, ...storageFaults(world.disk)],
    [...networkFaults, ...rightsFaults],
  ];
  await Promise.all(lanes.map((faults) => play(world, random, { faults, deadline, counts })));
  return counts;
}

interface Lane {
  readonly faults: readonly Fault[];
  readonly deadline: number;
  readonly counts: Map<string, number>;
}

async function play(
  world: World,
  random: Random,
  { faults, deadline, counts }: Lane,
): Promise<void> {
  let deck = random.shuffled(faults);
  let isFirst = true;
  while (isFirst || now() < deadline) {
    const fault = deck.pop();
    if (fault === undefined) {
      deck = random.shuffled(faults);
      isFirst = false;
      continue;
    }
    world.note(`begin ${fault.name}`);
    await fault.strike(world, random);
    world.note(`end ${fault.name}`);
    counts.set(fault.name, (counts.get(fault.name) ?? 0) + 1);
    await sleep(random.between(restMs.low, restMs.high));
  }
}
