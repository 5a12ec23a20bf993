// The main process of a node with workers. What exists once is here: the private server, the daily
// backups, the log, the metrics, the counts of addresses. It serves no request itself.

import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { migrationLine } from '../access/audit/operator-entry.ts';
import { countAddresses } from '../access/rate/address.ts';
import { createService } from '../app.ts';
import type { DailyBackups } from '../backups/daily.ts';
import type { Config } from '../config.ts';
import { openStore, type Store } from '../database/open.ts';
import { roomFor } from '../database/room.ts';
import { Certificate } from '../http/certificate.ts';
import { Metrics } from '../http/metrics.ts';
import { programVersion } from '../http/sites.ts';
import type { LogWriter } from '../log.ts';
import { startPrivateServer } from '../postgres/server.ts';
import { shareConnections } from './connections.ts';
import { dailyBackups, exposeBackups } from './daily-backups.ts';
import { linesInto } from './lines.ts';
import { freePort, listenForMetrics } from './listen.ts';
import { Measurements } from './measures.ts';
import type { Charge } from './messages.ts';
import { WorkerPool } from './pool.ts';
import type { Running, StartOptions } from './running.ts';

interface WorkersOptions extends StartOptions {
  /** Of the log, for the lines of workers. */
  readonly writer: LogWriter;
}

/** How often workers are told what the main process knows, such as when the last backup was. */
const tellInterval = 5_000;

/** @throws what keeps the service from starting; nothing is left running then. */
export async function startWorkers(
  config: Config,
  log: Logger,
  options: WorkersOptions,
): Promise<Running> {
  // Before anything has started: a wrong file is a wrong setting.
  if (config.tls) new Certificate(config.tls);
  const backups = config.backups && dailyBackups(config.backups, config.storage, log);
  const { signal, beforeReady } = options;
  const store = await openStore(config, log, {
    ...{ startPrivateServer, migrationLine, signal },
    connections: roomFor(config.workers).needed,
  });
  try {
    const node = await begin(config, log, store, backups, options);
    try {
      await beforeReady?.(node.running);
      await node.running.service.close();
      await store.release();
    } catch (error) {
      await node.running.stop();
      throw error;
    }
    node.pool.serve();
    backups?.start();
    return node.running;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function begin(
  config: Config,
  log: Logger,
  store: Store,
  backups: DailyBackups | undefined,
  { writer, signal }: WorkersOptions,
): Promise<{ readonly running: Running; readonly pool: WorkerPool }> {
  const measurements = new Measurements();
  const charge = await chargeOf(config, log, store);
  const pool = poolOf(charge, log, { writer, backups, measurements });
  signal?.throwIfAborted();
  signal?.addEventListener('abort', () => void pool.stop());
  const url = await pool.start();
  const metrics = metricsOf(pool, writer, backups);
  const metricsServer = await listenForMetrics(config, () =>
    measurements.sum(() => Promise.all([...pool.measure(), metrics.registry.getMetricsAsJSON()])),
  ).catch(async (error: unknown) => {
    await pool.stop();
    throw error;
  });
  const telling = setInterval(() => pool.tell(), tellInterval).unref();
  const { database, secret } = store;
  const service = createService({ database, secret, webhookAllow: config.webhookAllow });
  const running: Running = {
    ...{ url, store, service },
    stop: async () => {
      clearInterval(telling);
      const backupsStopped = backups?.stop();
      await pool.stop();
      metricsServer?.close();
      await backupsStopped;
      await store.close();
    },
    abandon: () => {
      pool.kill();
      return store.abandon();
    },
    replace: () => pool.replace(),
  };
  return { running, pool };
}

/** What each worker serves by, once it is known that the database has room for them. */
async function chargeOf(config: Config, log: Logger, store: Store): Promise<Charge> {
  const { workers } = config;
  const reads = await shareConnections(store, workers, log);
  const { serviceUrl: databaseUrl, secret, pooling } = store;
  return { workers, reads, databaseUrl, secret, pooling, port: await freePort(config) };
}

interface PoolParts {
  readonly writer: LogWriter;
  readonly backups: DailyBackups | undefined;
  readonly measurements: Measurements;
}

function poolOf(
  charge: Charge,
  log: Logger,
  { writer, backups, measurements }: PoolParts,
): WorkerPool {
  const count = countAddresses();
  // Each worker has connections in turn, not whoever is first: with few that stay open, one would
  // serve most of them (docs/decisions/0025).
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ stdio: ['ignore', 'ignore', 'pipe', 'ipc'], serialization: 'advanced' });
  return new WorkerPool({
    ...{ charge, log },
    known: () => ({ linesLost: writer.linesLost, backups: backups?.state }),
    intoLog: (worker) =>
      linesInto({
        write: (line) => writer.write(line),
        other: (text) => log.error({ worker, text }, 'a worker wrote'),
      }),
    onCount: async ({ limit, address }) => count(limit, address),
    onEnd: (measures) => measurements.add(measures),
  });
}

/** What only the main process knows. */
function metricsOf(
  pool: WorkerPool,
  writer: LogWriter,
  backups: DailyBackups | undefined,
): Metrics {
  const metrics = new Metrics(programVersion());
  metrics.readLinesLost(() => writer.linesLost);
  if (backups) exposeBackups(backups, metrics);
  metrics.expose('tallybook_workers', 'How many workers serve.', () => pool.serving);
  const ended = 'How many workers have ended by themselves. Each has a successor.';
  metrics.exposeCounter('tallybook_workers_ended_total', ended, () => pool.endedUnexpectedly);
  // With those of the workers the least counts: no worker, not ready.
  const ready = 'Whether the service is ready, as /readyz says: 0 or 1.';
  metrics.expose('tallybook_ready', ready, () => (pool.serving > 0 ? 1 : 0), 'min');
  return metrics;
}
