// Meeting a database before it is used: waiting until it can be reached, seeing how far its schema
// is, and that the owner and the service mean the same one. A database that starts together with
// the service is not there yet, which is no error; one that refuses the password is, however long
// one waits.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { limits } from '../core/limits.ts';

/** How a database presents itself to one role. */
export interface Found {
  /** The number of the last migration applied; 0 before the first. */
  readonly version: number;
  /** Whether the role may change the schema. */
  readonly isOwner: boolean;
}

/** A way to the database. */
export interface Address {
  readonly url: string;
  /** Where the URL comes from, unless it is the private server's. */
  readonly setting: string | undefined;
}

export interface Patience {
  /** For how long an unreachable database is waited for, in milliseconds. */
  readonly limit: number;
  readonly notice: (error: unknown, delay: number) => void;
  readonly signal?: AbortSignal | undefined;
}

const firstDelay = 100;
const longestDelay = 5_000;

/**
 * For connections that only look, at a start: one that falls silent, because its network was lost,
 * would otherwise be waited for without end.
 */
export const patienceOfLooks = {
  connectionTimeoutMillis: 5_000,
  query_timeout: limits.requestDeadline,
} as const;

/** For connections whose statements may take hours: those whose network was lost are ended. */
export const patienceOfWork = {
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const;

const notYet = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT', // the Unix socket is not there yet
  'ENOTFOUND', // nor is the name
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  '53300', // too_many_connections
]);

/**
 * @throws Error at once when the database refuses this role, or when patience has ended.
 */
export async function findDatabase(address: Address, patience: Patience): Promise<Found> {
  return patiently(patience, () => withClient(address, look));
}

/**
 * Asks the two addresses themselves: the owner takes a lock, which the service sees if it is in the
 * same database. Names tell less: a pooler has others, and a copy of a server the same identifier.
 * @throws Error when they reach two databases, or when the role of the service is not there yet and
 *   its address is not the owner's either.
 */
export async function requireSameDatabase(
  owner: Address,
  service: Address,
  patience: Patience,
): Promise<void> {
  if (owner.url === service.url) return;
  const seen = await patiently(patience, () => compare(owner, service));
  if (seen === 'same') return;
  const named = (address: Address) => `${placeOf(address)} (${address.setting})`;
  const places = `${named(service)} and ${named(owner)}`;
  throw new Error(
    seen === 'different'
      ? `${places} are different databases: name one database in both`
      : `${places} cannot be compared, for the role of the service is not there yet: name host, ` +
          'port and database alike until the first migration has made it, or make it yourself',
  );
}

type Comparison = 'same' | 'different' | 'unknown';

async function compare(owner: Address, service: Address): Promise<Comparison> {
  const key = randomBytes(8).readBigInt64BE().toString();
  return withClient(owner, async (client) => {
    // Reaching the service takes its time, and the owner may have the settings of a service.
    await client.query('begin; set local idle_in_transaction_session_timeout = 0');
    await client.query('select pg_advisory_xact_lock($1)', [key]);
    const isFree = await withClient(service, (other) => isLockFree(other, key)).catch((error) =>
      isRefusedRole(error, client, service),
    );
    // Fails if the lock has gone with its connection.
    await client.query('commit');
    if (isFree === undefined) return placeOf(owner) === placeOf(service) ? 'same' : 'unknown';
    return isFree ? 'different' : 'same';
  });
}

async function isLockFree(client: pg.Client, key: string): Promise<boolean> {
  const { rows } = await client.query<{ is_free: boolean }>(
    'select pg_try_advisory_xact_lock($1) as is_free',
    [key],
  );
  return rows[0]?.is_free === true;
}

/** @throws the error unless it is that the role is still to be made. */
async function isRefusedRole(error: Error, owner: pg.Client, service: Address): Promise<undefined> {
  // Class 28: the role is not there or may not come in, which is not told to who is outside.
  if (!codeOf(error.cause).startsWith('28')) throw error;
  const { user } = new pg.Client({ connectionString: service.url });
  const { rowCount } = await owner.query('select from pg_roles where rolname = $1', [user]);
  if (rowCount !== 0) throw error;
}

function placeOf({ url }: Address): string {
  const { host, port, database } = new pg.Client({ connectionString: url });
  return `${database} on ${host}:${port}`;
}

async function patiently<Seen>(patience: Patience, attempt: () => Promise<Seen>): Promise<Seen> {
  const giveUpAt = performance.now() + patience.limit;
  for (let delay = firstDelay; ; delay = Math.min(2 * delay, longestDelay)) {
    try {
      return await attempt();
    } catch (error) {
      const cause = error instanceof Error ? error.cause : error;
      if (!isPassing(cause) || performance.now() + delay > giveUpAt) throw error;
      patience.notice(error, delay);
    }
    await sleep(delay * (0.5 + Math.random()), undefined, { signal: patience.signal });
  }
}

/** What fails names the setting that its address comes from. */
async function withClient<Seen>(
  { url, setting }: Address,
  see: (client: pg.Client) => Promise<Seen>,
): Promise<Seen> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tallybook',
    ...patienceOfLooks,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await see(client);
  } catch (error) {
    throw error instanceof Unusable ? error : new Unusable(error, setting);
  } finally {
    await client.end().catch(() => undefined);
  }
}

class Unusable extends Error {
  constructor(cause: unknown, setting: string | undefined) {
    const where = setting === undefined ? '' : ` (${setting})`;
    super(`the database cannot be used: ${reasonOf(cause)}${where}`, { cause });
  }
}

async function look(client: pg.Client): Promise<Found> {
  const { rows } = await client.query<{ owns: boolean | null }>(
    `select pg_has_role(relowner, 'member') as owns from pg_class
     where oid = to_regclass('public.schema_migrations')`,
  );
  const [table] = rows;
  if (table === undefined) return { version: 0, isOwner: true };
  const newest = await client.query<{ version: number }>(
    'select max(number) as version from public.schema_migrations',
  );
  return { version: newest.rows[0]?.version ?? 0, isOwner: table.owns === true };
}

/** Class 57P: starting up or shutting down. Class 08, or no code at all: cut off midway. */
function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return code === '' || notYet.has(code) || code.startsWith('57P') || code.startsWith('08');
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** An attempt on several addresses fails with an empty message and a list. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
