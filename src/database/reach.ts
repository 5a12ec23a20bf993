// Meeting a database before it is used: waiting until it can be reached, and seeing how far its
// schema is. A database that starts together with the service is not there yet, which is no error;
// one that refuses the password is, however long one waits.

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
export async function findDatabase(url: string, patience: Patience): Promise<Found> {
  const giveUpAt = performance.now() + patience.limit;
  for (let delay = firstDelay; ; delay = Math.min(2 * delay, longestDelay)) {
    try {
      return await look(url);
    } catch (error) {
      if (!isPassing(error) || performance.now() + delay > giveUpAt) throw unreachable(error);
      patience.notice(error, delay);
    }
    await sleep(delay * (0.5 + Math.random()), undefined, { signal: patience.signal });
  }
}

async function look(url: string): Promise<Found> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tallybook',
    ...patienceOfLooks,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ owns: boolean | null }>(
      `select pg_has_role(relowner, 'member') as owns from pg_class
       where oid = to_regclass('schema_migrations')`,
    );
    const [table] = rows;
    if (table === undefined) return { version: 0, isOwner: true };
    const newest = await client.query<{ version: number }>(
      'select max(number) as version from schema_migrations',
    );
    return { version: newest.rows[0]?.version ?? 0, isOwner: table.owns === true };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Class 57P: starting up or shutting down. Class 08, or no code at all: cut off midway. */
function isPassing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' || notYet.has(code) || code.startsWith('57P') || code.startsWith('08');
}

function unreachable(cause: unknown): Error {
  return new Error(`the database cannot be used: ${reasonOf(cause)}`, { cause });
}

/** An attempt on several addresses fails with an empty message and a list. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
