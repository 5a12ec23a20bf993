// Faults of the database's processes: killed, terminated and frozen, the whole of it or a backend.

import { setTimeout as sleep } from 'node:timers/promises';
import { processesOf } from '../environment/database.ts';
import type { ChaosEnvironment } from '../environment/environment.ts';
import type { Random } from '../random.ts';
import type { Fault } from './nemesis.ts';

/** So long does a lane look for a backend with a transaction. */
const lookForBackendMs = 3_000;
/** Backends of both nodes, and not those of a command line. */
const ofNodes = 'node %';

const backendKilled: Fault = {
  name: 'backend killed',
  strike: (environment, random) =>
    crash(environment, async () => {
      const victim = await stoppedBackend(environment, random);
      return victim !== undefined && signal(victim, 'SIGKILL');
    }),
};

/** Where somebody starts it again. */
export const databaseKilled: Fault = {
  name: 'database killed',
  strike: (environment, random) =>
    crash(environment, async () => {
      const isAimed = random.next() < 0.5;
      const victim = isAimed ? await stoppedBackend(environment, random) : undefined;
      process.kill(random.pick(environment.database.servers).postmaster, 'SIGKILL');
      // It is stopped, and could not see that its server is gone.
      if (victim !== undefined) signal(victim, 'SIGKILL');
      return victim !== undefined;
    }),
};

export const databaseFaults: readonly Fault[] = [
  // Twice in each round: a long run needs many kills inside a transaction.
  backendKilled,
  backendKilled,
  {
    name: 'backends terminated',
    async strike({ database }) {
      // One that waits for a standby must not be: its commit would be seen without being there.
      const ended =
        await database.queryServers(`select pg_terminate_backend(pid) from pg_stat_activity
        where usename = 'tallybook_service' and wait_event is distinct from 'SyncRep'`);
      return ended.length > 0;
    },
  },
  {
    name: 'database frozen',
    async strike({ database }, random) {
      await database.ready();
      const processes = processesOf(random.pick(database.servers));
      const stopped = processes.filter((pid) => signal(pid, 'SIGSTOP'));
      await sleep(random.between(200, 2_500));
      for (const pid of processes) signal(pid, 'SIGCONT');
      return stopped.length > 0;
    },
  },
  {
    name: 'backend frozen with its locks',
    async strike(environment, random) {
      const victim = await stoppedBackend(environment, random);
      if (victim === undefined) return false;
      await sleep(random.between(2_000, 3_500));
      return signal(victim, 'SIGCONT');
    },
  },
];

/**
 * @param strike answers whether a transaction was open.
 * @returns whether the server crashed and came back.
 */
export async function crash(
  environment: ChaosEnvironment,
  strike: () => Promise<boolean>,
): Promise<boolean> {
  let inBatch = false;
  const isDown = await environment.database.crashes(async () => {
    inBatch = await strike();
  });
  if (!isDown) return false;
  environment.note('database down', { inBatch });
  await environment.database.ready();
  environment.note('database up');
  return true;
}

/** One that was stopped inside a transaction, if one can be had. */
export async function stoppedBackend(
  { database }: ChaosEnvironment,
  random: Random,
): Promise<number | undefined> {
  const deadline = Date.now() + lookForBackendMs;
  while (Date.now() < deadline) {
    const busy = await database.busyBackends(ofNodes);
    if (busy.length > 0) {
      const victim = random.pick(busy);
      if (signal(victim, 'SIGSTOP') && (await database.busyBackends(ofNodes)).includes(victim)) {
        return victim;
      }
      signal(victim, 'SIGCONT');
    }
    await sleep(10);
  }
  return undefined;
}

/** @returns whether the process was there. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
