// Finds a database before it is used: waits until it can be connected to, reads the version of its
// schema, and checks that the owner and the service mean the same database. A database that starts
// together with the service is not there yet, which is no error. One that refuses the password is
// an error, because waiting does not help.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { limits } from '../core/limits.ts';
import { systemMessage } from '../core/system-failure.ts';
import { isOnCitus } from './citus.ts';
import { Client } from './client.ts';
import { lookAtServer, Primary, type Seen } from './primary.ts';

/** A database as one role finds it. */
export interface Found {
  /** The number of the last migration applied whole; 0 before the first. */
  readonly version: number;
  /** The name of the migration of which only some steps are applied; empty when there is none. */
  readonly inProgress: string;
  /** Whether the role may change the schema. */
  readonly isOwner: boolean;
  /** Whether it is on Citus: its cells are on several servers. */
  readonly isSpread: boolean;
}

/** The URL of a database. */
export interface Address {
  readonly url: string;
  /** Where the URL comes from, unless it is the private server's. */
  readonly setting: string | undefined;
}

export interface Patience {
  /** How long to wait for an unreachable database, in milliseconds. */
  readonly limit: number;
  readonly notice: (error: unknown, delay: number) => void;
  readonly signal?: AbortSignal | undefined;
}

const firstDelay = 100;
const longestDelay = 5_000;

/**
 * For connections that only look, at a start. Without a limit, a start would wait without end for
 * one whose network was lost.
 */
export const patienceOfLooks = {
  connectionTimeoutMillis: 5_000,
  query_timeout: limits.requestDeadline,
} as const;

/** For connections whose statements may take hours. One whose network was lost is ended. */
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
 * The owner takes a lock, which the service sees if it is in the same database. Names would not do:
 * a pooler has other names, and a copied server has the same identifier.
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
      : `${places} cannot be compared, because the role of the service is not there yet: ` +
          'name host, port and database alike until the first migration has made it, or make it ' +
          'yourself',
  );
}

/**
 * Waits until commits of this role are there to stay: a standby may take over soon, and a server
 * that was replaced may be made the standby of the other.
 * @throws Error with the reason, when patience has ended.
 */
export async function requirePrimary(address: Address, patience: Patience): Promise<void> {
  await patiently(patience, () =>
    withClient(address, async (client) => {
      const { rows } = await client.query<Seen>(lookAtServer);
      if (rows[0]) await new Primary().admit(client, rows[0], limits.requestDeadline);
    }),
  );
}

type Comparison = 'same' | 'different' | 'unknown';

async function compare(owner: Address, service: Address): Promise<Comparison> {
  const key = randomBytes(8).readBigInt64BE().toString();
  return withClient(owner, async (client) => {
    // Connecting the service takes time, and the owner may have the settings of a service.
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
  // Class 28: the role is not there or may not connect. PostgreSQL does not say which of the two.
  if (!codeOf(error.cause).startsWith('28')) throw error;
  const { user } = new Client({ connectionString: service.url });
  const { rowCount } = await owner.query('select from pg_roles where rolname = $1', [user]);
  if (rowCount !== 0) throw error;
}

function placeOf({ url }: Address): string {
  const { host, port, database } = new Client({ connectionString: url });
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

/** An error names the setting that the address comes from. */
async function withClient<Seen>(
  { url, setting }: Address,
  see: (client: pg.Client) => Promise<Seen>,
): Promise<Seen> {
  const client = new Client({
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

class TooOld extends Error {}

class Unusable extends Error {
  constructor(cause: unknown, setting: string | undefined) {
    const where = setting === undefined ? '' : ` (${setting})`;
    super(`the database cannot be used: ${reasonOf(cause)}${where}`, { cause });
  }
}

async function look(client: pg.Client): Promise<Found> {
  const { rows } = await client.query<FoundTable>(
    `select c.oid is not null as is_there, pg_has_role(relowner, 'member') as owns,
       exists (select from pg_attribute where attrelid = c.oid and attname = 'steps') as has_steps,
       ${isOnCitus} as is_spread
     from (select to_regclass('public.schema_migrations') as history) h
     left join pg_class c on c.oid = h.history`,
  );
  const [table] = rows;
  const isSpread = table?.is_spread === true;
  if (table?.is_there !== true) return { version: 0, inProgress: '', isOwner: true, isSpread };
  if (!table.has_steps) {
    throw new TooOld(
      'it was made by a version of Tallybook before the first release, which this version cannot ' +
        'bring up to date: name a new data directory with --data, or an empty database with ' +
        '--database-url, or run the program that made it',
    );
  }
  const { rows: found } = await client.query<{ version: number; in_progress: string }>(
    `select max(number) as version, max(name) filter (where number = 0) as in_progress
     from public.schema_migrations`,
  );
  const [{ version, in_progress } = { version: 0, in_progress: '' }] = found;
  return { version, inProgress: in_progress, isOwner: table.owns === true, isSpread };
}

/** What the catalogue says of the table of migrations, and of the database. */
interface FoundTable {
  readonly is_there: boolean;
  readonly owns: boolean | null;
  readonly has_steps: boolean;
  readonly is_spread: boolean;
}

/** Class 57P: starting up or shutting down. Class 08, or no code at all: the connection broke. */
function isPassing(error: unknown): boolean {
  if (error instanceof TooOld) return false;
  const code = codeOf(error);
  return code === '' || notYet.has(code) || code.startsWith('57P') || code.startsWith('08');
}

/** Of the system or of PostgreSQL; empty when the error has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** An attempt on several addresses fails with an empty message and a list. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? systemMessage(error) : String(error);
}
