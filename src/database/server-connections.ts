// What a service opens at one server: a pool for reads, which merchants share fairly, a small
// reserve for authentication and health checks so that slow reads cannot block them, one connection
// per write worker, one for rate limits, two for the global tables, and four for webhooks. A pool
// opens nothing before it is asked.

import { availableParallelism } from 'node:os';
import { limits } from '../core/limits.ts';
import type { Reader, Writer } from '../core/statement.ts';
import type { Entrance } from './cells.ts';
import { FairReads } from './fair-reads.ts';
import { ConnectionHealth, type HealthOptions } from './health.ts';
import { Pool, poolReader, poolWriter, readerIn } from './pool.ts';
import type { Sharing } from './pooler.ts';

/** What leads to the data of the merchants of one cell. */
export interface CellConnections {
  /** For a merchant's endpoints: its queries share the connections fairly with other merchants'. */
  readonly readerOf: (merchant: string) => Reader;
  /** For queries of no merchant: they share the connections as one more merchant. */
  readonly reader: Reader;
  readonly reserve: Reader;
  readonly writer: Writer;
  /** For webhooks: no request waits for what they read and save. */
  readonly deliveries: {
    readonly readerOf: (merchant: string) => Reader;
    readonly reader: Reader;
    readonly writer: Writer;
  };
}

export interface PoolsOptions extends HealthOptions {
  readonly url: string;
  readonly writers: number;
  /** Connections to read by. */
  readonly reads?: number;
}

/** Connections to read by, of a node with so many processors. */
export const readConnectionsWith = (processors: number): number =>
  Math.min(4 * processors + 4, limits.readConnectionsMax);

export const readConnections = readConnectionsWith(availableParallelism());
const reserveConnections = 2;
const globalConnections = 2;
/** A merchant alone gets two of these to read by. */
const deliveryReadConnections = 3;

/** What a service opens; of workers that are one node, one opens those of deliveries. */
export const connectionsOf = (reads: number) => ({
  each: reads + reserveConnections + limits.writeWorkers + 1 + globalConnections,
  deliveries: deliveryReadConnections + 1,
});

export class ServerConnections {
  readonly #reads: FairReads;
  readonly #reserve: Pool;
  readonly #writes: Pool;
  readonly #leases: Pool;
  readonly #global: Pool;
  readonly #deliveryReads: FairReads;
  readonly #deliveryWrites: Pool;
  readonly #pools: Pool[] = [];

  constructor(options: PoolsOptions, sharing: Sharing, entrance: Entrance) {
    const health = new ConnectionHealth(options, sharing, entrance);
    const open = (max: number) => {
      const pool = new Pool(options.url, max, health);
      this.#pools.push(pool);
      return pool;
    };
    const openFair = (max: number) => new FairReads(poolReader(open(max)), max);
    this.#reads = openFair(options.reads ?? readConnections);
    this.#reserve = open(reserveConnections);
    this.#writes = open(options.writers);
    this.#leases = open(1);
    this.#global = open(globalConnections);
    this.#deliveryReads = openFair(deliveryReadConnections);
    this.#deliveryWrites = open(1);
  }

  inCell(cell: string): CellConnections {
    const reads = this.#reads;
    const deliveryReads = this.#deliveryReads;
    return {
      readerOf: (merchant) => readerIn(cell, reads.readerOf(merchant)),
      reader: readerIn(cell, reads.readerOf('')),
      reserve: readerIn(cell, poolReader(this.#reserve)),
      writer: poolWriter(this.#writes, cell),
      deliveries: {
        readerOf: (merchant) => readerIn(cell, deliveryReads.readerOf(merchant)),
        reader: readerIn(cell, deliveryReads.readerOf('')),
        writer: poolWriter(this.#deliveryWrites, cell),
      },
    };
  }

  /** What writes the global tables. */
  globalIn(cell: string): { readonly leases: Writer; readonly globalWriter: Writer } {
    return {
      leases: poolWriter(this.#leases, cell),
      globalWriter: poolWriter(this.#global, cell),
    };
  }

  usage(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const counts = this.#pools.map((pool) => pool.counts);
    return {
      total: counts.reduce((sum, { total }) => sum + total, 0),
      idle: counts.reduce((sum, { idle }) => sum + idle, 0),
      waiting: this.#reads.waiting + this.#reserve.counts.waiting,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }
}
