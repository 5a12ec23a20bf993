// Faults of the service's processes: killed, frozen and replaced.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosEnvironment } from '../environment/environment.ts';
import { type ServiceNode, signalTo } from '../environment/node.ts';
import type { Random } from '../random.ts';
import type { Fault } from './nemesis.ts';

/** So long does a lane look for an open transaction to kill. */
const lookForBatchMs = 3_000;

const killedInside: Fault = {
  name: 'service killed inside a batch',
  async strike(environment, random) {
    const node = random.pick(environment.nodes);
    const inBatch = await catchInsideBatch(environment, random, node);
    await kill(environment, node, inBatch);
    await node.start();
    return inBatch;
  },
};

export const serviceFaults: readonly Fault[] = [
  {
    name: 'service killed',
    async strike(environment, random) {
      const node = random.pick(environment.nodes);
      await kill(environment, node, await isInsideBatch(environment, node));
      await sleep(random.between(0, 500));
      await node.start();
      return true;
    },
  },
  // Twice in each round: a long run needs many of these.
  killedInside,
  killedInside,
  {
    name: 'service frozen',
    async strike({ nodes }, random) {
      const node = random.pick(nodes);
      node.signal('SIGSTOP');
      await sleep(random.between(300, 3_000));
      node.signal('SIGCONT');
      return true;
    },
  },
  {
    name: 'rolling restart',
    async strike(environment) {
      for (const node of environment.nodes) {
        const code = await node.end('SIGTERM');
        environment.note('restarted', { node: node.number });
        if (code !== 0) environment.fail(`node ${node.number} ended with ${code} after SIGTERM`);
        await node.start();
      }
      return true;
    },
  },
];

/** Where nodes have workers. Whoever is killed is replaced by the main process. */
export const workerFaults: readonly Fault[] = [
  {
    name: 'worker killed',
    async strike(environment, random) {
      const node = random.pick(environment.nodes);
      const { workers } = node;
      if (workers.length === 0) return false;
      const pid = random.pick(workers);
      environment.note('worker killed', { node: node.number });
      return signalTo(pid, 'SIGKILL');
    },
  },
  {
    name: 'worker frozen',
    async strike({ nodes }, random) {
      const node = random.pick(nodes);
      const { workers } = node;
      if (workers.length === 0) return false;
      const pid = random.pick(workers);
      const hasStruck = signalTo(pid, 'SIGSTOP');
      await sleep(random.between(300, 3_000));
      signalTo(pid, 'SIGCONT');
      return hasStruck;
    },
  },
  {
    name: 'workers replaced',
    async strike({ nodes }, random) {
      const node = random.pick(nodes);
      if (node.workers.length === 0) return false;
      node.signal('SIGUSR2');
      return true;
    },
  },
];

async function kill(
  environment: ChaosEnvironment,
  node: ServiceNode,
  inBatch: boolean,
): Promise<void> {
  await node.end('SIGKILL');
  environment.note('killed', { node: node.number, inBatch });
}

/** @returns whether it is; the node is left frozen. */
async function catchInsideBatch(
  environment: ChaosEnvironment,
  random: Random,
  node: ServiceNode,
): Promise<boolean> {
  const deadline = Date.now() + lookForBatchMs;
  while (Date.now() < deadline) {
    if (await isInsideBatch(environment, node)) return true;
    node.signal('SIGCONT');
    await sleep(random.between(1, 20));
  }
  return false;
}

/** Freezes the node and looks: what is still open a moment later waits for the node. */
async function isInsideBatch({ database }: ChaosEnvironment, node: ServiceNode): Promise<boolean> {
  node.signal('SIGSTOP');
  const before = new Set(await database.busyBackends(node.name));
  if (before.size === 0) return false;
  await sleep(15);
  const after = await database.busyBackends(node.name);
  return after.some((pid) => before.has(pid));
}
