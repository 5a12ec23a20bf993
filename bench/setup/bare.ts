// Starts and ends the bare server.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RequestLog } from './request-log.ts';

const startLimitMs = 20_000;

export interface BareServer {
  readonly pid: number;
  readonly origin: string;
  log(): string;
  stop(): Promise<void>;
}

/** @param answer what its route returns. */
export async function startBare(
  directory: string,
  answer: string,
  isLogged: boolean,
): Promise<BareServer> {
  const log = new RequestLog(join(directory, 'bare.log'));
  const level = isLogged ? 'info' : 'warn';
  const child = fork(new URL('./bare-server.ts', import.meta.url), [answer, level], {
    stdio: ['ignore', 'ignore', log.descriptor, 'ipc'],
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    }
    log.close();
  };
  try {
    const started = once(child, 'message', { signal: AbortSignal.timeout(startLimitMs) });
    const [{ origin }] = (await started) as [{ origin: string }];
    return { pid: child.pid ?? 0, origin, log: () => log.rest(), stop };
  } catch (error) {
    await stop();
    throw new Error(`the bare server did not start: ${log.rest()}`, { cause: error });
  }
}
