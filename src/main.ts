// The life of one service process: open the database, listen, and on a signal drain and stop
// everything this process started. An unexpected error ends the process rather than letting it go
// on in an unknown state: nothing acknowledged can be lost by that.

import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { migrationDeed } from './access/audit/deed.ts';
import { denialOf } from './access/audit/denials.ts';
import { createService, endpoints, type Service } from './app.ts';
import type { Config } from './config.ts';
import { limits } from './core/limits.ts';
import type { FailureKind } from './core/statement.ts';
import { openStore, type Store } from './database/open.ts';
import { Metrics } from './http/metrics.ts';
import { oauthMounts } from './http/oauth.ts';
import { createServer, type HttpServer } from './http/server.ts';
import { sitesOf } from './http/sites.ts';
import { logRequest } from './log.ts';

/** What a started service tells whoever started it. */
export interface Running {
  readonly url: string;
  readonly store: Store;
  readonly service: Service;
  /** Finishes what was accepted, then ends everything. Resolves when all is stopped. */
  stop(): Promise<void>;
  /**
   * Waits for nothing any more, but tells the private server to end. The process is to end at once;
   * clients of requests under way retry with the same keys.
   */
  abandon(): Promise<void>;
}

interface StartOptions {
  /** Of the log, for the metrics. */
  readonly linesLost?: () => number;
  /** Ends the start: it throws then. */
  readonly signal?: AbortSignal;
}

/** @throws what keeps the service from starting; nothing is left running then. */
export async function start(
  config: Config,
  log: Logger,
  { linesLost = () => 0, signal }: StartOptions = {},
): Promise<Running> {
  const metrics = new Metrics();
  const onFailure = (kind: FailureKind) => metrics.countDatabaseFailure(kind);
  const store = await openStore(config, log, onFailure, { migrationDeed, signal });
  try {
    return await serveStore(config, log, store, metrics, linesLost);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function serveStore(
  config: Config,
  log: Logger,
  store: Store,
  metrics: Metrics,
  linesLost: () => number,
): Promise<Running> {
  const { database, secret } = store;
  const service = createService({
    database,
    secret,
    onBatch: (type, commands, seconds) => metrics.observeBatch(type, commands, seconds),
    onUnrecorded: (denials) => log.warn({ denials }, 'ended without recording who was denied'),
  });
  const queued = () => service.dispatcher.queued;
  metrics.read({ queued, connections: database.usage, linesLost });
  const state = { isReady: true };
  const server: HttpServer = createServer({
    edge: service.edge,
    endpoints,
    mounts: oauthMounts({
      issuer: () => config.publicUrl ?? originOf(server),
      server: (issuer) => service.oauthServer(issuer),
      failures: service.edge.failures,
    }),
    sites: sitesOf({ endpoints, isReady: async () => state.isReady && (await store.isCurrent()) }),
    trustedProxies: config.trustedProxies,
    onRequest: (record) => {
      metrics.observeRequest(record);
      logRequest(log, record);
      const denial = denialOf(record);
      if (denial !== undefined) service.denials.note(denial);
    },
  });
  const metricsServer = await listen(config, server, metrics);
  return {
    url: config.publicUrl ?? originOf(server),
    store,
    service,
    stop: async () => {
      state.isReady = false;
      const left = await drain(server);
      metricsServer?.close();
      await writeNotes(service, left, log);
      await store.close();
    },
    abandon: () => store.abandon(),
  };
}

/** @returns what serves the metrics, if anything does. Nothing listens when it throws. */
async function listen(
  config: Config,
  server: HttpServer,
  metrics: Metrics,
): Promise<Server | undefined> {
  await server.fastify.listen({ host: config.host, port: config.port });
  try {
    return await listenForMetrics(config, metrics);
  } catch (error) {
    server.startDraining();
    await server.fastify.close();
    throw error;
  }
}

/** @returns how much of its time (ms) is left. */
async function drain(server: HttpServer): Promise<number> {
  const end = performance.now() + limits.drainTimeout;
  server.startDraining();
  const cutOff = () => server.fastify.server.closeAllConnections();
  const patience = setTimeout(cutOff, limits.drainTimeout);
  await sleep(limits.noticeTime);
  await server.fastify.close();
  clearTimeout(patience);
  return end - performance.now();
}

/** What is still to be written that nobody waits for: last uses, denials. */
async function writeNotes(service: Service, left: number, log: Logger): Promise<void> {
  const patience = Math.min(
    Math.max(left, limits.lastNotesTimeout),
    limits.connectionSilenceTimeout,
  );
  const late = sleep(patience, 'late', { ref: false });
  if ((await Promise.race([service.close(), late])) === 'late') {
    log.warn({}, 'ended without its last notes: the database does not answer');
  }
}

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
      running.stop().then(resolve, (error: unknown) => {
        log.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      });
    };
    const abandon = async (signal: NodeJS.Signals) => {
      log.warn({ signal }, 'told to stop again: ended without waiting');
      await running.abandon().finally(() => process.exit(1));
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    process.on('SIGHUP', onSignal);
  });
}

/** Ends the process on what nobody expected. */
export function endOnUnexpected(log: Logger): void {
  const end = (error: unknown) => {
    log.fatal({ err: error }, 'unexpected error');
    process.exit(70);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

async function listenForMetrics(config: Config, metrics: Metrics): Promise<Server | undefined> {
  if (config.metricsPort === undefined) return undefined;
  const server = createHttpServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    void metrics.registry.metrics().then((text) => {
      response.writeHead(200, { 'Content-Type': metrics.registry.contentType }).end(text);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', (cause) => {
      reject(new Error(`TALLYBOOK_METRICS_PORT: ${cause.message}`, { cause }));
    });
    server.listen(config.metricsPort, config.host, resolve);
  });
  return server;
}

function originOf(server: HttpServer): string {
  const { address, family, port } = server.fastify.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
