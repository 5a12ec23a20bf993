// The life of one service process: open the database, listen, and on a signal finish the requests
// under way and stop everything that this process started. An unexpected error ends the process,
// because its state is unknown then; nothing acknowledged can be lost by that.

import { createServer as createHttpServer, type Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { denialsOf } from './access/audit/denials.ts';
import { migrationLine } from './access/audit/operator-entry.ts';
import { createService, endpoints, type Service } from './app.ts';
import { takeProvenBackup } from './backups/command.ts';
import { DailyBackups } from './backups/daily.ts';
import { BackupFolder } from './backups/folder.ts';
import { type Backups, type Config, environmentFor, namesOf, type Storage } from './config.ts';
import { limits } from './core/limits.ts';
import { DatabaseFailure, type FailureKind } from './core/statement.ts';
import { systemReason } from './core/system-failure.ts';
import { openStore, type Store } from './database/open.ts';
import { Certificate } from './http/certificate.ts';
import { consolePages } from './http/console-pages.ts';
import { Metrics } from './http/metrics.ts';
import { type ConsoleOptions, createServer, type HttpServer } from './http/server.ts';
import { programVersion, sitesOf } from './http/sites.ts';
import { logRequest } from './log.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { startPrivateServer } from './postgres/server.ts';
import type { Sweep } from './reservations/sweep.ts';
import { sessionRoutes } from './sessions/routes.ts';
import type { Delivery } from './webhooks/delivery.ts';

/** A started service. */
export interface Running {
  readonly url: string;
  readonly store: Store;
  readonly service: Service;
  /** Finishes what was accepted, then ends everything. Resolves when all is stopped. */
  stop(): Promise<void>;
  /**
   * Waits for nothing, but tells the private server to end. End the process at once afterwards;
   * clients of requests under way retry with the same keys.
   */
  abandon(): Promise<void>;
}

interface StartOptions {
  /** Of the log, for the metrics. */
  readonly linesLost?: () => number;
  /** Ends the start: it throws then. */
  readonly signal?: AbortSignal;
  /** Done when the service listens, before it says that it is ready. */
  readonly beforeReady?: (running: Running) => Promise<void>;
}

/** @throws what keeps the service from starting; nothing is left running then. */
export async function start(
  config: Config,
  log: Logger,
  { linesLost = () => 0, signal, beforeReady }: StartOptions = {},
): Promise<Running> {
  const metrics = new Metrics(programVersion());
  const parts = {
    ...{ config, log, metrics, linesLost },
    // Before anything has started: a wrong file is a wrong setting.
    certificate: config.tls && new Certificate(config.tls),
    backups: config.backups && dailyBackups(config.backups, config.storage, log),
  };
  const onFailure = (kind: FailureKind) => metrics.countDatabaseFailure(kind);
  const store = await openStore(config, log, {
    startPrivateServer,
    onFailure,
    migrationLine,
    signal,
  });
  try {
    const { running, setReady } = await serveStore(store, parts);
    try {
      await beforeReady?.(running);
    } catch (error) {
      await running.stop();
      throw error;
    }
    setReady();
    parts.backups?.start();
    return running;
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Parts {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly certificate: Certificate | undefined;
  readonly backups: DailyBackups | undefined;
  readonly linesLost: () => number;
}

async function serveStore(
  store: Store,
  parts: Parts,
): Promise<{ readonly running: Running; setReady(): void }> {
  const { config, log, metrics, certificate, backups, linesLost } = parts;
  const { database, secret } = store;
  const service = createService({
    ...{ database, secret },
    webhookAllow: config.webhookAllow,
    backups: () => backups?.state,
    onBatch: (type, commands, seconds) => metrics.observeBatch(type, commands, seconds),
    onUnrecorded: (denials) => log.warn({ denials }, 'ended without recording who was denied'),
  });
  const queued = () => service.dispatcher.queued;
  const state: { isReady: boolean; background?: Background } = { isReady: false };
  const isReady = async () => state.isReady && (await store.isCurrent());
  const { usage: connections, connectionsMax } = database;
  metrics.read({ queued, connections, connectionsMax, linesLost, isReady });
  const server: HttpServer = createServer({
    api: service.api,
    endpoints: service.endpoints,
    oauthRoutes: oauthRoutes({
      issuer: () => config.publicUrl ?? originOf(server),
      server: (issuer) => service.oauthServer(issuer),
      failures: service.api.failures,
    }),
    console: consoleOf(service, config.publicUrl),
    sites: sitesOf({ endpoints, isReady, details: () => detailsOf(parts) }),
    trustedProxies: config.trustedProxies,
    certificate,
    onRequest: (record) => {
      metrics.observeRequest(record);
      logRequest(log, config.logAddresses ? record : { ...record, address: undefined });
      for (const denial of denialsOf(record)) service.denials.note(denial);
    },
  });
  const metricsServer = await listen(config, server, metrics);
  if (certificate) keepCertificate(server, certificate, metrics, log);
  if (backups) exposeBackups(backups, metrics);
  const running: Running = {
    url: config.publicUrl ?? originOf(server),
    store,
    service,
    stop: async () => {
      state.isReady = false;
      const backupsStopped = backups?.stop();
      const [left] = await Promise.all([drain(server), state.background?.stop()]);
      metricsServer?.close();
      await writeNotes(service, left, log);
      await backupsStopped;
      await store.close();
    },
    abandon: () => store.abandon(),
  };
  const setReady = () => {
    state.isReady = true;
    state.background = begin(service, parts);
  };
  return { running, setReady };
}

function consoleOf({ signIn, api }: Service, publicUrl: string | undefined): ConsoleOptions {
  const routes = sessionRoutes({ signIn, callers: api, publicUrl });
  return { publicUrl, routes, pages: consolePages() };
}

/** What runs beside the requests. */
interface Background {
  stop(): Promise<unknown>;
}

function begin(service: Service, { config, metrics, log }: Parts): Background {
  const sweeping = sweep(service, log);
  const delivery = config.webhooks ? deliver(service, metrics, log) : undefined;
  return { stop: () => Promise.all([sweeping.stop(), stopDelivery(delivery, log)]) };
}

/** What `/readyz` says beside its status: what anybody may know. */
function detailsOf({ linesLost, certificate, backups }: Parts): object {
  return {
    log_lines_lost: linesLost(),
    ...(certificate && { certificate_ends: certificate.validTo.toISOString() }),
    ...(backups && { backup: backupDetails(backups) }),
  };
}

function deliver(service: Service, metrics: Metrics, log: Logger): Delivery {
  const delivery = service.deliver({
    onCall: (outcome) => metrics.countDelivery(outcome),
    onPause: ({ merchant: merchantId, webhook: webhookId, reason }) => {
      log.warn({ merchantId, webhookId, reason }, 'paused a webhook');
    },
    onError: (err, { merchant: merchantId, webhook: webhookId } = {}) => {
      // The database says itself that it is away.
      if (err instanceof DatabaseFailure) return;
      log.error({ merchantId, webhookId, err }, 'webhooks wait');
    },
  });
  metrics.readDeliveries(() => delivery.standing());
  return delivery;
}

function sweep(service: Service, log: Logger): Sweep {
  return service.sweep((err) => {
    // The database says itself that it is away.
    if (err instanceof DatabaseFailure) return;
    log.error({ err }, 'expired reservations wait to be told');
  });
}

/** What is not saved is sent again, by this node or another. */
async function stopDelivery(delivery: Delivery | undefined, log: Logger): Promise<void> {
  await delivery?.stop(limits.webhookStopPatience).catch((err: unknown) => {
    log.warn({ err }, 'ended without saving what webhooks were sent');
  });
}

/** Uses a renewed certificate, and tells when the one in use ends. */
function keepCertificate(
  server: HttpServer,
  certificate: Certificate,
  metrics: Metrics,
  log: Logger,
): void {
  const help = 'When the TLS certificate in use ends, in seconds since 1970.';
  const end = () => certificate.validTo.getTime() / 1_000;
  metrics.expose('tallybook_certificate_end_seconds', help, end);
  certificate.watch(server.fastify.server, {
    everyMs: limits.certificateLookInterval,
    onChange: () => {
      log.info({ validTo: certificate.validTo }, 'using another TLS certificate');
    },
    onFailure: (err) => {
      const reason = err instanceof Error ? err.message : String(err);
      log.error({ reason, err }, 'kept the TLS certificate: the new one is unusable');
    },
  });
}

/** A folder that cannot be written keeps no shop from selling: it is a failed backup. */
function dailyBackups(backups: Backups, storage: Storage, log: Logger): DailyBackups {
  const { directory, keep, at } = backups;
  const folder = new BackupFolder(directory);
  const environment = environmentFor(storage);
  const take = (file: string, signal: AbortSignal) => takeProvenBackup(file, environment, signal);
  const daily = new DailyBackups({ folder, keep, at, take, log });
  log.info({ directory, keep, at, ...daily.state }, 'taking a backup each day');
  return daily;
}

/** The reason of a failure is in the log and in `tallybook status`. */
function backupDetails({ state: { last, failure } }: DailyBackups) {
  return { last: last?.toISOString() ?? null, failed: failure !== undefined };
}

function exposeBackups(backups: DailyBackups, metrics: Metrics): void {
  const age = 'Seconds since the last backup that was restored and verified; +Inf: there is none.';
  metrics.expose('tallybook_backup_age_seconds', age, () => {
    const { last } = backups.state;
    return last === undefined ? Number.POSITIVE_INFINITY : (Date.now() - +last) / 1_000;
  });
  const failed = 'Whether the last try to take a backup failed.';
  metrics.expose('tallybook_backup_failed', failed, () => (backups.state.failure ? 1 : 0));
}

/** @returns what serves the metrics, if anything does. Nothing listens when it throws. */
async function listen(
  config: Config,
  server: HttpServer,
  metrics: Metrics,
): Promise<Server | undefined> {
  const { host, port } = config;
  await server.fastify.listen({ host, port }).catch((error) => {
    throw explained(error, host, port, 'port');
  });
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

/** Writes what no request waits for: last uses, denials. */
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

/** Ends the process on an unexpected error. */
export function endOnUnexpected(log: Logger): void {
  const end = (error: unknown) => {
    log.fatal({ err: error }, 'unexpected error');
    process.exit(70);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

async function listenForMetrics(config: Config, metrics: Metrics): Promise<Server | undefined> {
  const { host, metricsPort } = config;
  if (metricsPort === undefined) return undefined;
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
    server.on('error', (error) => reject(explained(error, host, metricsPort, 'metricsPort')));
    server.listen(metricsPort, host, resolve);
  });
  return server;
}

function explained(
  cause: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting: 'port' | 'metricsPort',
): Error {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `the port is in use: name another one with ${namesOf(setting)}`,
    EACCES: `only root may use it: name one above 1023 with ${namesOf(setting)}`,
    EADDRNOTAVAIL: `this machine has no such address: name another one with ${namesOf('host')}`,
  };
  const reason = reasons[cause.code ?? ''] ?? systemReason(cause);
  return new Error(`cannot listen on ${host}, port ${port}, because ${reason}`, { cause });
}

function originOf(server: HttpServer): string {
  const { address, family, port } = server.fastify.server.address() as AddressInfo;
  const scheme = server.fastify.server instanceof SecureServer ? 'https' : 'http';
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
