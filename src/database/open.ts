// From the configuration to a database that is safe to use: found or started, migrated and checked.
// What this opens it also closes, the private server included, unless others still use it.

import { type Config, UsageError } from '../config.ts';
import { limits } from '../core/limits.ts';
import type { FailureKind, Statement } from '../core/statement.ts';
import { assertServersSafe } from './cluster.ts';
import { connectDatabase, type Database } from './connect.ts';
import {
  type Found,
  findDatabase,
  type Patience,
  reasonOf,
  requirePrimary,
  requireSameDatabase,
} from './find.ts';
import { migrate, requireKnown } from './migrate.ts';
import { readMigrations } from './migrations.ts';
import { findPooling, type Pooling, poolingNotice } from './pooler.ts';
import { NotPrimary } from './primary.ts';
import { type Log, type ReachedServer, type ReachOptions, reachServer } from './reach.ts';
import { assertDurable, assertSafe, clockFault, standbyNotice, whyNotReady } from './safety.ts';

export interface OpenOptions extends ReachOptions {
  /**
   * A `service` waits for its database without limit, migrates it and needs a secret. A `worker`
   * serves a database that its node has made ready. A `migration` migrates. A `command` migrates
   * only a private server whose schema is not up to date.
   */
  readonly purpose?: 'service' | 'worker' | 'migration' | 'command';
  /** Connections to read by; otherwise as many as one process needs. */
  readonly reads?: number;
  /** What stands before the server, where somebody has found it out already. */
  readonly pooling?: Pooling;
  /** Called with each failure of the database while it is in use. */
  readonly onFailure?: (kind: FailureKind) => void;
  /** The line of the audit trail for a migration. */
  readonly migrationLine?: (migration: string) => Statement;
  /** Fills the database before it is migrated. */
  readonly fill?: (target: FillTarget, signal: AbortSignal | undefined) => Promise<void>;
}

/** A database to fill, with the owner's URL. */
export interface FillTarget {
  readonly url: string;
  readonly found: Found;
}

export interface Store {
  readonly database: Database;
  /** As the role of the service. */
  readonly serviceUrl: string;
  /** What stands before the server, as it was found at the start. */
  readonly pooling: Pooling;
  /** Keys for cursors. */
  readonly secret: string;
  /**
   * The data directory holds no merchant: it was made just now, or its first start was interrupted.
   * Never true of an operator's own database.
   */
  readonly isNew: boolean;
  /** The migrations applied just now. */
  readonly applied: readonly string[];
  readonly schemaVersion: number;
  /**
   * Whether the database answers, has a schema that this program knows or a newer one, and still
   * keeps what is acknowledged, because settings can change while it runs. The reason why not is
   * logged once.
   */
  isCurrent(): Promise<boolean>;
  /** Closes the connections; the private server goes on. */
  release(): Promise<void>;
  /** Closes the connections, then stops the private server if nobody else uses it. */
  close(): Promise<void>;
  /** Tells the private server to end unless others use it; waits for nothing. */
  abandon(): Promise<void>;
}

const isServing = (purpose: OpenOptions['purpose']) =>
  purpose === 'service' || purpose === 'worker';

const commandPatience = 10_000;

/**
 * @throws UsageError when the configuration lacks something; Error when the database cannot be
 *   reached, cannot be migrated, or is not safe to use.
 */
