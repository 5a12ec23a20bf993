// The PostgreSQL server of a run: the private one, kept alive by its own supervisor, and what a
// nemesis needs to reach its processes.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { layoutOf } from '../../../src/database/embedded/directory.ts';
import { type EmbeddedServer, startEmbeddedServer } from '../../../src/database/embedded/server.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { parentOf } from '../../support/parent.ts';

/** A database that was killed replays its log first; its supervisor waits longer each time. */
const backWithinMs = 120_000;

/** A backend of the service with an open transaction. */
const busyBackends = `
  select pid from pg_stat_activity
  where usename = 'tallybook_service' and xact_start is not null and state <> 'idle'`;

export class ChaosDatabase {
  readonly #server: EmbeddedServer;
  readonly #directory: string;

  private constructor(server: EmbeddedServer, directory: string) {
    this.#server = server;
    this.#directory = directory;
  }

  static async start(directory: string): Promise<ChaosDatabase> {
    const server = await startEmbeddedServer({
      dataDirectory: directory,
      stopWithParent: true,
      settings: { max_connections: '200', max_wal_size: '256MB' },
      log: () => undefined,
    });
    await migrate({ owner: server.ownerUrl, service: server.serviceUrl });
    return new ChaosDatabase(server, directory);
  }

  get ownerUrl(): string {
    return this.#server.ownerUrl;
  }

  get serviceUrl(): string {
    return this.#server.serviceUrl;
  }

  /**
   * As the owner, on a connection of its own: the last one may have died with a server. One that
   * is down is waited for.
   */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.#connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async #connect(): Promise<pg.Client> {
    const deadline = Date.now() + backWithinMs;
    for (;;) {
      const client = new pg.Client({
        connectionString: this.ownerUrl,
        connectionTimeoutMillis: 5_000,
        options: '-c default_transaction_read_only=off',
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        return client;
      } catch (error) {
        void client.end().catch(() => undefined);
        if (Date.now() > deadline) throw error;
        await sleep(50);
      }
    }
  }

  async busyBackends(): Promise<number[]> {
    const rows = await this.query<{ pid: number }>(busyBackends);
    return rows.map(({ pid }) => pid);
  }

  get postmaster(): number {
    const file = join(layoutOf(this.#directory).cluster, 'postmaster.pid');
    return Number(readFileSync(file, 'utf8').split('\n')[0]);
  }

  /** The postmaster and all its children. */
  get processes(): number[] {
    const { postmaster } = this;
    const children = readdirSync('/proc')
      .filter((name) => /^[0-9]+$/.test(name))
      .map(Number)
      .filter((pid) => parentOf(pid) === postmaster);
    return [postmaster, ...children];
  }

  /** Resolves when it answers. */
  async ready(): Promise<void> {
    await this.query('select 1');
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}
