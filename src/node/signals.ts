// How a node ends, and what else a signal asks of it.

import type { Logger } from 'pino';
import { limits } from '../core/limits.ts';
import type { Running } from './running.ts';

/** Runs until a signal. Resolves when everything is stopped. */
export async function runUntilSignal(running: Running, log: Logger): Promise<void> {
  await new Promise<void>((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstAt !== undefined) {
        if (performance.now() - firstAt > limits.sameSignalTime) void abandon(signal);
        return;
      }
      firstAt = performance.now();
      log.info({ signal }, 'stopping');
      stopAwake(running).then(resolve, (error: unknown) => {
        log.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      });
    };
    const abandon = async (signal: NodeJS.Signals) => {
      log.warn({ signal }, 'told to stop again: ended without waiting');
      await running.abandon().finally(() => process.exit(1));
    };
    for (const signal of endingSignals) process.on(signal, onSignal);
    process.on('SIGUSR2', () => {
      if (running.replace === undefined) {
        log.warn({}, 'told to replace its workers, but there are none: restart the service');
        return;
      }
      running
        .replace()
        .catch((err: unknown) => log.error({ err }, 'the workers were not replaced'));
    });
  });
}

/**
 * Stops, however little is left to wait for: time-outs of a stop keep no process, and one whose
 * connections were all lost would end with code 13 before it has stopped.
 */
export async function stopAwake(running: Running): Promise<void> {
  const awake = setInterval(() => undefined, limits.drainTimeout);
  await running.stop().finally(() => clearInterval(awake));
}

export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ends the process on an unexpected error. */
export function endOnUnexpected(log: Logger): void {
  const end = (error: unknown) => {
    log.fatal({ err: error }, 'unexpected error');
    process.exit(70);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}
