// Connections to one server. Every connection has an error listener until it is closed: without it
// a crash of the database ends this process.

import pg from 'pg';
import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import {
  type Connection,
  DatabaseFailure,
  type Reader,
  type Result,
  type Statement,
  type Writer,
} from '../core/statement.ts';
import type { Entrance } from './cells.ts';
import { Client } from './client.ts';
import { databaseFailure, isSilence } from './failure.ts';
import {
  greetedBy,
  inOwnSession,
  inSharedSession,
  isLostName,
  leavesOpen,
  plannedAnew,
  type Sharing,
  standAlone,
  timelineIn,
} from './pooler.ts';
import { askOnce, lookAtServer, Primary, type Seen } from './primary.ts';
import { typeParsers } from './types.ts';

/** Where a pool leads, and how long to wait for one of its connections, in milliseconds. */
export interface PoolOptions {
  readonly url: string;
  readonly acquireTimeout?: number;
}

/** A statement that is not about the first cell. Nobody else sees where it goes. */
interface Placed<Row> extends Statement<Row> {
  readonly cell?: string;
}

export function readerIn(cell: string, reader: Reader): Reader {
  if (cell === firstCell) return reader;
  return {
    query<Row>(statement: Statement<Row>) {
      const placed: Placed<Row> = { ...statement, cell };
      return reader.query(placed);
    },
  };
}

/**
 * Which connections still work, as far as is known. A network that drops one connection without
 * closing it has most likely dropped the idle ones, too. So after one time-out, connections without
 * an answer since then are not used any more. Otherwise each of them costs a request 4 s and a 503.
 */
export class ConnectionHealth {
  /** The cell that the last read on a connection entered. */
  readonly cells = new WeakMap<pg.ClientBase, string>();
  readonly sharing: Sharing;
  readonly entrance: Entrance;
  readonly primary = new Primary();
  readonly #report: (failure: DatabaseFailure) => void;
  readonly #answeredAt = new WeakMap<pg.ClientBase, number>();
  #silentAt = 0;

  constructor(report: (failure: DatabaseFailure) => void, sharing: Sharing, entrance: Entrance) {
    this.#report = report;
    this.sharing = sharing;
    this.entrance = entrance;
  }

  report(failure: DatabaseFailure): void {
    if (failure.kind === 'lost') this.primary.noteLoss();
    this.#report(failure);
  }

  noteAnswer(client: pg.ClientBase): void {
    this.#answeredAt.set(client, performance.now());
  }

  noteSilence(): void {
    this.#silentAt = performance.now();
  }

