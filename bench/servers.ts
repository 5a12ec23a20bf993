// What a run starts, and ends however it ends: PostgreSQL with the settings it has in service, the
// service of a checkout as an operator runs it, and the bare servers. All of it is on loopback and
// in a temporary directory.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  truncateSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import pg from 'pg';
import { startPrivateServer } from '../src/postgres/server.ts';
import { runTallybook, thisCheckout } from '../test/kit/program.ts';
import { parentOf } from '../test/kit/usage.ts';
import type { BareTask } from './bare.ts';

const startLimitMs = 30_000;

/** What is to be ended, the last first, and all of it only once. */
export class Ending {
  readonly #stops: (() => Promise<unknown>)[] = [];
  #ending: Promise<void> | undefined;

  add(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** Waits for a start, and ends also what is only about to be there. */
  started<Started extends { stop(): Promise<void> }>(starting: Promise<Started>): Promise<Started> {
    const ignore = () => undefined;
    this.add(() => starting.then((started) => started.stop(), ignore));
    return starting;
  }

  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) {
      await stop().catch((error: unknown) => console.error(`could not clean up: ${error}`));
    }
  }
}

/** A process that is gone must leave nothing behind: whatever is waited for fails then. */
export function endOnSignal(ending: Ending): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => void ending.end().then(() => process.exit(130)));
  }
}

/** Ends what a run has started, however it ends. */
export async function runToEnd(ending: Ending, run: () => Promise<void>): Promise<void> {
  endOnSignal(ending);
  try {
    await run();
  } finally {
    await ending.end();
  }
}

