// Faults of the pooler: killed, restarted and frozen, with what it holds for all nodes.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosPooler } from '../environment/pooler.ts';
import type { Fault } from './nemesis.ts';

export function poolerFaults(pooler: ChaosPooler): Fault[] {
  return [
    {
      name: 'pooler killed',
      async strike(_, random) {
        await pooler.end('SIGKILL');
        await sleep(random.between(0, 500));
        await pooler.start();
        return true;
      },
    },
    {
      name: 'pooler restarted',
      async strike() {
        await pooler.restart('SIGTERM');
        return true;
      },
    },
    {
      name: 'pooler frozen',
      async strike(_, random) {
        pooler.signal('SIGSTOP');
        await sleep(random.between(300, 2_500));
        pooler.signal('SIGCONT');
        return true;
      },
    },
  ];
}