  isTrusted(client: pg.ClientBase): boolean {
    if (this.primary.isOver(client)) return false;
    return (this.#answeredAt.get(client) ?? 0) >= this.#silentAt;
  }
}

export function poolOf(
  { url, acquireTimeout = limits.poolAcquireTimeout }: PoolOptions,
  max: number,
  health: ConnectionHealth,
): pg.Pool {
  const config = {
    Client,
    connectionString: url,
    max,
    pipeline: true,
    application_name: 'tallybook',
    types: typeParsers,
    connectionTimeoutMillis: acquireTimeout,
    maxLifetimeSeconds: limits.connectionLifetimeSeconds,
    idleTimeoutMillis: 0,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    verify: (client: pg.PoolClient, done: (error?: Error) => void) => {
      look(client, health, acquireTimeout).then(() => done(), done);
    },
  };
  const pool = new pg.Pool(config);
  pool.on('connect', (client) => {
    health.noteAnswer(client);
    client.on('error', (error) => health.report(databaseFailure(error)));
  });
  // Idle clients report through the pool as well; the listener above has reported it already.
  pool.on('error', () => undefined);
  return pool;
}

/** Once for each connection, before it is used. */
async function look(
  client: pg.PoolClient,
  { sharing, primary }: ConnectionHealth,
  timeout: number,
): Promise<void> {
  const { rows } = await askOnce<Seen>(client, lookAtServer, timeout);
  const [seen] = rows;
  if (seen === undefined) throw new Error('the server said nothing of itself');
  if (seen.pid !== greetedBy(client)) sharing.notePooler(client);
  await primary.admit(client, seen, timeout);
}

export function poolReader(pool: pg.Pool, health: ConnectionHealth): Reader {
  return {
    async query<Row>(statement: Placed<Row>): Promise<Row[]> {
      if (pool.waitingCount >= pool.options.max * limits.poolWaitersPerConnectionMax) {
        throw new DatabaseFailure('away', undefined, new Error('too many wait for a connection'));
      }
      const connection = await acquire(pool, health, statement.cell);
      try {
        const isPlannedAnew = statement.name === '';
        const sent = isPlannedAnew ? plannedAnew(statement) : [statement];
        const results = await connection.send(sent, limits.connectionSilenceTimeout);
        connection.release();
        return (results[isPlannedAnew ? 2 : 0]?.rows ?? []) as Row[];
      } catch (error) {
        connection.destroy();
        throw error;
      }
    },
  };
}

export function poolWriter(pool: pg.Pool, health: ConnectionHealth, cell: string): Writer {
  return { connect: () => acquire(pool, health, cell) };
}

interface PooledConnection extends Connection {
  /** @param timeout how long (ms) the answer may take before the connection counts as lost. */
  send(statements: readonly Statement[], timeout?: number): Promise<readonly Result[]>;
}

/** One statement has its own time-out; several may each take that long. */
const timeoutFor = (statements: readonly Statement[]) =>
  statements.length === 1 ? limits.connectionSilenceTimeout : limits.requestDeadline;

async function acquire(
  pool: pg.Pool,
  health: ConnectionHealth,
  cell = firstCell,
): Promise<PooledConnection> {
  try {
    let client = await pool.connect();
    while (!health.isTrusted(client)) {
      client.release(true);
      client = await pool.connect();
    }
    return pooledConnection(client, health, cell);
  } catch (error) {
    const failure = databaseFailure(error);
    health.report(failure);
    // Nothing was sent yet: whatever the reason, the server is away for this caller.
    throw new DatabaseFailure('away', failure.sqlstate, error);
  }
}

function pooledConnection(
  client: pg.PoolClient,
  health: ConnectionHealth,
  cell: string,
): PooledConnection {
  const { sharing, primary, cells, entrance } = health;
  let isOurs = true;
  let isOpen = false;
  const end = (destroy: boolean) => {
    if (isOurs) client.release(destroy);
    isOurs = false;
  };
  const sendOnce = async (statements: readonly Statement[], timeout: number) => {
    if (!sharing.isShared(client)) {
      const left = cells.get(client) ?? entrance.first;
      const { sent, before } = inOwnSession(statements, isOpen, left, cell, entrance);
      if (before > 0) cells.set(client, cell);
      const results = await exchange(client, sent, timeout, health);
      return before === 0 ? results : results.slice(before);
    }
    const { sent, before } = inSharedSession(statements, isOpen, primary.latest, cell, entrance);
    const results = await exchange(client, sent, timeout, health);
    primary.noteTimeline(timelineIn(results));
    return results.slice(before, before + statements.length);
  };
  return {
    async send(statements, timeout = timeoutFor(statements)): Promise<readonly Result[]> {
      const wasOpen = isOpen;
      try {
        return await sendOnce(statements, timeout);
      } catch (error) {
        const isRepeatable = isLostName((error as DatabaseFailure).sqlstate);
        if (!isRepeatable || !standAlone(statements, wasOpen)) throw error;
        // A transaction stays open when it is COMMIT that was not found.
        await exchange(client, [rollback], timeout, health);
        return await sendOnce(statements, timeout);
      } finally {
        isOpen = leavesOpen(statements, wasOpen);
      }
    },
    release: () => end(false),
    destroy: () => end(true),
  };
}

const rollback: Statement = { name: '', text: 'rollback', values: [] };

/** @throws DatabaseFailure: the first, when all have been answered. */
async function exchange(
  client: pg.PoolClient,
  statements: readonly Statement[],
  timeout: number,
  health: ConnectionHealth,
): Promise<readonly Result[]> {
  // A connection that was dropped without a close never answers. In pipeline mode the driver
  // closes the socket only when a query's own time-out ends: ending the client never returns.
  const last = statements.length - 1;
  const sent = statements.map(({ name, text, values }, index) =>
    client.query({
      name: health.sharing.hasNames ? name : '',
      text,
      values: values as unknown[],
      ...(index === last ? { query_timeout: timeout } : {}),
    }),
  );
  // All are awaited, so that no statement of a failed transaction is still running.
  const settled = await Promise.allSettled(sent);
  const failures = settled.filter((result) => result.status === 'rejected');
  if (failures.some(({ reason }) => isSilence(reason))) health.noteSilence();
  else health.noteAnswer(client);
  const [failed] = failures;
  if (failed !== undefined) {
    const failure = databaseFailure(failed.reason);
    health.report(failure);
    if (isLostName(failure.sqlstate)) health.sharing.loseNames();
    throw failure;
  }
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