export async function openStore(config: Config, log: Log, options: OpenOptions): Promise<Store> {
  requireSecret(config, log, options);
  const server = await reachServer(config.storage, log, options);
  const database = connect(server.service.url, log, options);
  let released: Promise<void> | undefined;
  const release = () => {
    released ??= database.close();
    return released;
  };
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= release().then(() => server.close());
    return closing;
  };
  try {
    const { applied, schemaVersion, isSpread } = await prepare(server, log, options);
    if (isSpread) await spread(database, server.service.url, log);
    const pooling = await findPoolingOf(server, options);
    database.setPooling(pooling);
    if (!server.isPrivate) await sayWhatStands(server.service.url, pooling, log, options);
    return {
      ...{ database, pooling },
      serviceUrl: server.service.url,
      secret: config.secret ?? (await server.secret()),
      isNew: server.isPrivate && (await isEmpty(database)),
      applied,
      schemaVersion,
      isCurrent: readiness(database, schemaVersion, log),
      release,
      close,
      abandon: () => server.requestStop(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A server and its database as it is: nothing was migrated, and nothing checked. */
export interface Server extends FillTarget {
  /** Stops the private server if nobody else uses it. Close your own connections first. */
  close(): Promise<void>;
  /** As of a store. */
  abandon(): Promise<void>;
}

/** @throws Error when the database cannot be reached. */
export async function openServer(
  { storage }: Config,
  log: Log,
  options: OpenOptions,
): Promise<Server> {
  const server = await reachServer(storage, log, options);
  const { owner, close, requestStop } = server;
  try {
    return { url: owner.url, found: await meet(server, log, options), close, abandon: requestStop };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Before anything is started. The secret seals cursors, and every node has to open them. */
function requireSecret(
  { secret, storage }: Config,
  log: Log,
  { purpose = 'service' }: OpenOptions,
): void {
  if (purpose !== 'service') return;
  if (secret === undefined && storage.kind === 'external') {
    throw new UsageError(
      'DATABASE_URL needs TALLYBOOK_SECRET, the same on every node; ' +
        'take one from "openssl rand -base64 32"',
    );
  }
  if (secret !== undefined && secret.length < 32) {
    log.warn({}, 'TALLYBOOK_SECRET is short; take one from "openssl rand -base64 32"');
  }
}

async function prepare(server: ReachedServer, log: Log, options: OpenOptions): Promise<Prepared> {
  const { purpose = 'service', migrationLine, fill } = options;
  const { owner, service } = server;
  let found = await meet(server, log, options);
  await assertDurable(owner.url, service.url);
  // A migration would wait on a server that was replaced, for ever and without a word.
  const isMaker = purpose === 'service' || purpose === 'migration';
  if (isMaker && !server.isPrivate) await requirePrimary(owner, patienceOf(log, options));
  if (fill !== undefined) {
    await fill({ url: owner.url, found }, options.signal);
    found = await findDatabase(owner, patienceOf(log, options));
  }
  const migrations = await readMigrations();
  requireKnown(found.version, found.inProgress, migrations);
  const known = migrations.length;
  let applied: readonly string[] = [];
  // A command that only looks must not change somebody's database, such as one that cron runs.
  if (!isMaker && !server.isPrivate && found.version < known) {
    throw new Error(
      `the schema is at version ${found.version}, this program needs ${known}: ` +
        'run "tallybook migrate", or start the service',
    );
  }
  // A role without the owner's rights does nothing once the schema is current, because somebody
  // else runs the migrations then.
  // On Citus a migration needs all servers, and a start must not.
  const isRepeated = isMaker && found.isOwner && (purpose === 'migration' || !found.isSpread);
  if (found.version < known || isRepeated) {
    applied = await migrateOrExplain(server, found.isOwner, log, migrationLine);
  }
  await assertSafe(service.url, known);
  // A worker's main process has looked at the clock.
  const fault = purpose === 'worker' ? undefined : await clockFault(service.url);
  if (fault !== undefined) log.warn({}, fault);
  return { applied, schemaVersion: known, isSpread: found.isSpread };
}

/** What is about a cell goes to its server from now on. */
async function spread(database: Database, serviceUrl: string, log: Log): Promise<void> {
  const unknown = await assertServersSafe(database.reserve, serviceUrl);
  for (const reason of unknown) log.warn({ reason }, 'a server of the cluster was not judged');
  database.setSpread();
}

/** What has become of a database before it is used. */
interface Prepared extends Pick<Store, 'applied' | 'schemaVersion'> {
  readonly isSpread: boolean;
}

/** Finds the database, and checks that both roles mean the same one. */
async function meet(
  { owner, service, isPrivate }: ReachedServer,
  log: Log,
  options: OpenOptions,
): Promise<Found> {
  const patience = patienceOf(log, options);
  const found = await findDatabase(owner, patience);
  if (!isPrivate) await requireSameDatabase(owner, service, patience);
  return found;
}

function patienceOf(log: Log, { purpose = 'service', signal }: OpenOptions): Patience {
  return {
    limit: isServing(purpose) ? Number.POSITIVE_INFINITY : commandPatience,
    notice: (error, delay) =>
      log.warn({ reason: reasonOf(error), delay }, 'waiting for the database'),
    signal,
  };
}

async function migrateOrExplain(
  server: ReachedServer,
  isOwner: boolean,
  log: Log,
  migrationLine: OpenOptions['migrationLine'],
): Promise<readonly string[]> {
  if (!isOwner) {
    throw new Error(
      'the schema is not up to date, and this role is not its owner: run "tallybook migrate" ' +
        'with TALLYBOOK_MIGRATE_URL',
    );
  }
  const { applied, serviceIsOwner } = await migrate({
    owner: server.owner.url,
    service: server.service.url,
    auditLine: migrationLine,
    onBlocked: (migration, pause) =>
      log.warn({ migration, pause }, 'others hold tables that the migration needs: it gives way'),
  });
  if (serviceIsOwner) {
    log.warn(
      {},
      'the service connects as the owner of the schema, so only triggers guard the ledger: ' +
        'set TALLYBOOK_MIGRATE_URL to the owner and DATABASE_URL to a role of its own',
    );
  }
  return applied;
}

function connect(url: string, log: Log, options: OpenOptions): Database {
  const { purpose = 'service', onFailure, reads } = options;
  return connectDatabase({
    url,
    writers: limits.writeWorkers,
    // A command has no client that goes away, and on a busy machine a connection takes a second.
    ...(isServing(purpose) ? {} : { acquireTimeout: commandPatience }),
    ...(reads === undefined ? {} : { reads }),
    onError: (failure) => {
      onFailure?.(failure.kind);
      const { kind, sqlstate, cause } = failure;
      const reason = cause instanceof NotPrimary ? { reason: cause.message } : {};
      log.warn({ kind, sqlstate, ...reason }, 'the database failed');
    },
    onNotice: (text) => log.warn({}, text),
  });
}

async function findPoolingOf(
  { service, isPrivate }: ReachedServer,
  { pooling }: OpenOptions,
): Promise<Pooling> {
  return pooling ?? (isPrivate ? 'none' : findPooling(service.url));
}

/** What an operator should know of the way to the server, and of what stands behind it. */
async function sayWhatStands(
  url: string,
  pooling: Pooling,
  log: Log,
  { purpose = 'service' }: OpenOptions,
): Promise<void> {
  if (purpose !== 'service') return;
  const notice = poolingNotice[pooling];
  if (notice !== undefined) log.info({ pooling }, notice);
  const { level, text } = await standbyNotice(url);
  log[level]({}, text);
}

async function isEmpty({ reserve }: Database): Promise<boolean> {
  const [row] = await reserve.query<{ is_empty: boolean }>({
    name: 'is_empty',
    text: 'select not exists (select from merchants) as is_empty',
    values: [],
  });
  return row?.is_empty === true;
}

function readiness(database: Database, known: number, log: Log): () => Promise<boolean> {
  let last: string | undefined;
  return async () => {
    const reason = await whyNotReady(database, known);
    if (reason !== last)
      log.warn({}, reason === undefined ? 'ready again' : `not ready: ${reason}`);
    last = reason;
    return reason === undefined;
  };
}
