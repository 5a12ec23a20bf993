// Connections to the private server, over its Unix socket: the URLs for the pools, and the monitor,
// one idle connection per process. It ends at once when the server ends, also a server that another
// process started, and it shows other processes that this one uses the server.

import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type QueryConfig } from 'pg';
import { type Cluster, OWNER_ROLE } from './cluster.ts';

export interface Monitor {
  readonly client: Client;
  /** Its listener is there before the connection, so that an early end is not missed. */
  readonly ended: Promise<void>;
}

/** The name of a monitor in pg_stat_activity. */
const MONITOR_NAME = 'tallybook monitor';
const DATABASE = 'tallybook';
const SERVICE_ROLE = 'tallybook_service';
/** Otherwise a frozen server is waited for without end. */
const CONNECT_LIMIT_MS = 10_000;
/** Used at the end of a process, after the 8.5 s that its requests may take. */
const COUNT_LIMIT_MS = 3_000;
/** The server closes a connection a little later than its client. */
const CLOSING_LIMIT_MS = 2_000;

export function ownerUrl({ passwords, socketDirectory }: Cluster): string {
  return url(OWNER_ROLE, passwords.owner, socketDirectory);
}

export function serviceUrl({ passwords, socketDirectory }: Cluster): string {
  return url(SERVICE_ROLE, passwords.service, socketDirectory);
}

/** The host parameter wins over the authority, and sslmode over PGSSLMODE in our environment. */
function url(role: string, password: string, socketDirectory: string): string {
  const host = encodeURIComponent(socketDirectory);
  return `postgres://${role}:${password}@localhost:5432/${DATABASE}?host=${host}&sslmode=disable`;
}

/**
 * Makes the database of Tallybook when it is missing. The monitor itself is connected to the
 * database `postgres`, because PostgreSQL cannot drop or copy `tallybook` while a connection to it
 * is open.
 */
export async function connectMonitor(cluster: Cluster): Promise<Monitor> {
  const client = new Client({
    host: cluster.socketDirectory,
    port: 5432,
    user: OWNER_ROLE,
    password: cluster.passwords.owner,
    database: 'postgres',
    ssl: false,
    application_name: MONITOR_NAME,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
  });
  // Without a listener, the end of the server would end this process. "end" is what counts.
  client.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => {
    client.once('end', resolve);
  });
  try {
    await client.connect();
    await makeDatabase(client);
    return { client, ended };
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
}

async function makeDatabase(client: Client): Promise<void> {
  const found = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
  if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
}

/** How many other connections there are, and how many of them are monitors. */
export async function otherClients(client: Client): Promise<{ monitors: number; all: number }> {
  // Known to the driver for a single query, but not to its types.
  const query: QueryConfig & { query_timeout: number } = {
    text: `select count(*)::int as "all",
                  count(*) filter (where application_name = $1)::int as monitors
             from pg_stat_activity
            where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    values: [MONITOR_NAME],
    query_timeout: COUNT_LIMIT_MS,
  };
  const { rows } = await client.query<{ monitors: number; all: number }>(query);
  return rows[0] ?? { monitors: 0, all: 0 };
}

/** Other connections that stay. Monitors stay; the others may be closing now. */
export async function remainingClients(client: Client): Promise<number> {
  const deadline = Date.now() + CLOSING_LIMIT_MS;
  for (;;) {
    const { monitors, all } = await otherClients(client);
    if (all === 0 || monitors > 0 || Date.now() > deadline) return all;
    await sleep(20);
  }
}

/** The server did not answer in COUNT_LIMIT_MS. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}
