// Faults of a cluster: a worker or the coordinator loses power and comes back, at any moment or
// while a cell moves; and the moves themselves, in a lane of their own.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterServer } from '../../kit/citus-servers.ts';
import type { ChaosCluster } from '../environment/cluster.ts';
import { processesOf } from '../environment/database.ts';
import type { ChaosEnvironment } from '../environment/environment.ts';
import { signalTo } from '../environment/node.ts';
import type { Random } from '../random.ts';
import { stoppedBackend } from './database.ts';
import type { Fault } from './nemesis.ts';

/** How long a server is down before it starts. */
const downMs = { low: 0, high: 2_500 };
/** The same of one that the shop can do without: long enough to show it. */
const sparedMs = { low: 2_000, high: 5_000 };
/** So long does a lane look for a move to break: there is a rest between two. */
const lookForMoveMs = 10_000;
/** So long does a move take, or longer. */
const moveMs = 3_000;

export function clusterFaults(cluster: ChaosCluster): Fault[] {
  const coordinatorKilled: Fault = {
    name: 'coordinator killed',
    async strike(environment, random) {
      await losePower({ environment, cluster, random }, cluster.coordinator);
      return true;
    },
  };
  return [
    {
      name: 'worker killed',
      async strike(environment, random) {
        const isAimed = random.next() < 0.5;
        const inside = isAimed ? await stoppedBackend(environment, random) : undefined;
        const own = cluster.workers.find((one) => processesOf(one).includes(inside ?? 0));
        const victim = own ?? (await workersOf(environment, cluster)).own;
        await losePower({ environment, cluster, random }, victim, own !== undefined);
        // It may be one of the coordinator.
        if (inside !== undefined) signalTo(inside, 'SIGCONT');
        return true;
      },
    },
    {
      name: 'worker of other cells killed',
      async strike(environment, random) {
        await losePower(
          { environment, cluster, random },
          (await workersOf(environment, cluster)).other,
        );
        return true;
      },
    },
    // Twice in each round: nodes that start meanwhile wait for it, and then nobody writes.
    coordinatorKilled,
    coordinatorKilled,
    {
      name: 'server killed while a cell moves',
      async strike(environment, random) {
        const deadline = Date.now() + lookForMoveMs;
        while (cluster.moving === undefined && Date.now() < deadline) await sleep(20);
        await sleep(random.between(0, moveMs));
        const { moving } = cluster;
        if (moving === undefined) return false;
        await losePower({ environment, cluster, random }, random.pick(moving));
        return true;
      },
    },
  ];
}

export function moves(cluster: ChaosCluster): Fault[] {
  return [
    {
      name: 'cell moved',
      async strike(environment, random) {
        const { database, shop } = environment;
        const cell = random.next() < 0.5 ? shop.cell : random.pick(database.cells);
        const isOfShop = cell === shop.cell;
        if (isOfShop) environment.note('shop moving');
        try {
          const failures = await cluster.move(cell);
          if (failures > 0) environment.note('move repeated');
          return true;
        } catch (error) {
          environment.fail(`${cell} did not move: ${error}`);
          return false;
        } finally {
          if (isOfShop) environment.note('shop moved');
        }
      },
    },
  ];
}

interface Stage {
  readonly environment: ChaosEnvironment;
  readonly cluster: ChaosCluster;
  readonly random: Random;
}

/** A server with all its processes, for a moment: the database of the shop, or another one. */
async function losePower(
  { environment, cluster, random }: Stage,
  server: ClusterServer,
  inBatch = false,
): Promise<void> {
  const { own } = await workersOf(environment, cluster);
  const worker = server === own ? 'database' : 'other worker';
  const what = server.isCoordinator ? 'coordinator' : worker;
  const { low, high } = server === own ? downMs : sparedMs;
  environment.note(`${what} down`, { inBatch });
  await server.kill();
  await sleep(random.between(low, high));
  await server.start();
  environment.note(`${what} up`);
}

/** The worker with the cell of the shop, and the one without it. */
async function workersOf({ shop }: ChaosEnvironment, cluster: ChaosCluster) {
  const place = await cluster.placeOf(shop.cell);
  const [own, ...others] = cluster.workers.toSorted(
    (a, b) => Number(b.ownerUrl === place) - Number(a.ownerUrl === place),
  );
  const [other] = others;
  if (own === undefined || other === undefined) throw new Error('there are no two workers');
  return { own, other };
}
