// What goes wrong, and when: lanes of faults at a time, of the service's processes, the database,
// networks and rights, and of workers, a pooler and a cluster where there are any. Each fault heals
// what it broke. A lane plays all its faults in random order before it plays one again. When time
// is up it plays what has not struck yet, so that a short run on a slow machine meets them all, but
// not without end.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosEnvironment } from '../environment/environment.ts';
import { now } from '../history.ts';
import type { Random } from '../random.ts';
import { clusterFaults, moves } from './cluster.ts';
import { databaseFaults, databaseKilled } from './database.ts';
import { failoverFaults } from './failover.ts';
import { networkFaults } from './network.ts';
import { poolerFaults } from './pooler.ts';
import { rightsFaults } from './rights.ts';
import { serviceFaults, workerFaults } from './service.ts';
import { storageFaults } from './storage.ts';

export interface Fault {
  readonly name: string;
  /**
   * Breaks something, waits, and mends it.
   * @returns whether anything was broken: there may have been nothing to break just then.
   */
  strike(environment: ChaosEnvironment, random: Random): Promise<boolean>;
}

/**
 * How long a lane rests between two faults (ms): in between the service must get something done,
 * and each start of a process takes a second of a core.
 */
const rests = {
  service: { low: 300, high: 2_000 },
  database: { low: 300, high: 2_000 },
  network: { low: 150, high: 900 },
  rights: { low: 1_000, high: 4_000 },
  workers: { low: 500, high: 3_000 },
  // Each costs all nodes all of their connections.
  pooler: { low: 2_000, high: 6_000 },
  // Each takes some seconds by itself.
  moves: { low: 200, high: 1_000 },
} as const;

/**
 * All lanes rest and go on so much longer on a cluster: what breaks connections breaks those to
 * three servers, and the first statement on a new one takes 50 ms of processor time there.
 */
const clusterPace = 3;

/** So much longer does a lane go on for what has not struck yet. */
const graceMs = 45_000;

/**
 * Until the deadline (on the clock of `now`), or later: see above.
 * @returns how often each fault struck.
 */
export async function unleash(
  environment: ChaosEnvironment,
  random: Random,
  deadline: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const { pair, cluster, pooler, database } = environment;
  const lanes = [
    { rest: rests.service, faults: serviceFaults },
    {
      rest: rests.database,
      faults: [
        ...databaseFaults,
        ...storageFaults(database.disk),
        ...(pair === undefined ? [] : failoverFaults(pair)),
        ...(cluster === undefined ? [databaseKilled] : clusterFaults(cluster)),
      ],
    },
    { rest: rests.network, faults: networkFaults(environment) },
    { rest: rests.rights, faults: rightsFaults },
    ...(environment.settings.workers > 1 ? [{ rest: rests.workers, faults: workerFaults }] : []),
    ...(pooler === undefined ? [] : [{ rest: rests.pooler, faults: poolerFaults(pooler) }]),
    ...(cluster === undefined ? [] : [{ rest: rests.moves, faults: moves(cluster) }]),
  ];
  for (const { name } of lanes.flatMap(({ faults }) => faults)) counts.set(name, 0);
  const pace = cluster === undefined ? 1 : clusterPace;
  await Promise.all(
    lanes.map((lane) => play(environment, random, { ...lane, pace, deadline, counts })),
  );
  return counts;
}

interface Lane {
  readonly faults: readonly Fault[];
  readonly rest: { readonly low: number; readonly high: number };
  readonly pace: number;
  readonly deadline: number;
  readonly counts: Map<string, number>;
}

async function play(
  environment: ChaosEnvironment,
  random: Random,
  { faults, rest, pace, deadline, counts }: Lane,
): Promise<void> {
  const due = () =>
    now() < deadline ? faults : faults.filter(({ name }) => counts.get(name) === 0);
  let deck = random.shuffled(faults);
  while (due().length > 0 && now() < deadline + pace * graceMs) {
    if (deck.length === 0) deck = random.shuffled(due());
    const fault = deck.pop();
    if (fault === undefined || !due().includes(fault)) continue;
    environment.note(`begin ${fault.name}`);
    const hasStruck = await fault.strike(environment, random);
    environment.note(`end ${fault.name}`);
    if (hasStruck) counts.set(fault.name, (counts.get(fault.name) ?? 0) + 1);
    await sleep(pace * random.between(rest.low, rest.high));
  }
}
