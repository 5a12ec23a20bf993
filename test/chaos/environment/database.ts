// The database of a run, and what a nemesis needs to reach the processes of its server: of the
// primary, where there is a standby, and of each of a cluster.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pathOf } from '../../../src/database/cells.ts';
import { pathAtOwner } from '../../../src/database/citus.ts';
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

/** A server by itself. */
export interface OneServer {
  readonly ownerUrl: string;
  /** Its first process. */
  readonly postmaster: number;
}

/** What a server has logged since the run began. */
export interface LogFile {
  readonly path: string;
  /** The byte that it begins at. */
  readonly from: number;
}

/** What runs the database: the URLs lead to the server itself, whatever stands before it. */
export interface ChaosServer extends Urls {
  /** What the service is to use. */
  readonly entry: Urls;
  /** That which commits; of a cluster all of them, its coordinator first. */
  readonly servers: readonly OneServer[];
  /** Where it lives, when that can be full. */
  readonly disk: SmallDisk | undefined;
  logs(): readonly LogFile[];
  /** What its supervisor said. */
  readonly said: readonly string[];
  /** Of a cluster: the owner's URL of the server that has a cell. */
  placeOf?(cell: string): Promise<string | undefined>;
  /** Whether nothing of it is missing. */
  isWhole(): Promise<boolean>;
  /** As an operator would. Resolves before it is back. */
  restart(): Promise<void>;
  /** Its disks go away whatever else cannot be ended. */
  stop(): Promise<void>;
}

export class ChaosDatabase {
  readonly #server: ChaosServer;
  /** One at each server, kept open: who looks for a short moment cannot connect first. */
  readonly #observers = new Map<number, Promise<pg.Client>>();
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

  get disk(): SmallDisk | undefined {
    return this.#server.disk;
  }

  get servers(): readonly OneServer[] {
    return this.#server.servers;
  }

  /** In each cell by itself, as the owner: whoever judges need not know where merchants are. */
  async query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    const rows: Row[] = [];
    for (const cell of this.cells) rows.push(...(await this.queryIn<Row>(cell, text, values)));
    return rows;
  }

  /** About one cell. */
  queryIn<Row extends pg.QueryResultRow>(
    cell: string,
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    return this.#query(this.ownerUrl, [`set search_path = ${pathOf(cell)}`, text], values);
  }

  /** About one cell, at the server that has it: on a cluster past Citus, as the service is. */
  async queryAt<Row extends pg.QueryResultRow>(cell: string, text: string): Promise<Row[]> {
    const place = await this.#server.placeOf?.(cell);
    if (place === undefined) return this.queryIn(cell, text);
    const path = `select show_cell('${cell}'); set search_path = ${pathAtOwner(cell)}`;
    return this.#query(place, [path, text]);
  }

  /** At each server, about the server. */
  async queryServers<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
    const all = this.servers.map(({ ownerUrl }) => this.#query<Row>(ownerUrl, ['', text]));
    return (await Promise.all(all)).flat();
  }

  /**
   * On a connection of its own: the last one may have died with a server. One that is down is
   * waited for.
   */
  async #query<Row extends pg.QueryResultRow>(
    url: string,
    [before, text]: readonly [string, string],
    values: unknown[] = [],
  ): Promise<Row[]> {
    const client = await connect(url, backWithinMs);
    try {
      await client.query(before);
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** None of a server that is down: nobody waits for it here. */
  async busyBackends(node: string): Promise<number[]> {
    const all = this.servers.map(async ({ ownerUrl }, index) => {
      try {
        const observer = this.#observers.get(index) ?? connect(ownerUrl, 0);
        this.#observers.set(index, observer);
        const { rows } = await (await observer).query<{ pid: number }>(busyBackends, [node]);
        return rows.map(({ pid }) => pid);
      } catch {
        this.#observers.delete(index);
        return [];
      }
    });
    return (await Promise.all(all)).flat();
  }

  /** @returns whether a server crashed during the work: all its connections ended. */
  async crashes(work: () => Promise<unknown>): Promise<boolean> {
    const all = this.servers.map(({ ownerUrl }) => connect(ownerUrl, backWithinMs));
    const clients = await Promise.all(all);
    const gone = clients.map(
      (client) => new Promise<boolean>((resolve) => client.once('end', () => resolve(true))),
    );
    await work();
    const isGone = await Promise.race([...gone, sleep(crashShowsWithinMs, false)]);
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
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
    for (const file of this.#server.logs()) {
      try {
        this.#log.set(file.path, factsOf(textOf(file)));
      } catch {
        // Removed meanwhile, for its age: it was read before.
      }
    }
  }

  restart(): Promise<void> {
    return this.#server.restart();
  }

  /** Resolves when it answers. A connection to a server that is dying may be made, and then die. */
  async ready(): Promise<void> {
    const deadline = Date.now() + backWithinMs;
    for (;;) {
      try {
        await this.queryServers('select 1');
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
    const files = [...this.#server.logs()].sort((a, b) => (a.path < b.path ? -1 : 1));
    const newest = files.at(-1);
    const lines = newest === undefined ? [] : textOf(newest).trimEnd().split('\n');
    return [
      `the database was not back after ${backWithinMs} ms; its supervisor and its log said:`,
      ...this.#server.said.slice(-20),
      ...lines.slice(-20),
    ].join('\n');
  }

  async stop(): Promise<void> {
    for (const observer of this.#observers.values()) {
      await observer.then((client) => client.end()).catch(() => undefined);
    }
    await this.#server.stop();
  }
}

async function connect(connectionString: string, withinMs: number): Promise<pg.Client> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const client = new pg.Client({
      connectionString,
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

/** The first process of a server and all its children. */
export function processesOf({ postmaster }: OneServer): number[] {
  return [postmaster, ...childrenOf(postmaster)];
}

/** What is in the folders that a server logs to. */
export function filesIn(folders: readonly string[]): LogFile[] {
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder).map((name) => ({ path: join(folder, name), from: 0 })),
    );
}

function textOf({ path, from }: LogFile): string {
  return readFileSync(path).subarray(from).toString('utf8');
}