export async function temporaryDirectory(ending: Ending): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-bench-'));
  ending.add(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export interface BenchServer {
  /** The process that all other processes of the server are children of. */
  readonly postmaster: number;
  /** A database of its own, as a checkout's migrations make it. */
  database(checkout: string, name: string): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

export interface BenchDatabase {
  readonly owner: pg.Client;
  readonly ownerUrl: string;
  /** As the role of the service. */
  readonly serviceUrl: string;
  readonly checkout: string;
}

export async function startPostgres(directory: string): Promise<BenchServer> {
  const dataDirectory = join(directory, 'data');
  mkdirSync(dataDirectory);
  const log = () => undefined;
  const server = await startPrivateServer({ dataDirectory, stopWithParent: true, log });
  const clients: pg.Client[] = [];
  const connect = async (url: string) => {
    const client = new pg.Client({ connectionString: url, application_name: 'bench' });
    client.on('error', () => undefined);
    clients.push(client);
    await client.connect();
    return client;
  };
  const stop = async () => {
    await Promise.allSettled(clients.map((client) => client.end()));
    await server.stop();
  };
  const main = await connect(server.ownerUrl);
  const { rows } = await main.query<{ pid: number }>('select pg_backend_pid() as pid');
  return {
    postmaster: parentOf(rows[0]?.pid ?? 0),
    stop,
    database: async (checkout, name) => {
      await main.query(`create database ${name} template template0`);
      const [ownerUrl = '', serviceUrl = ''] = [server.ownerUrl, server.serviceUrl].map((text) => {
        const url = new URL(text);
        url.pathname = `/${name}`;
        return url.href;
      });
      const env = { TALLYBOOK_MIGRATE_URL: ownerUrl };
      await runTallybook(['migrate', '--database-url', serviceUrl], { checkout, env });
      return { owner: await connect(ownerUrl), ownerUrl, serviceUrl, checkout };
    },
  };
}

/** The settings that figures depend on, as the server runs with them. */
export async function settingsOf(owner: pg.Client): Promise<string> {
  const { rows } = await owner.query<{ text: string }>(
    `select string_agg(name || ' = ' || current_setting(name), ', ' order by name) as text
     from pg_settings where name = any ($1)`,
    [
      [
        ...['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums'],
        ...['shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'wal_compression', 'jit'],
        ...['effective_cache_size', 'random_page_cost', 'commit_delay', 'wal_sync_method'],
      ],
    ],
  );
  return rows[0]?.text ?? '';
}

/** A process that answers HTTP. */
export interface HttpProcess {
  readonly pid: number;
  readonly origin: string;
  /** What its log holds since the last look, but for the lines of requests. */
  log(): string;
  stop(): Promise<void>;
}

interface ServiceOptions {
  readonly directory: string;
  readonly databaseUrl: string;
  readonly checkout?: string;
  /** Otherwise any that is free. */
  readonly port?: number;
  readonly nodeFlags?: readonly string[];
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The shell becomes the service, so the process is its own. What it leaves behind waits at the
 * pipe on descriptor 3: a line lets it go; without one this process is gone, however it went, and
 * the service shall go as well.
 */
const launchWatched = `
(read -r line <&3 || kill -TERM $$) >/dev/null 2>&1 &
exec "$@" 3<&-`;

/** @throws Error with the service's own words when it does not start. */
export async function startService(options: ServiceOptions): Promise<HttpProcess> {
  const {
    directory,
    databaseUrl,
    checkout = thisCheckout,
    port = 0,
    nodeFlags = [],
    env = {},
  } = options;
  const serve = ['serve', '--json', '--port', String(port), '--database-url', databaseUrl];
  // As an operator does: the first line of the program says how Node is started.
  const program = join(checkout, 'bin/tallybook.js');
  const node = nodeFlags.length === 0 ? [program] : [process.execPath, ...nodeFlags, program];
  const log = new RequestLog(join(directory, `service-${Date.now()}.log`));
  const child = spawn('/bin/sh', ['-c', launchWatched, 'sh', ...node, ...serve], {
    env: {
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
      TALLYBOOK_SECRET: 'a benchmark has no secrets: all is thrown away',
      ...env,
    },
    stdio: ['ignore', 'pipe', log.descriptor, 'pipe'],
  });
  const watcher = child.stdio[3] as Writable;
  child.once('exit', () => watcher.end('gone\n'));
  const greeting = new Promise<string>((resolve) => {
    let output = '';
    child.stdout?.on('data', (chunk) => {
      output += String(chunk);
      if (output.endsWith('\n')) resolve((JSON.parse(output) as { base_url: string }).base_url);
    });
  });
  return running(child, log, greeting);
}

/** Starts `bare.ts` in a process of its own. */
export async function startBare(directory: string, task: BareTask): Promise<HttpProcess> {
  const log = new RequestLog(join(directory, `${task.kind}.log`));
  const child = fork(new URL('./bare.ts', import.meta.url), {
    stdio: ['ignore', 'ignore', log.descriptor, 'ipc'],
  });
  child.send(task);
  const greeting = once(child, 'message').then(([origin]) => String(origin));
  return running(child, log, greeting);
}

async function running(
  child: ChildProcess,
  log: RequestLog,
  greeting: Promise<string>,
): Promise<HttpProcess> {
  const stop = async () => {
    const patience = setTimeout(() => child.kill('SIGKILL'), startLimitMs);
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }
    clearTimeout(patience);
    log.close();
  };
  const ended = once(child, 'exit', { signal: AbortSignal.timeout(startLimitMs) });
  const failed = ended.then(([code]) => {
    throw new Error(`it ended with ${code}`);
  });
  try {
    const { origin } = new URL(await Promise.race([greeting, failed]));
    failed.catch(() => undefined);
    return { pid: child.pid ?? 0, origin, log: () => log.rest(), stop };
  } catch (error) {
    const words = log.rest();
    await stop();
    throw new Error(`the server did not start: ${words}`, { cause: error });
  }
}

/** A file on the same disk as everything else, as in service. It is emptied when it is read. */
class RequestLog {
  readonly descriptor: number;
  readonly #path: string;
  #isOpen = true;

  constructor(path: string) {
    this.#path = path;
    // Appending, so that what comes after it was emptied begins at its beginning.
    this.descriptor = openSync(path, 'a');
  }

  rest(): string {
    const lines = readFileSync(this.#path, 'utf8').split('\n');
    truncateSync(this.#path);
    const kept = lines.filter(
      (line) => line !== '' && !/^\{"level":(?:[123]0|"(?:trace|debug|info)"),/.test(line),
    );
    return kept.join('\n').slice(-4_000);
  }

  close(): void {
    if (this.#isOpen) closeSync(this.descriptor);
    this.#isOpen = false;
  }
}

const packages: Readonly<Record<string, string>> = { wrk: 'wrk', pgbench: 'postgresql-contrib' };

/** @throws Error that says how to get it. */
export function requireProgram(name: string): string {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = folders.map((folder) => join(folder, name)).find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(
    `${name} is not on the PATH: install it, for one with apt install ${packages[name]}`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
