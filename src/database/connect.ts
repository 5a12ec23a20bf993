// Connections to PostgreSQL: a pool for reads, which merchants share by turns, a small reserve for
// authentication and health so that slow reads cannot lock everyone out, one connection per write
// worker, one for rate limits, and two for errands. Every connection has an error listener for its
// whole life: without it a crash of the database ends this process.

import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { limits } from '../core/limits.ts';
import {
  type Connection,
  commit,
  DatabaseFailure,
  planAnew,
  type Reader,
  type Result,
  type Statement,
  type Writer,
} from '../core/statement.ts';
import { databaseFailure, isSilence } from './failure.ts';
import { FairReads } from './fair-reads.ts';
import { typeParsers } from './types.ts';

/** What the service holds of its database. */
export interface Database {
  /** For a merchant's endpoints: its queries take turns with those of other merchants. */
  readonly readerOf: (merchant: string) => Reader;
  /** For what is done on nobody's behalf: it takes its turns as one more merchant. */
  readonly reader: Reader;
  readonly reserve: Reader;
  readonly writer: Writer;
  /** For rate limits, which wait for nobody's writes. */
  readonly leases: Writer;
  /** For small transactions of no merchant's queue: tokens, denials. No write waits for them. */
  readonly errands: Writer;
  /** Connections in use, idle and waited for, for the metrics. */
  usage(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly url: string;
  readonly writers: number;
  readonly onError?: (failure: DatabaseFailure) => void;
}

export const readConnections = Math.min(4 * availableParallelism() + 4, limits.readConnectionsMax);
const reserveConnections = 2;
const errandConnections = 2;

export function connectDatabase(options: ConnectOptions): Database {
  const way = new Way(options.onError ?? (() => undefined));
  const reads = openPool(options.url, readConnections, true, way);
  const fair = new FairReads(poolReader(reads, way), readConnections);
  const reserve = openPool(options.url, reserveConnections, true, way);
  const writes = openPool(options.url, options.writers, true, way);
  const leases = openPool(options.url, 1, true, way);
  const errands = openPool(options.url, errandConnections, true, way);
  const pools = [reads, reserve, writes, leases, errands];
  const sum = (count: (pool: pg.Pool) => number) =>
    pools.map(count).reduce((total, one) => total + one, 0);
  return {
    readerOf: (merchant) => fair.readerOf(merchant),
    reader: fair.readerOf(''),
    reserve: poolReader(reserve, way),
    writer: poolWriter(writes, way),
    leases: poolWriter(leases, way),
    errands: poolWriter(errands, way),
    usage: () => ({
      total: sum((pool) => pool.totalCount),
      idle: sum((pool) => pool.idleCount),
      waiting: fair.waiting + reserve.waitingCount,
    }),
    close: async () => {
      // One to a server that has gone silent never closes.
      const late = sleep(limits.farewellTimeout, undefined, { ref: false });
      await Promise.race([Promise.all(pools.map((pool) => pool.end())), late]);
    },
  };
}

/**
 * What is known of the way to the server. A network that swallows one connection without a word has
 * most likely swallowed those that lay idle, too: once one was silent, those not heard of since are
 * not trusted any more. Else each of them costs somebody 4 s and a 503.
 */
class Way {
  readonly report: (failure: DatabaseFailure) => void;
  readonly #heardAt = new WeakMap<pg.ClientBase, number>();
  #silentAt = 0;

  constructor(report: (failure: DatabaseFailure) => void) {
    this.report = report;
  }

  heard(client: pg.ClientBase): void {
    this.#heardAt.set(client, performance.now());
  }

  fellSilent(): void {
    this.#silentAt = performance.now();
  }

  isTrusted(client: pg.ClientBase): boolean {
    return (this.#heardAt.get(client) ?? 0) >= this.#silentAt;
  }
}

function openPool(url: string, max: number, pipeline: boolean, way: Way): pg.Pool {
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
  pool.on('connect', (client) => {
    way.heard(client);
    client.on('error', (error) => way.report(databaseFailure(error)));
  });
  // Idle clients report through the pool as well; the listener above has said it already.
  pool.on('error', () => undefined);
  return pool;
}

function poolReader(pool: pg.Pool, way: Way): Reader {
  return {
    async query<Row>(statement: Statement<Row>): Promise<Row[]> {
      if (pool.waitingCount >= pool.options.max * limits.poolWaitersPerConnectionMax) {
        throw new DatabaseFailure('away', undefined, new Error('too many wait for a connection'));
      }
      const connection = await acquire(pool, way);
      try {
        const isPlannedAnew = statement.name === '';
        const sent = isPlannedAnew ? [beginRead, planAnew, statement, commit] : [statement];
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

const beginRead: Statement = { name: 'begin_read', text: 'begin read only', values: [] };

function poolWriter(pool: pg.Pool, way: Way): Writer {
  return { connect: () => acquire(pool, way) };
}

interface PooledConnection extends Connection {
  /** @param patience how long (ms) the answer may take before the server counts as gone. */
  send(statements: readonly Statement[], patience?: number): Promise<readonly Result[]>;
}

/** One statement has its own time-out; several may each take that long. */
const patienceFor = (statements: readonly Statement[]) =>
  statements.length === 1 ? limits.connectionSilenceTimeout : limits.requestDeadline;

async function acquire(pool: pg.Pool, way: Way): Promise<PooledConnection> {
  try {
    let client = await pool.connect();
    while (!way.isTrusted(client)) {
      client.release(true);
      client = await pool.connect();
    }
    return pooledConnection(client, way);
  } catch (error) {
    const failure = databaseFailure(error);
    way.report(failure);
    // Nothing was sent yet: whatever the reason, the server is away for this caller.
    throw new DatabaseFailure('away', failure.sqlstate, error);
  }
}

function pooledConnection(client: pg.PoolClient, way: Way): PooledConnection {
  let isOurs = true;
  const giveBack = (destroy: boolean) => {
    if (isOurs) client.release(destroy);
    isOurs = false;
  };
  return {
    async send(statements, patience = patienceFor(statements)): Promise<readonly Result[]> {
      // A server that is gone without a word never answers. In pipeline mode the driver closes the
      // socket only when a query's own time-out runs out: ending the client would wait for ever.
      const last = statements.length - 1;
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
      const failures = settled.filter((result) => result.status === 'rejected');
      if (failures.some(({ reason }) => isSilence(reason))) way.fellSilent();
      else way.heard(client);
      const [failed] = failures;
      if (failed !== undefined) {
        const failure = databaseFailure(failed.reason);
        way.report(failure);
        throw failure;
      }
      return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    },
    release: () => giveBack(false),
    destroy: () => giveBack(true),
  };
}
