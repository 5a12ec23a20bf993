// Faults of processes: killed, frozen and replaced, of the service and of the database.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { ServiceNode } from '../world/node.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './nemesis.ts';

/** So long does a lane look for an open transaction to kill. */
const lookForBatchMs = 3_000;

export const processFaults: readonly Fault[] = [
  {
    name: 'service killed',
    async strike(world, random) {
      const node = random.pick(world.nodes);
      await kill(world, node, await hasOpenTransaction(world, node));
      await sleep(random.between(0, 500));
      await node.start();
    },
  },
  {
    name: 'service killed inside a batch',
    async strike(world, random) {
      const node = random.pick(world.nodes);
      const deadline = Date.now() + lookForBatchMs;
      let isInside = await hasOpenTransaction(world, node);
      while (!isInside && Date.now() < deadline) {
        node.signal('SIGCONT');
        await sleep(random.between(1, 20));
        isInside = await hasOpenTransaction(world, node);
      }
      await kill(world, node, isInside);
      await node.start();
    },
  },
  {
    name: 'service frozen',
    async strike({ nodes }, random) {
      const node = random.pick(nodes);
      node.signal('SIGSTOP');
      await sleep(random.between(300, 3_000));
      node.signal('SIGCONT');
    },
  },
  {
    name: 'rolling restart',
    async strike(world) {
      for (const node of world.nodes) {
        const code = await node.end('SIGTERM');
        world.note('restarted', { node: node.number });
        if (code !== 0) world.fail(`node ${node.number} ended with ${code} after SIGTERM`);
        await node.start();
      }
    },
  },
  {
    name: 'database killed',
    async strike(world) {
      await breakDatabase(world, async () => process.kill(world.database.postmaster, 'SIGKILL'));
    },
  },
  {
    name: 'backend killed',
    async strike(world, random) {
      await breakDatabase(world, async () => {
        const victim = await someBackend(world, random);
        if (victim !== undefined) process.kill(victim, 'SIGKILL');
      });
    },
  },
  {
    name: 'backends terminated',
    async strike({ database }) {
      await database.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where usename = 'tallybook_service'`);
    },
  },
  {
    name: 'database frozen',
    async strike({ database }, random) {
      const { processes } = database;
      for (const pid of processes) signal(pid, 'SIGSTOP');
      await sleep(random.between(200, 2_500));
      for (const pid of processes) signal(pid, 'SIGCONT');
    },
  },
  {
    name: 'backend frozen with its locks',
    async strike(world, random) {
      const victim = await someBackend(world, random);
      if (victim === undefined) return;
      signal(victim, 'SIGSTOP');
      await sleep(random.between(1_000, 3_500));
      signal(victim, 'SIGCONT');
    },
  },
];

async function kill(world: World, node: ServiceNode, inBatch: boolean): Promise<void> {
  await node.end('SIGKILL');
  world.note('killed', { node: node.number, inBatch });
}

/** Stops the node and looks: what is still open a moment later cannot be the other node's. */
async function hasOpenTransaction({ database }: World, node: ServiceNode): Promise<boolean> {
  node.signal('SIGSTOP');
  try {
    const before = new Set(await database.busyBackends());
    await sleep(15);
    const after = await database.busyBackends();
    return after.some((pid) => before.has(pid));
  } catch {
    return false;
  }
}

async function breakDatabase(world: World, strike: () => Promise<unknown>): Promise<void> {
  await strike();
  world.note('database down');
  await world.database.ready();
  world.note('database up');
}

/** One that holds a transaction open, if there is one just now. */
async function someBackend({ database }: World, random: Random): Promise<number | undefined> {
  const busy = await database.busyBackends();
  return busy.length === 0 ? undefined : random.pick(busy);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
