// The life of one service process: open the database, listen, and on a signal finish the requests
// under way and stop everything that this process started. An unexpected error ends the process,
// because its state is unknown then; nothing acknowledged can be lost by that.

import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { denialsOf } from './access/audit/denials.ts';
import { migrationLine } from './access/audit/operator-entry.ts';
import type { CountAddress } from './access/rate/address.ts';
import { createService, endpoints, type Service } from './app.ts';
import type { DailyBackups } from './backups/daily.ts';
import type { Config } from './config.ts';
import { limits } from './core/limits.ts';
import { DatabaseFailure, type FailureKind } from './core/statement.ts';
import { openStore, type Store } from './database/open.ts';
import type { Pooling } from './database/pooler.ts';
import { Certificate } from './http/certificate.ts';
import { consolePages } from './http/console-pages.ts';
import { Metrics } from './http/metrics.ts';
import { type ConsoleOptions, createServer, type HttpServer } from './http/server.ts';
import { programVersion, sitesOf } from './http/sites.ts';
import { logRequest } from './log.ts';
import { shareConnections } from './node/connections.ts';
import { backupDetails, dailyBackups, exposeBackups } from './node/daily-backups.ts';
import { listenForMetrics, listenForRequests, originOf } from './node/listen.ts';
import type { Running, StartOptions } from './node/running.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { startPrivateServer } from './postgres/server.ts';
import type { Sweep } from './reservations/sweep.ts';
import { sessionRoutes } from './sessions/routes.ts';
import type { BackupSight } from './status/endpoints.ts';
import type { Deliveries } from './webhooks/deliveries.ts';

/** What a process has of its node when it is one of several that serve. */
export interface Share {
  readonly workers: number;
  /** Connections to read by. */
  readonly reads: number;
  /** What stands before the server of the database. */
  readonly pooling: Pooling;
  readonly metrics: Metrics;
  readonly countAddress: CountAddress;
  backups(): BackupSight | undefined;
  /** Of the log behind this process's own. */
  linesLostBefore(): number;
  /** Calls back once what runs beside the requests is this process's to do. */
  onLead(begin: () => void): void;
  /** Whether another one takes its place when it stops: then it hurries less. */
  isReplaced(): boolean;
}

/** @throws what keeps the service from starting; nothing is left running then. */
export async function start(
  config: Config,
  log: Logger,
  { linesLost = () => 0, signal, beforeReady }: StartOptions = {},
  share?: Share,
): Promise<Running> {
  const metrics = share?.metrics ?? new Metrics(programVersion());
  const parts = {
    ...{ config, log, metrics, linesLost, share },
    // Before anything has started: a wrong file is a wrong setting.
    certificate: config.tls && new Certificate(config.tls),
    backups: config.backups && dailyBackups(config.backups, config.storage, log),
  };
  const onFailure = (kind: FailureKind) => metrics.countDatabaseFailure(kind);
  const store = await openStore(config, log, {
    ...{ startPrivateServer, onFailure, migrationLine, signal },
    ...(share && { purpose: 'worker', reads: share.reads, pooling: share.pooling }),
  });
  try {
    if (share === undefined) await shareConnections(store, 1, log);
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
  readonly share: Share | undefined;
}

async function serveStore(
  store: Store,
  parts: Parts,
): Promise<{ readonly running: Running; setReady(): void }> {
  const { config, log, metrics, certificate, backups, linesLost, share } = parts;
  const { database, secret } = store;
  const service = createService({
    ...{ database, secret },
    ...(share && { workers: share.workers, countAddress: share.countAddress }),
    webhookAllow: config.webhookAllow,
    backups: () => sightOf(parts),
    onBatch: (type, commands, seconds) => metrics.observeBatch(type, commands, seconds),
    onUnrecorded: (denials) => log.warn({ denials }, 'ended without recording who was denied'),
  });
  const queued = () => service.dispatcher.queued;
  const state: { isReady: boolean; background?: Background } = { isReady: false };
  const isReady = async () => state.isReady && (await store.isCurrent());
  const { usage: connections } = database;
  const connectionsMax = () =>
    database.connectionsMax(config.webhooks && state.background !== undefined);
  metrics.read({ queued, connections, connectionsMax, linesLost, isReady });
  const server = serverOf(service, isReady, parts);
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
      const draining = drain(server, share?.isReplaced() === true);
      const [left] = await Promise.all([draining, state.background?.stop()]);
      metricsServer?.close();
      await writeNotes(service, left, log);
      await backupsStopped;
      await store.close();
    },
    abandon: () => store.abandon(),
  };
  const setReady = () => {
    state.isReady = true;
    const lead = () => {
      state.background ??= begin(service, parts);
    };
    if (share === undefined) lead();
    else share.onLead(lead);
  };
  return { running, setReady };
}

