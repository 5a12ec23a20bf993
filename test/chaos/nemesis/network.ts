// Faults of networks, between clients and service, between service and database, and between a
// pooler and what is behind it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosEnvironment } from '../environment/environment.ts';
import type { Toxic, ToxicProxy } from '../environment/toxic-proxy.ts';
import type { Random } from '../random.ts';
import type { Fault } from './nemesis.ts';

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

export function networkFaults({ nodes, pooler, cluster }: ChaosEnvironment): Fault[] {
  const fronts = nodes.map(({ front }) => front);
  const backs = nodes.map(({ back }) => back);
  return [
    ...faultsBefore('clients', fronts),
    // Nodes go to the workers of a cluster directly.
    ...(cluster === undefined ? faultsBefore('database', backs) : []),
    ...(pooler === undefined ? [] : faultsBefore('database behind the pooler', [pooler.behind])),
  ];
}

function faultsBefore(name: string, proxies: readonly ToxicProxy[]): Fault[] {
  const touched = () => proxies.reduce((sum, proxy) => sum + proxy.touched, 0);
  return [
    {
      name: `connections to ${name} reset`,
      async strike(_, random) {
        const times = 1 + random.below(5);
        const before = touched();
        for (let n = 0; n < times; n += 1) {
          random.pick(proxies).reset();
          await sleep(random.between(5, 200));
        }
        return touched() > before;
      },
    },
    ...Object.entries(toxics).map(([kind, make]) => ({
      name: `${kind} before ${name}`,
      async strike(_: ChaosEnvironment, random: Random) {
        const proxy = random.pick(proxies);
        const before = touched();
        proxy.toxic = make(random);
        await sleep(random.between(200, 1_500));
        proxy.toxic = undefined;
        return touched() > before;
      },
    })),
  ];
}
