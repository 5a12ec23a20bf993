// The PostgreSQL server of a run: the private one, kept alive by its own supervisor, and what a
// nemesis needs to reach its processes.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from '../../../src/database/migrate.ts';
import { layoutOf } from '../../../src/postgres/directory.ts';
import { type PrivateServer, startPrivateServer } from '../../../src/postgres/server.ts';
import { parentOf } from '../../kit/usage.ts';
import { factsOf, type LogFacts } from '../check/server-log.ts';

/** A database that was killed replays its log first; its supervisor waits longer each time. */
const backWithinMs = 120_000;

/** Backends of nodes whose name is like this, with an open transaction. */
const busyBackends = `
  select pid from pg_stat_activity
  where usename = 'tallybook_service' and xact_start is not null and state <> 'idle'
    and application_name like $1`;

/** After a crash its connections end, sooner or later. */
const crashShowsWithinMs = 2_000;

export class ChaosDatabase {
  readonly #server: PrivateServer;
  readonly #directory: string;
  /** Kept open: who looks for a short moment cannot connect first. */
  #observer: Promise<pg.Client> | undefined;
  /** By file: the server keeps only the last few of them. */
  readonly #log = new Map<string, LogFacts>();
  /** What its supervisor said. */
  readonly #said: readonly string[];

  private constructor(server: PrivateServer, directory: string, said: readonly string[]) {
    this.#server = server;
    this.#directory = directory;
    this.#said = said;
  }

  static async start(directory: string): Promise<ChaosDatabase> {
    const said: string[] = [];
    const server = await startPrivateServer({
      dataDirectory: directory,
      stopWithParent: true,
      settings: {
        ...{ max_connections: '200', max_wal_size: '256MB' },
        // A deadlock is told with the statements of both.
        log_error_verbosity: 'default',
      },
      log: (event, message) => {
        const { err } = event;
        const more = err instanceof Error ? err.message : JSON.stringify(event);
        said.push(`${new Date().toISOString()} ${message}: ${more}`);
      },
    });
    try {
      await migrate({ owner: server.ownerUrl, service: server.serviceUrl });
    } catch (error) {
      await server.stop();
      throw error;
    }
    return new ChaosDatabase(server, directory, said);
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
    const client = await this.#connect(backWithinMs);
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async #connect(withinMs: number): Promise<pg.Client> {
    const deadline = Date.now() + withinMs;
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

  /** None while it is down: nobody waits for it here. */
  async busyBackends(node: string): Promise<number[]> {
    try {
      this.#observer ??= this.#connect(0);
      const observer = await this.#observer;
      const { rows } = await observer.query<{ pid: number }>(busyBackends, [node]);
      return rows.map(({ pid }) => pid);
    } catch {
      this.#observer = undefined;
      return [];
    }
  }

  /** @returns whether the server crashed during the work: all its connections ended. */
  async crashes(work: () => Promise<unknown>): Promise<boolean> {
    const client = await this.#connect(backWithinMs);
    const gone = new Promise<boolean>((resolve) => client.once('end', () => resolve(true)));
    await work();
    const isGone = await Promise.race([gone, sleep(crashShowsWithinMs, false)]);
    if (!isGone) await client.end().catch(() => undefined);
    return isGone;
  }

  /** What its log has told so far. */
  facts(): LogFacts {
    this.#readLog();
    const all = [...this.#log.values()];
    return {
      deadlocks: all.flatMap(({ deadlocks }) => deadlocks),
      recoveries: all.reduce((total, { recoveries }) => total + recoveries, 0),
    };
  }

  #readLog(): void {
    const directory = join(layoutOf(this.#directory).cluster, 'log');
    for (const name of readdirSync(directory)) {
      try {
        this.#log.set(name, factsOf(readFileSync(join(directory, name), 'utf8')));
      } catch {
        // Removed meanwhile, for its age: it was read before.
      }
    }
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

  /** Resolves when it answers. A connection to a server that is dying may be made, and then die. */
  async ready(): Promise<void> {
    const deadline = Date.now() + backWithinMs;
    for (;;) {
      try {
        await this.query('select 1');
        break;
      } catch (cause) {
        if (Date.now() > deadline) throw new Error(this.#absence(), { cause });
      }
    }
    this.#readLog();
  }

  /** Why it did not come back, as far as its supervisor and its own log know. */
  #absence(): string {
    const directory = join(layoutOf(this.#directory).cluster, 'log');
    const newest = readdirSync(directory).sort().at(-1) ?? '';
    const lines = readFileSync(join(directory, newest), 'utf8').trimEnd().split('\n');
    return [
      `the database was not back after ${backWithinMs} ms; its supervisor and its log said:`,
      ...this.#said.slice(-20),
      ...lines.slice(-20),
    ].join('\n');
  }

  async stop(): Promise<void> {
    await this.#observer?.then((observer) => observer.end()).catch(() => undefined);
    await this.#server.stop();
  }
}
