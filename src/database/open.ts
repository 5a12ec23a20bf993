// From the configuration to a database that is safe to use: found or started, migrated, and looked
// over. What this opens it also closes, the private server included, unless others still use it.

import { type Config, type Storage, UsageError } from '../config.ts';
import { limits } from '../core/limits.ts';
import type { FailureKind, Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from './connect.ts';
import { isInitialised } from './embedded/directory.ts';
import { startEmbeddedServer } from './embedded/server.ts';
import { migrate, readMigrations } from './migrate.ts';
import { type Found, findDatabase, reasonOf } from './reach.ts';
import { assertDurable, assertSafe, clockLead } from './safety.ts';
import { keptSecret, newSecret } from './secret.ts';

/** The operator's own small transactions need a connection besides the workers. */
const writeConnectionsMax = limits.writeWorkers + 1;

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
  readonly signal?: AbortSignal;
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
   * keeps what is acknowledged: its server can be told otherwise while it runs.
   */
  isCurrent(): Promise<boolean>;
  /** Closes the connections, then stops the private server if nobody else uses it. */
  close(): Promise<void>;
  /** Tells the private server to end unless others use it; waits for nothing. */
  abandon(): Promise<void>;
}

const commandPatience = 10_000;
/** In seconds. With NTP clocks are well within a second of each other. */
const clockLeadMax = 5;

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
  const secret = secretOf(config, log, options);
  const server = await reachServer(config.storage, log, options);
  const database = connect(server.serviceUrl, log, onFailure);
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
      isCurrent: () => isCurrent(database, schemaVersion),
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
  const { ownerUrl, close, dismiss } = server;
  try {
    return { url: ownerUrl, found: await find(server, log, options), close, abandon: dismiss };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Judged before anything starts; made when the data directory is there. */
function secretOf(config: Config, log: Log, { purpose = 'service' }: OpenOptions) {
  const { secret, storage } = config;
  if (secret !== undefined) {
    if (secret.length < 32 && purpose === 'service') {
      log.warn({}, 'TALLYBOOK_SECRET is short; take one from "openssl rand -base64 32"');
    }
    return () => secret;
  }
  if (storage.kind === 'embedded') return () => keptSecret(storage.dataDirectory);
  if (purpose === 'service') {
    throw new UsageError(
      'DATABASE_URL needs TALLYBOOK_SECRET, the same on every node; ' +
        'take one from "openssl rand -base64 32"',
    );
  }
  // A command hands out no cursors that anybody else would have to open.
  return newSecret;
}

/** A server to use: one of the operator's, or the private one, running. */
interface ReachedServer {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
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
    const { databaseUrl, migrateUrl = databaseUrl } = storage;
    const close = async () => undefined;
    const urls = { ownerUrl: migrateUrl, serviceUrl: databaseUrl };
    return { ...urls, isPrivate: false, close, dismiss: close };
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
  return { ownerUrl, serviceUrl, isPrivate: true, close: stop, dismiss };
}

async function prepare(
  server: ReachedServer,
  log: Log,
  options: OpenOptions,
): Promise<{ applied: readonly string[]; schemaVersion: number }> {
  const { purpose = 'service', migrationDeed, fill } = options;
  let found = await find(server, log, options);
  await assertDurable(server.ownerUrl);
  if (fill !== undefined) {
    await fill({ url: server.ownerUrl, found }, options.signal);
    found = await find(server, log, options);
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
  await assertSafe(server.serviceUrl, known);
  await warnOfClock(server.serviceUrl, log);
  return { applied, schemaVersion: known };
}

async function warnOfClock(serviceUrl: string, log: Log): Promise<void> {
  const seconds = await clockLead(serviceUrl);
  if (Math.abs(seconds) <= clockLeadMax) return;
  const where = `${Math.abs(Math.round(seconds))} s ${seconds > 0 ? 'ahead of' : 'behind'}`;
  log.warn({}, `this node's clock is ${where} the database's: the times it writes will be off`);
}

async function find(
  { ownerUrl }: ReachedServer,
  log: Log,
  { purpose = 'service', signal }: OpenOptions,
): Promise<Found> {
  return findDatabase(ownerUrl, {
    limit: purpose === 'service' ? Number.POSITIVE_INFINITY : commandPatience,
    notice: (error, delay) =>
      log.warn({ reason: reasonOf(error), delay }, 'waiting for the database'),
    signal,
  });
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
    owner: server.ownerUrl,
    service: server.serviceUrl,
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
    writers: writeConnectionsMax,
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

async function isCurrent({ reserve }: Database, known: number): Promise<boolean> {
  try {
    const [row] = await reserve.query<{ version: number; is_durable: boolean }>({
      name: 'schema_version',
      text: `select max(number) as version, current_setting('fsync') = 'on'
          and current_setting('full_page_writes') = 'on' as is_durable
        from schema_migrations`,
      values: [],
    });
    return row !== undefined && row.version >= known && row.is_durable;
  } catch {
    return false;
  }
}
