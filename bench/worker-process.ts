// A process that does jobs one at a time, so that driving load does not share a thread with
// anything else. It ends with this one, however this one ends: its channel closes.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface WorkerProcess<Job extends object, Result> {
  /** @throws Error when the job failed, took longer than `limitMs`, or the process ended. */
  run(job: Job, limitMs: number): Promise<Result>;
  stop(): Promise<void>;
}

type Answer = { readonly result: unknown } | { readonly failure: string };

/** @param file a module that calls `serveJobs`. */
export function startWorker<Job extends object, Result>(file: URL): WorkerProcess<Job, Result> {
  const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    run: (job, limitMs) => runJob(child, job, limitMs) as Promise<Result>,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}

async function runJob(child: ChildProcess, job: object, limitMs: number): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  const limit = setTimeout(() => over.abort(), limitMs);
  const answered = once(child, 'message', { signal }) as Promise<[Answer]>;
  const ended = once(child, 'exit', { signal }).then(([code, by]): never => {
    throw new Error(`the load process ended with ${by ?? code}`);
  });
  // The one that is not waited for any more is called off, and rejects.
  for (const promise of [answered, ended]) promise.catch(() => undefined);
  try {
    child.send(job, () => undefined);
    const [answer] = await Promise.race([answered, ended]);
    if ('failure' in answer) throw new Error(answer.failure);
    return answer.result;
  } catch (error) {
    throw signal.aborted ? new Error(`the load process took longer than ${limitMs} ms`) : error;
  } finally {
    clearTimeout(limit);
    over.abort();
  }
}

/** In the worker: answers every job with its result. */
export function serveJobs<Job>(work: (job: Job) => Promise<unknown>): void {
  process.on('message', (job) => {
    work(job as Job).then(
      (result) => process.send?.({ result }),
      (error: unknown) => process.send?.({ failure: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
