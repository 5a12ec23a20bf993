// From the configuration to a database that is safe to use: found or started, migrated, and looked
// over. What this opens it also closes, the private server included, unless others still use it.

import { type Config, namesOf, type Storage } from '../config.ts';
import { limits } from '../core/limits.ts';
import type { FailureKind, Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from './connect.ts';
import { isInitialised } from './embedded/directory.ts';
import { startEmbeddedServer } from './embedded/server.ts';
import { migrate, readMigrations } from './migrate.ts';
import {
  type Address,
  type Found,
  findDatabase,
  type Patience,
  reasonOf,
  requireSameDatabase,
} from './reach.ts';
import { assertDurable, assertSafe, clockFault, whyNotReady } from './safety.ts';
import { secretOf } from './secret.ts';

export interface Log {
  info(event: Record<string, unknown>, message: string): void;
  warn(event: Record<string, unknown>, message: string): void;
}

export interface OpenOptions {
  /**
   * What for. A `service` waits for its database as long as it takes, migrates it and needs a
   * secret. A `migration` migrates. A `command` migrates only what is not up to date.
   */
  readonly purpose?: 'service' | 'migration' | 'command';
  /** Refuse a data directory without a database instead of making one: it was mistyped. */
  readonly mustExist?: boolean;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
  /** What to say in the audit trail of each migration that is applied. */
  readonly migrationDeed?: (migration: string) => Statement;
  /** Fills the database before it is migrated. */
  readonly fill?: (target: FillTarget, signal: AbortSignal | undefined) => Promise<void>;
}

/** A database as its owner finds it. */
export interface FillTarget {
  readonly url: string;
  readonly found: Found;
}

export interface Store {
  readonly database: Database;
  /** Keys for cursors. */
  readonly secret: string;
  /**
   * The data directory holds no merchant: it was made just now, or its first start was cut short.
   * Never true of a database of the operator's.
   */
  readonly isNew: boolean;
  /** The migrations applied just now. */
  readonly applied: readonly string[];
  readonly schemaVersion: number;
  /**
   * Whether the database answers, with a schema that this program knows or a newer one, and still
   * keeps what is acknowledged: its server can be told otherwise while it runs. Says in the log
   * why not, once.
   */
  isCurrent(): Promise<boolean>;
  /** Closes the connections, then stops the private server if nobody else uses it. */
  close(): Promise<void>;
  /** Tells the private server to end unless others use it; waits for nothing. */
  abandon(): Promise<void>;
}

const commandPatience = 10_000;

/**
 * @throws UsageError when the configuration lacks something; Error when the database cannot be
 *   reached, cannot be migrated, or is not safe to use.
 */
export async function openStore(
  config: Config,
  log: Log,
  onFailure: (kind: FailureKind) => void = () => undefined,
  options: OpenOptions = {},
): Promise<Store> {
  const { purpose = 'service' } = options;
  const secret = secretOf(config, purpose === 'service', (text) => log.warn({}, text));
  const server = await reachServer(config.storage, log, options);
  const database = connect(server.service.url, log, onFailure);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= database.close().then(() => server.close());
    return closing;
  };
  try {
    const { applied, schemaVersion } = await prepare(server, log, options);
    return {
      database,
      secret: await secret(),
      isNew: server.isPrivate && (await isEmpty(database)),
      applied,
      schemaVersion,
      isCurrent: readiness(database, schemaVersion, log),
      close,
      abandon: () => server.dismiss(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A server and its database as it is: nothing is migrated, and nothing asked of it. */
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
  const { owner, close, dismiss } = server;
  try {
    return { url: owner.url, found: await meet(server, log, options), close, abandon: dismiss };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A server to use: one of the operator's, or the private one, running. */
interface ReachedServer {
  readonly owner: Address;
  readonly service: Address;
  readonly isPrivate: boolean;
  close(): Promise<void>;
  dismiss(): Promise<void>;
}

async function reachServer(
  storage: Storage,
  log: Log,
  { mustExist = false, signal }: OpenOptions,
): Promise<ReachedServer> {
  if (storage.kind === 'external') {
    const { databaseUrl, migrateUrl } = storage;
    const close = async () => undefined;
    const service = { url: databaseUrl, setting: namesOf('databaseUrl') };
    const owner =
      migrateUrl === undefined ? service : { url: migrateUrl, setting: namesOf('migrateUrl') };
    return { owner, service, isPrivate: false, close, dismiss: close };
  }
  const { dataDirectory, binDirectory } = storage;
  if (mustExist && !isInitialised(dataDirectory)) {
    throw new Error(
      `there is no database in ${dataDirectory}: name the directory with --data, or make one ` +
        'with "tallybook migrate"',
    );
  }
  const { ownerUrl, serviceUrl, stop, dismiss } = await startEmbeddedServer({
    dataDirectory,
    binDirectory,
    signal,
    log: (event, message) => ('err' in event ? log.warn(event, message) : log.info(event, message)),
  });
  const owner = { url: ownerUrl, setting: undefined };
  const service = { url: serviceUrl, setting: undefined };
  return { owner, service, isPrivate: true, close: stop, dismiss };
}

async function prepare(
  server: ReachedServer,
  log: Log,
  options: OpenOptions,
): Promise<{ applied: readonly string[]; schemaVersion: number }> {
  const { purpose = 'service', migrationDeed, fill } = options;
  const { owner, service } = server;
  let found = await meet(server, log, options);
  await assertDurable(owner.url, service.url);
  if (fill !== undefined) {
    await fill({ url: owner.url, found }, options.signal);
    found = await findDatabase(owner, patienceOf(log, options));
  }
  const known = (await readMigrations()).length;
  if (found.version > known) {
    throw new Error(
      `the database is at version ${found.version}, this program knows ${known}: run a newer one`,
    );
  }
  let applied: readonly string[] = [];
  // A role without the owner's rights has nothing to do once the schema is current: somebody else
  // runs the migrations then.
  if (found.version < known || (purpose !== 'command' && found.isOwner)) {
    applied = await migrateOrExplain(server, found.isOwner, log, migrationDeed);
  }
  await assertSafe(service.url, known);
  const fault = await clockFault(service.url);
  if (fault !== undefined) log.warn({}, fault);
  return { applied, schemaVersion: known };
}

/** Whose database it is, and that both roles have the same one. */
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
    limit: purpose === 'service' ? Number.POSITIVE_INFINITY : commandPatience,
    notice: (error, delay) =>
      log.warn({ reason: reasonOf(error), delay }, 'waiting for the database'),
    signal,
  };
}

async function migrateOrExplain(
  server: ReachedServer,
  isOwner: boolean,
  log: Log,
  migrationDeed: OpenOptions['migrationDeed'],
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
    deed: migrationDeed,
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

function connect(url: string, log: Log, onFailure: (kind: FailureKind) => void): Database {
  return connectDatabase({
    url,
    writers: limits.writeWorkers,
    onError: (failure) => {
      onFailure(failure.kind);
      log.warn({ kind: failure.kind, sqlstate: failure.sqlstate }, 'the database failed');
    },
  });
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
