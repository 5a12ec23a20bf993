// Faults of networks, between clients and service and between service and database.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosEnvironment } from '../environment/environment.ts';
import type { ServiceNode } from '../environment/node.ts';
import type { Toxic } from '../environment/toxic-proxy.ts';
import type { Random } from '../random.ts';
import type { Fault } from './nemesis.ts';

const sides = ['front', 'back'] as const;

const toxics: Readonly<Record<string, (random: Random) => Toxic>> = {
  latency: (random) => ({ kind: 'latency', ms: random.between(20, 300) }),
  blackhole: () => ({ kind: 'blackhole' }),
  'half-open': (random) => ({ kind: 'half-open', lost: random.pick(['toServer', 'toClient']) }),
  // Some hundred bytes are part of one message, several thousand lie somewhere in a batch.
  cut: (random) => ({
    kind: 'cut',
    after: Math.floor(random.between(1, random.next() < 0.5 ? 700 : 20_000)),
    direction: random.pick(['toServer', 'toClient', 'toClient']),
  }),
};

const names = { front: 'clients', back: 'database' } as const;

export const networkFaults: readonly Fault[] = sides.flatMap((side) => [
  {
    name: `connections to ${names[side]} reset`,
    async strike({ nodes }: ChaosEnvironment, random: Random) {
      const times = 1 + random.below(5);
      const before = touched(nodes, side);
      for (let n = 0; n < times; n += 1) {
        random.pick(nodes)[side].reset();
        await sleep(random.between(5, 200));
      }
      return touched(nodes, side) > before;
    },
  },
  ...Object.entries(toxics).map(([kind, make]) => ({
    name: `${kind} before ${names[side]}`,
    async strike({ nodes }: ChaosEnvironment, random: Random) {
      const proxy = random.pick(nodes)[side];
      const before = touched(nodes, side);
      proxy.toxic = make(random);
      await sleep(random.between(200, 1_500));
      proxy.toxic = undefined;
      return touched(nodes, side) > before;
    },
  })),
]);

function touched(nodes: readonly ServiceNode[], side: (typeof sides)[number]): number {
  return nodes.reduce((sum, node) => sum + node[side].touched, 0);
}