function serverOf(service: Service, isReady: () => Promise<boolean>, parts: Parts): HttpServer {
  const { config, log, metrics, certificate, share } = parts;
  const server: HttpServer = createServer({
    api: service.api,
    endpoints: service.endpoints,
    oauthRoutes: oauthRoutes({
      issuer: () => config.publicUrl ?? originOf(server),
      server: (issuer) => service.oauthServer(issuer),
      failures: service.api.failures,
      consents: service.consents,
    }),
    console: consoleOf(service, config.publicUrl),
    sites: sitesOf({ endpoints, isReady, details: () => detailsOf(parts) }),
    trustedProxies: config.trustedProxies,
    workers: share?.workers ?? 1,
    certificate,
    onRequest: (record) => {
      metrics.observeRequest(record);
      logRequest(log, config.logAddresses ? record : { ...record, address: undefined });
      for (const denial of denialsOf(record)) service.denials.note(denial);
    },
  });
  return server;
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
function detailsOf(parts: Parts): object {
  const { linesLost, certificate, share } = parts;
  const backups = sightOf(parts);
  return {
    log_lines_lost: linesLost() + (share?.linesLostBefore() ?? 0),
    ...(certificate && { certificate_ends: certificate.validTo.toISOString() }),
    ...(backups && { backup: backupDetails(backups) }),
  };
}

/** One process of a node takes the backups, and all tell of them. */
const sightOf = ({ backups, share }: Parts) => share?.backups() ?? backups?.state;

function deliver(service: Service, metrics: Metrics, log: Logger): Deliveries {
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

function sweep(service: Service, log: Logger): Pick<Sweep, 'stop'> {
  return service.sweep((err) => {
    // The database says itself that it is away.
    if (err instanceof DatabaseFailure) return;
    log.error({ err }, 'expired reservations wait to be told');
  });
}

/** What is not saved is sent again, by this node or another. */
async function stopDelivery(delivery: Deliveries | undefined, log: Logger): Promise<void> {
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
  metrics.expose('tallybook_certificate_end_seconds', help, end, 'min');
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

/** @returns what serves the metrics, if anything does. Nothing listens when it throws. */
async function listen(
  config: Config,
  server: HttpServer,
  metrics: Metrics,
): Promise<{ close(): void } | undefined> {
  await listenForRequests(config, server);
  try {
    return await listenForMetrics(config, () => metrics.registry);
  } catch (error) {
    server.startDraining();
    await server.fastify.close();
    throw error;
  }
}

/** @returns how much of its time (ms) is left. */
async function drain(server: HttpServer, isReplaced: boolean): Promise<number> {
  const end = performance.now() + limits.drainTimeout;
  server.startDraining();
  // New connections are for those that stay. The server's own close would cut idle ones off, too.
  if (isReplaced) Server.prototype.close.call(server.fastify.server);
  const cutOff = () => server.fastify.server.closeAllConnections();
  const patience = setTimeout(cutOff, limits.drainTimeout);
  await sleep(isReplaced ? limits.replacedNoticeTime : limits.noticeTime);
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
