// Which load generator there is: wrk when it is installed, otherwise autocannon, which needs
// nothing but Node. A write costs the machine 10 µs with wrk and 21 µs with autocannon.

import type { Measured } from '../measure.ts';
import { findProgram } from '../setup/program.ts';
import { startWorker } from '../worker-process.ts';
import type { LoadPlan } from './template.ts';
import type { LoadJob } from './worker.ts';
import { runWrk } from './wrk.ts';

export const generators = ['wrk', 'autocannon'] as const;
export type GeneratorName = (typeof generators)[number];

export interface LoadGenerator {
  readonly name: GeneratorName;
  run(origin: string, plan: LoadPlan, connections: number, seconds: number): Promise<Measured>;
  /** Movements that were recorded so far, as the answers said. */
  movements(): number;
  /** At most so many more were recorded: what is under way at the end of a run is dropped. */
  dropped(): number;
  stop(): Promise<void>;
}

/** Far more than one measurement can send, so that no two share a count. */
const countsPerRun = 10_000_000;
/** Above every quantity that the data begins with, and long enough for a key. */
const firstCount = 1_000_000_000;

/** @param directory for what a generator is told by a file. */
export function startLoad(directory: string, wanted: GeneratorName | undefined): LoadGenerator {
  const wrk = findProgram('wrk');
  if (wanted === 'wrk' && wrk === undefined) throw new Error('wrk is not on the PATH');
  if (wrk !== undefined && wanted !== 'autocannon') {
    const drive = (job: LoadJob) => runWrk(wrk, directory, job);
    return { name: 'wrk', ...counted(drive), stop: async () => undefined };
  }
  const worker = startWorker<LoadJob, Measured>(new URL('./worker.ts', import.meta.url));
  const drive = (job: LoadJob) => worker.run(job, job.seconds * 1_000 + 20_000);
  return { name: 'autocannon', ...counted(drive), stop: () => worker.stop() };
}

function counted(
  drive: (job: LoadJob) => Promise<Measured>,
): Pick<LoadGenerator, 'run' | 'movements' | 'dropped'> {
  let runs = 0;
  let movements = 0;
  let dropped = 0;
  return {
    movements: () => movements,
    dropped: () => dropped,
    async run(origin, plan, connections, seconds) {
      runs += 1;
      const count = firstCount + runs * countsPerRun;
      const result = await drive({ origin, plan, connections, seconds, firstCount: count });
      movements += result.movements;
      dropped += connections;
      return result;
    },
  };
}
