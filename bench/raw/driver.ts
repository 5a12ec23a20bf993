// How the raw figures are driven: with pgbench when it is installed, which costs the machine least,
// otherwise with a loop over the same driver as the service's, in a process of its own. A loop says
// less: its own work is part of the figure.

import type { Measured } from '../measure.ts';
import { findProgram } from '../setup/program.ts';
import { startWorker } from '../worker-process.ts';
import type { LoopJob } from './loop-worker.ts';
import { runPgbench } from './pgbench.ts';
import type { RawWork } from './statement.ts';

export interface RawDriver {
  readonly name: 'pgbench' | 'pg loop';
  run(work: RawWork, clients: number, seconds: number): Promise<Measured>;
  stop(): Promise<void>;
}

/** New connections plan and compile at first; figures begin after this many seconds. */
export const rampSeconds = 1;

/** @param directory for scripts and logs of pgbench. */
export function startRaw(
  url: string,
  directory: string,
  wanted: 'pgbench' | 'loop' | undefined,
): RawDriver {
  const pgbench = findProgram('pgbench');
  if (wanted === 'pgbench' && pgbench === undefined) throw new Error('pgbench is not on the PATH');
  if (pgbench !== undefined && wanted !== 'loop') {
    return {
      name: 'pgbench',
      run: (work, clients, seconds) =>
        runPgbench(pgbench, { url, directory, work, clients, seconds, rampSeconds }),
      stop: async () => undefined,
    };
  }
  const worker = startWorker<LoopJob, Measured>(new URL('./loop-worker.ts', import.meta.url));
  return {
    name: 'pg loop',
    run: (work, clients, seconds) =>
      worker.run(
        { url, work, clients, seconds, rampSeconds },
        (seconds + rampSeconds) * 1_000 + 20_000,
      ),
    stop: () => worker.stop(),
  };
}
