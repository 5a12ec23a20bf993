// Connections to the private server, over its Unix socket. Every client has a listener for
// errors: without one, a server that dies takes this process along.

import { Client, type QueryConfig } from 'pg';
import { type Cluster, OWNER_ROLE } from './cluster.ts';

export interface Keeper {
  readonly client: Client;
  /** Listened for from the first moment, so that an early end is not missed. */
  readonly ended: Promise<void>;
}

/** The name under which a process that uses the server shows in pg_stat_activity. */
const KEEPER_NAME = 'tallybook keeper';
const DATABASE = 'tallybook';
const SERVICE_ROLE = 'tallybook_service';
/** A frozen server would be waited for without end. */
const CONNECT_LIMIT_MS = 10_000;
/** Asked at the end of a process, behind the 8.5 s that its requests may take. */
const COUNT_LIMIT_MS = 3_000;

export function ownerUrl(cluster: Cluster): string {
  return url(OWNER_ROLE, cluster.passwords.owner, cluster.socketDirectory);
}

export function serviceUrl(cluster: Cluster): string {
  return url(SERVICE_ROLE, cluster.passwords.service, cluster.socketDirectory);
}

/** The host parameter wins over the authority, and sslmode over PGSSLMODE in our environment. */
function url(role: string, password: string, socketDirectory: string): string {
  const host = encodeURIComponent(socketDirectory);
  return `postgres://${role}:${password}@localhost:5432/${DATABASE}?host=${host}&sslmode=disable`;
}

/**
 * Connected to the database `postgres`, since others may want to drop `tallybook` or copy it,
 * which PostgreSQL allows only while nobody is connected to it.
 */
export async function connectKeeper(cluster: Cluster): Promise<Keeper> {
  const client = new Client({
    host: cluster.socketDirectory,
    port: 5432,
    user: OWNER_ROLE,
    password: cluster.passwords.owner,
    database: 'postgres',
    ssl: false,
    application_name: KEEPER_NAME,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
  });
  client.on('error', () => {
    // The end of the connection is what counts, and "end" tells it.
  });
  const ended = new Promise<void>((resolve) => {
    client.once('end', resolve);
  });
  try {
    await client.connect();
    return { client, ended };
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
}

export async function makeDatabase(client: Client): Promise<void> {
  const found = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
  if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
}

/** @throws Error when the server does not say so in time: see `isSilence`. */
export async function otherClients(client: Client): Promise<{ keepers: number; all: number }> {
  // Known to the driver for a single query, but not to its types.
  const query: QueryConfig & { query_timeout: number } = {
    text: `select count(*)::int as "all",
                  count(*) filter (where application_name = $1)::int as keepers
             from pg_stat_activity
            where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    values: [KEEPER_NAME],
    query_timeout: COUNT_LIMIT_MS,
  };
  const { rows } = await client.query<{ keepers: number; all: number }>(query);
  return rows[0] ?? { keepers: 0, all: 0 };
}
