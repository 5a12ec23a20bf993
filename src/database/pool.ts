// Connections to one server. Every connection has an error listener until it is closed: without it
// a crash of the database ends this process.

import pg from 'pg';
import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import { DatabaseFailure, type Reader, type Statement, type Writer } from '../core/statement.ts';
import { Client } from './client.ts';
import { type PooledConnection, pooledConnection } from './connection.ts';
import { databaseFailure, tooMany } from './failure.ts';
import type { ConnectionHealth } from './health.ts';
import { greetedBy, plannedAnew } from './pooler.ts';
import { askOnce, lookAtServer, type Seen } from './primary.ts';
import { typeParsers } from './types.ts';

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

interface Waiting {
  give(client: pg.PoolClient): void;
  refuse(failure: DatabaseFailure): void;
}

/**
 * Some connections. Whoever waits longest gets the next that is free: the driver's pool would keep
 * him for the one that it opens on his account, which takes seconds on a busy machine.
 */
export class Pool {
  readonly #pool: pg.Pool;
  readonly #max: number;
  readonly #health: ConnectionHealth;
  readonly #waiting: Waiting[] = [];
  /** Connections asked of the driver's pool: idle ones, and those that it opens. */
  #coming = 0;
  #used = 0;

  constructor(url: string, max: number, health: ConnectionHealth) {
    this.#pool = driversPool(url, max, health);
    this.#max = max;
    this.#health = health;
  }

  get counts(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const { totalCount, idleCount } = this.#pool;
    return { total: totalCount, idle: idleCount, waiting: this.#waiting.length };
  }

  /** Whether so many wait that one more would wait in vain. */
  get isCrowded(): boolean {
    return this.#waiting.length >= this.#max * limits.poolWaitersPerConnectionMax;
  }

  /** @throws DatabaseFailure: `away`, whatever the reason, because nothing was sent yet. */
  async connect(cell = firstCell): Promise<PooledConnection> {
    const client = await this.#take();
    const giveBack = (isBroken: boolean) => this.#giveBack(client, isBroken);
    return pooledConnection(client, this.#health, cell, giveBack);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  #take(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        give: (client) => {
          endLimit();
          resolve(client);
        },
        refuse: (failure) => {
          endLimit();
          reject(failure);
        },
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        const failure = tooMany();
        this.#health.reportOwn(failure);
        reject(failure);
      };
      const endLimit = this.#health.limitWait(giveUp, () => this.#coming > 0);
      this.#waiting.push(waiting);
      this.#fetch();
    });
  }

  #giveBack(client: pg.PoolClient, isBroken: boolean): void {
    this.#used -= 1;
    client.release(isBroken);
    this.#fetch();
  }

  /** Asks for one connection more if somebody has a use for it. */
  #fetch(): void {
    const isWanted = this.#waiting.length > (this.#pool.idleCount > 0 ? 0 : this.#coming);
    if (!isWanted || this.#coming + this.#used >= this.#max) return;
    this.#coming += 1;
    this.#next().then(
      (client) => {
        this.#coming -= 1;
        this.#used += 1;
        const first = this.#waiting.shift();
        if (first === undefined) this.#giveBack(client, false);
        else first.give(client);
      },
      (error: unknown) => {
        this.#coming -= 1;
        const failure = databaseFailure(error);
        this.#health.report(failure);
        // Otherwise one of those in use comes free.
        if (this.#used > 0) return;
        this.#waiting.shift()?.refuse(new DatabaseFailure('away', failure.sqlstate, error));
        this.#fetch();
      },
    );
  }

  async #next(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#health.isTrusted(client)) return client;
      client.release(true);
    }
  }
}

function driversPool(url: string, max: number, health: ConnectionHealth): pg.Pool {
  const config = {
    Client,
    connectionString: url,
    max,
    pipeline: true,
    application_name: 'tallybook',
    types: typeParsers,
    maxLifetimeSeconds: limits.connectionLifetimeSeconds,
    idleTimeoutMillis: 0,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    onOpening: (client: Client) => {
      const endLimit = health.limitWait(() => client.giveUp());
      client.once('connect', endLimit);
    },
    verify: (client: pg.PoolClient, done: (error?: Error) => void) => {
      look(client, health).then(() => done(), done);
    },
  };
  const pool = new pg.Pool(config);
  pool.on('connect', (client) => {
    health.noteOpen(client);
    client.on('error', (error) => health.report(databaseFailure(error)));
  });
  // Idle clients report through the pool as well; the listener above has reported it already.
  pool.on('error', () => undefined);
  return pool;
}

/** Once for each connection, before it is used. */
async function look(client: pg.PoolClient, health: ConnectionHealth): Promise<void> {
  const timeout = health.lookTimeout;
  const { rows } = await askOnce<Seen>(client, lookAtServer, timeout);
  const [seen] = rows;
  if (seen === undefined) throw new Error('the server said nothing of itself');
  if (seen.pid !== greetedBy(client)) health.sharing.notePooler(client);
  await health.primary.admit(client, seen, timeout);
  health.noteAnswer(client);
}

export function poolReader(pool: Pool): Reader {
  return {
    async query<Row>(statement: Placed<Row>): Promise<Row[]> {
      if (pool.isCrowded) throw tooMany();
      const connection = await pool.connect(statement.cell);
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

export function poolWriter(pool: Pool, cell: string): Writer {
  return { connect: () => pool.connect(cell) };
}
