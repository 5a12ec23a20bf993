// Which load generator there is: wrk when it is installed, otherwise our own, which needs nothing
// but Node. A write costs the machine 10 µs with wrk, 11 µs with ours and 21 µs with autocannon.

import type { Measured } from '../measure.ts';
import { findProgram } from '../setup/program.ts';
import { startWorker } from '../worker-process.ts';
import type { RequestTemplate, Target } from './template.ts';
import type { LoadJob } from './worker.ts';
import { runWrk } from './wrk.ts';

export interface LoadGenerator {
  readonly name: 'wrk' | 'node';
  /** Whether it knows every write it made: wrk drops what is under way at its end. */
  readonly isExact: boolean;
  run(template: RequestTemplate, connections: number, seconds: number): Promise<Measured>;
  /** How many requests of a template were answered with 2xx so far. */
  answered(template: RequestTemplate): number;
  stop(): Promise<void>;
}

type Drive = (job: LoadJob) => Promise<Measured>;

/** Far more than one measurement can send, so that no two share a count. */
const countsPerRun = 10_000_000;
/** Above every quantity that the data begins with, and long enough for a key. */
const firstCount = 1_000_000_000;

export function startLoad(target: Target, wanted: 'wrk' | 'node' | undefined): LoadGenerator {
  const wrk = findProgram('wrk');
  if (wanted === 'wrk' && wrk === undefined) throw new Error('wrk is not on the PATH');
  if (wrk !== undefined && wanted !== 'node') {
    const drive: Drive = (job) => runWrk(wrk, job);
    return { name: 'wrk', isExact: false, ...counted(target, drive), stop: async () => undefined };
  }
  const worker = startWorker<LoadJob, Measured>(new URL('./worker.ts', import.meta.url));
  const drive: Drive = (job) => worker.run(job, job.seconds * 1_000 + 20_000);
  return { name: 'node', isExact: true, ...counted(target, drive), stop: () => worker.stop() };
}

function counted(target: Target, drive: Drive): Pick<LoadGenerator, 'run' | 'answered'> {
  const answers = new Map<RequestTemplate, number>();
  const answered = (template: RequestTemplate) => answers.get(template) ?? 0;
  let runs = 0;
  return {
    answered,
    async run(template, connections, seconds) {
      runs += 1;
      const count = firstCount + runs * countsPerRun;
      const result = await drive({ target, template, connections, seconds, firstCount: count });
      answers.set(template, answered(template) + result.total);
      return result;
    },
  };
}
