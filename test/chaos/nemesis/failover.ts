// Faults of a server with a standby: the primary loses power and the standby takes over, whatever
// else has happened to either, and the one from before comes back as the standby of the new one.

import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../kit/usage.ts';
import type { ChaosEnvironment } from '../environment/environment.ts';
import { signalTo } from '../environment/node.ts';
import type { ChaosPair } from '../environment/pair.ts';
import type { Random } from '../random.ts';
import { stoppedBackend } from './database.ts';
import type { Fault } from './nemesis.ts';

export function failoverFaults(pair: ChaosPair): Fault[] {
  const failover: Fault = {
    name: 'primary killed, standby promoted',
    strike: (environment, random) => failOver(environment, random, pair),
  };
  return [
    // Twice in each round: it is what a run with a standby is for.
    failover,
    failover,
    {
      name: 'standby frozen',
      async strike(_, random) {
        const stopped = [pair.standby, ...childrenOf(pair.standby)];
        for (const pid of stopped) signalTo(pid, 'SIGSTOP');
        await sleep(random.between(300, 3_000));
        return stopped.filter((pid) => signalTo(pid, 'SIGCONT')).length > 0;
      },
    },
    {
      name: 'standby killed',
      async strike() {
        const hasStruck = signalTo(pair.standby, 'SIGKILL');
        await pair.standbyBack();
        return hasStruck;
      },
    },
  ];
}

async function failOver(
  environment: ChaosEnvironment,
  random: Random,
  pair: ChaosPair,
): Promise<true> {
  const isAimed = random.next() < 0.5;
  const victim = isAimed ? await stoppedBackend(environment, random) : undefined;
  environment.note('database down', { inBatch: victim !== undefined });
  await pair.failOver();
  environment.note('database up');
  await sleep(random.between(0, 1_500));
  await pair.rejoin();
  return true;
}
