// A worker: it serves as a process alone does, with what the main process gives it, and ends when
// it is told to. Should the main process end, so does a worker, at once: Node sees to that.

import type { Logger } from 'pino';
import type { CountAddress } from '../access/rate/address.ts';
import { type Config, UsageError } from '../config.ts';
import { systemMessage } from '../core/system-failure.ts';
import { Metrics } from '../http/metrics.ts';
import { programVersion } from '../http/sites.ts';
import { start } from '../main.ts';
import type { Charge, FromWorker, Known, ToWorker } from './messages.ts';
import { endingSignals } from './signals.ts';

/** Serves until it is told to leave, then ends this process. */
export async function serveAsWorker(
  config: Config,
  log: Logger,
  linesLost: () => number,
): Promise<void> {
  // A terminal and systemd signal all processes; the main one tells its workers what to do.
  for (const signal of [...endingSignals, 'SIGUSR2']) process.on(signal, () => undefined);
  const metrics = new Metrics(programVersion());
  const main = new MainProcess(metrics);
  const { workers, databaseUrl, secret, port, reads, pooling } = await main.charge;
  const own: Config = {
    ...config,
    ...{ secret, port, backups: undefined, metricsPort: undefined },
    storage: { kind: 'external', databaseUrl, migrateUrl: undefined },
  };
  try {
    const running = await start(
      own,
      log,
      {
        linesLost,
        signal: main.leaving.signal,
        beforeReady: async ({ url }) => {
          say({ say: 'listening', url });
          await main.serving;
        },
      },
      {
        ...{ workers, reads, pooling, metrics },
        countAddress: (limit, address) => main.count(limit, address),
        backups: () => main.known.backups,
        linesLostBefore: () => main.known.linesLost,
        onLead: (begin) => void main.leading.then(begin),
        isReplaced: () => main.isReplaced,
      },
    );
    await main.left;
    await running.stop();
  } catch (error) {
    if (!main.leaving.signal.aborted) {
      const reason = error instanceof Error ? systemMessage(error) : String(error);
      await said({ say: 'failed', reason, isUsage: error instanceof UsageError });
      process.exit(1);
    }
  }
  await said({ say: 'measured', measured: await metrics.registry.getMetricsAsJSON() });
  process.exit(0);
}

/** What it says, and what it is asked. */
class MainProcess {
  readonly leaving = new AbortController();
  known: Known = { linesLost: 0, backups: undefined };
  isReplaced = false;
  readonly #charge = settled<Charge>();
  readonly #serving = settled();
  readonly #leading = settled();
  readonly #left = settled();
  readonly #asked = new Map<number, (wait: number | undefined) => void>();
  #asks = 0;

  constructor(metrics: Metrics) {
    process.on('message', (message: ToWorker) => {
      if (message.say === 'begin') {
        this.known = message.known;
        this.#charge.settle(message.charge);
      } else if (message.say === 'serve') this.#serving.settle();
      else if (message.say === 'lead') this.#leading.settle();
      else if (message.say === 'know') this.known = message.known;
      else if (message.say === 'counted') this.#answer(message.id, message.wait);
      else if (message.say === 'measure') void tellMeasures(metrics);
      else if (message.say === 'leave') this.#leave(message.isReplaced);
    });
    say({ say: 'here' });
  }

  get charge(): Promise<Charge> {
    return this.#charge.promise;
  }

  get serving(): Promise<void> {
    return this.#serving.promise;
  }

  get leading(): Promise<void> {
    return this.#leading.promise;
  }

  get left(): Promise<void> {
    return this.#left.promise;
  }

  /** All workers share one count, which is there. */
  count(...[limit, address]: Parameters<CountAddress>): Promise<number | undefined> {
    this.#asks += 1;
    const id = this.#asks;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      say({ say: 'count', id, limit, address });
    });
  }

  #answer(id: number, wait: number | undefined): void {
    this.#asked.get(id)?.(wait);
    this.#asked.delete(id);
  }

  #leave(isReplaced: boolean): void {
    this.isReplaced = isReplaced;
    this.leaving.abort();
    this.#serving.settle();
    this.#left.settle();
  }
}

async function tellMeasures(metrics: Metrics): Promise<void> {
  say({ say: 'measured', measured: await metrics.registry.getMetricsAsJSON() });
}

function say(message: FromWorker): void {
  void said(message);
}

/** Resolves when it has been sent, or cannot be. */
function said(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send) {
      process.send(message, undefined, undefined, () => resolve());
    } else resolve();
  });
}

/** A promise that somebody else settles. */
function settled<Value = void>() {
  let settle: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}
