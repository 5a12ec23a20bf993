// Connections to the private server, over its Unix socket. Every client has a listener for
// errors: without one, a server that dies takes this process along.

import { Client } from 'pg';
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
    connectionTimeoutMillis: 10_000,
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

export async function otherClients(client: Client): Promise<{ keepers: number; all: number }> {
  const { rows } = await client.query<{ keepers: number; all: number }>(
    `select count(*)::int as "all",
            count(*) filter (where application_name = $1)::int as keepers
       from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    [KEEPER_NAME],
  );
  return rows[0] ?? { keepers: 0, all: 0 };
}
