// Connections to PostgreSQL: a pool for reads, a small reserve for authentication and health so
// that slow reads cannot lock everyone out, and one connection per write worker. Every connection
// has an error listener for its whole life: without it a crash of the database ends this process.

import { availableParallelism } from 'node:os';
import pg from 'pg';
import { limits } from '../core/limits.ts';
import {
  type Connection,
  DatabaseFailure,
  type Reader,
  type Result,
  type Statement,
  type Writer,
} from '../core/statement.ts';
import { databaseFailure } from './failure.ts';
import { typeParsers } from './types.ts';

/** What the service holds of its database. */
export interface Database {
  readonly reader: Reader;
  readonly reserve: Reader;
  readonly writer: Writer;
  /** Connections in use, idle and waited for, for the metrics. */
  usage(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly url: string;
  readonly writers: number;
  readonly onError?: (failure: DatabaseFailure) => void;
}

const reserveConnections = 2;

export function connectDatabase(options: ConnectOptions): Database {
  const report = options.onError ?? (() => undefined);
  const reads = openPool(options.url, 2 * availableParallelism() + 2, false, report);
  const reserve = openPool(options.url, reserveConnections, false, report);
  const writes = openPool(options.url, options.writers, true, report);
  return {
    reader: poolReader(reads, report),
    reserve: poolReader(reserve, report),
    writer: poolWriter(writes, report),
    usage: () => ({
      total: reads.totalCount + reserve.totalCount + writes.totalCount,
      idle: reads.idleCount + reserve.idleCount + writes.idleCount,
      waiting: reads.waitingCount + reserve.waitingCount,
    }),
    close: async () => {
      await Promise.all([reads.end(), reserve.end(), writes.end()]);
    },
  };
}

type Report = (failure: DatabaseFailure) => void;

function openPool(url: string, max: number, pipeline: boolean, report: Report): pg.Pool {
  const config = {
    connectionString: url,
    max,
    pipeline,
    application_name: 'tallybook',
    types: typeParsers,
    connectionTimeoutMillis: limits.poolAcquireTimeout,
    maxLifetimeSeconds: limits.connectionLifetimeSeconds,
    idleTimeoutMillis: 0,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  const pool = new pg.Pool(config);
  pool.on('connect', (client) => client.on('error', (error) => report(databaseFailure(error))));
  // Idle clients report through the pool as well; the listener above has said it already.
  pool.on('error', () => undefined);
  return pool;
}

function poolReader(pool: pg.Pool, report: Report): Reader {
  return {
    async query<Row>(statement: Statement<Row>): Promise<Row[]> {
      if (pool.waitingCount >= pool.options.max * limits.poolWaitersPerConnectionMax) {
        throw new DatabaseFailure('away', undefined, new Error('too many wait for a connection'));
      }
      const connection = await acquire(pool, report);
      try {
        const [result] = await connection.send([statement]);
        connection.release();
        return (result?.rows ?? []) as Row[];
      } catch (error) {
        connection.destroy();
        throw error;
      }
    },
  };
}

function poolWriter(pool: pg.Pool, report: Report): Writer {
  return { connect: () => acquire(pool, report) };
}

async function acquire(pool: pg.Pool, report: Report): Promise<Connection> {
  try {
    return pooledConnection(await pool.connect(), report);
  } catch (error) {
    const failure = databaseFailure(error);
    report(failure);
    // Nothing was sent yet: whatever the reason, the server is away for this caller.
    throw failure.kind === 'lost' ? new DatabaseFailure('away', failure.sqlstate, error) : failure;
  }
}

function pooledConnection(client: pg.PoolClient, report: Report): Connection {
  let isOurs = true;
  const giveBack = (destroy: boolean) => {
    if (isOurs) client.release(destroy);
    isOurs = false;
  };
  return {
    async send(statements): Promise<readonly Result[]> {
      // A server that is gone without a word never answers. In pipeline mode the driver closes the
      // socket only when a query's own time-out runs out: ending the client would wait for ever.
      const last = statements.length - 1;
      const patience = last === 0 ? limits.connectionSilenceTimeout : limits.requestDeadline;
      const sent = statements.map(({ name, text, values }, index) =>
        client.query({
          name,
          text,
          values: values as unknown[],
          ...(index === last ? { query_timeout: patience } : {}),
        }),
      );
      // All are awaited, so that no statement of a failed transaction is still under way.
      const settled = await Promise.allSettled(sent);
      const failed = settled.find((result) => result.status === 'rejected');
      if (failed !== undefined) {
        const failure = databaseFailure(failed.reason);
        report(failure);
        throw failure;
      }
      return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    },
    release: () => giveBack(false),
    destroy: () => giveBack(true),
  };
}
