// The database of a run, and what a nemesis needs to reach the processes of its server: of the
// primary, where there are two.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from '../../../src/database/migrate.ts';
import { addCells } from '../../kit/cells.ts';
import { childrenOf } from '../../kit/usage.ts';
import { factsOf, type LogFacts } from '../check/server-log.ts';
import type { SmallDisk } from './small-disk.ts';

/** A database that was killed replays its log first; its supervisor waits longer each time. */
const backWithinMs = 120_000;

/** Backends of nodes whose name is like this, with an open transaction. */
const busyBackends = `
  select pid from pg_stat_activity
  where usename = 'tallybook_service' and xact_start is not null and state <> 'idle'
    and application_name like $1`;

/** After a crash its connections end, sooner or later. */
const crashShowsWithinMs = 2_000;

/** A schema with views of what all cells have. */
const allCells = 'all_cells';

/** To a database, as both roles. */
export interface Urls {
  /** As the owner of the schema, who may do everything here. */
  readonly ownerUrl: string;
  readonly serviceUrl: string;
}

/** Where to connect to for it: a port, or a socket in a folder. */
export function addressOf(text: string): NetConnectOpts {
  const { searchParams, hostname, port } = new URL(text);
  const folder = searchParams.get('host');
  return folder === null
    ? { host: hostname, port: Number(port) }
    : { path: `${folder}/.s.PGSQL.5432` };
}

/** The same database by another port of this machine. */
export function throughPort(text: string, port: number): string {
  const url = new URL(text);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.toString();
}

/** What runs the database: the URLs lead to the server itself, whatever stands before it. */
export interface ChaosServer extends Urls {
  /** What the service is to use. */
  readonly entry: Urls;
  /** Its first process. */
  readonly postmaster: number;
  readonly disk: SmallDisk;
  /** Folders of what the servers have logged. */
  readonly logs: readonly string[];
  /** What its supervisor said. */
  readonly said: readonly string[];
  /** Whether nothing of it is missing. */
  isWhole(): Promise<boolean>;
  /** Its disks go away whatever else cannot be ended. */
  stop(): Promise<void>;
}

export class ChaosDatabase {
  readonly #server: ChaosServer;
  /** Kept open: who looks for a short moment cannot connect first. */
  #observer: Promise<pg.Client> | undefined;
  /** By file: the server keeps only the last few of them. */
  readonly #log = new Map<string, LogFacts>();

  readonly cells: readonly string[];

  private constructor(server: ChaosServer, cells: readonly string[]) {
    this.#server = server;
    this.cells = cells;
  }

  /** With the schema; a server that cannot have it is stopped. */
  static async on(server: ChaosServer, cells = 1): Promise<ChaosDatabase> {
    const names = Array.from({ length: cells }, (_, index) => `cell_${index + 1}`);
    const database = new ChaosDatabase(server, names);
    try {
      await migrate({ owner: server.ownerUrl, service: server.serviceUrl });
      await addCells(server.ownerUrl, names.slice(1));
      await database.#joinCells();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return database;
  }

  get ownerUrl(): string {
    return this.#server.ownerUrl;
  }

  get serviceUrl(): string {
    return this.#server.serviceUrl;
  }

  get disk(): SmallDisk {
    return this.#server.disk;
  }

  /**
   * As the owner, on a connection of its own: the last one may have died with a server. One that
   * is down is waited for.
   */
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#query(`${allCells}, public`, text, values);
  }

  /** About one cell. */
  queryIn<Row extends pg.QueryResultRow>(
    cell: string,
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return this.#query(`${cell}, public`, text, values);
  }

  async #query<Row extends pg.QueryResultRow>(
    path: string,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    const client = await this.#connect(backWithinMs);
    try {
      await client.query(`set search_path = ${path}`);
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** As if the tables of all cells were one: whoever judges need not know where merchants are. */
  async #joinCells(): Promise<void> {
    const tables = await this.query<{ name: string }>(
      `select quote_ident(relname) as name from pg_class
       where relnamespace = 'cell_1'::regnamespace and relkind = 'r'`,
    );
    const views = tables.map(({ name }) => {
      const parts = this.cells.map((cell) => `select * from ${cell}.${name}`);
      return `create view ${allCells}.${name} as ${parts.join(' union all ')}`;
    });
    await this.query(
      ['begin read write', `create schema ${allCells}`, ...views, 'commit'].join(';'),
    );
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
    for (const file of this.#logFiles()) {
      try {
        this.#log.set(file, factsOf(readFileSync(file, 'utf8')));
      } catch {
        // Removed meanwhile, for its age: it was read before.
      }
    }
  }

  #logFiles(): string[] {
    const folders = this.#server.logs.filter((folder) => existsSync(folder));
    return folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  }

  get postmaster(): number {
    return this.#server.postmaster;
  }

  /** The postmaster and all its children. */
  get processes(): number[] {
    return [this.postmaster, ...childrenOf(this.postmaster)];
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

  /** Resolves when it answers and nothing of it is missing. */
  async whole(): Promise<void> {
    const deadline = Date.now() + backWithinMs;
    await this.ready();
    while (!(await this.#server.isWhole())) {
      if (Date.now() > deadline) throw new Error(this.#absence());
      await sleep(50);
    }
  }

  /** Why it did not come back, as far as its supervisor and its own log know. */
  #absence(): string {
    const newest = this.#logFiles().sort().at(-1);
    const lines = newest === undefined ? [] : readFileSync(newest, 'utf8').trimEnd().split('\n');
    return [
      `the database was not back after ${backWithinMs} ms; its supervisor and its log said:`,
      ...this.#server.said.slice(-20),
      ...lines.slice(-20),
    ].join('\n');
  }

  async stop(): Promise<void> {
    await this.#observer?.then((observer) => observer.end()).catch(() => undefined);
    await this.#server.stop();
  }
}
