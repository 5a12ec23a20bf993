// Databases on a Citus cluster, when TALLYBOOK_TEST_CITUS_URL names one: the URL of a superuser at
// its coordinator. Its workers are those of that URL's database.

import pg from 'pg';
import { listServers, type ServerRow, urlAt } from '../../src/database/citus.ts';

export const clusterUrl = process.env.TALLYBOOK_TEST_CITUS_URL;

const inDatabase = (url: string, name: string) => new URL(`/${name}`, url).href;

/** SQL as the superuser, on one server. */
async function sqlAt(url: string, ...texts: readonly string[]): Promise<pg.QueryResult['rows']> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    let rows: pg.QueryResult['rows'] = [];
    for (const text of texts) rows = (await client.query(text)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

type Server = Pick<ServerRow, 'host' | 'port'>;

/** The coordinator first. */
const serversOf = (cluster: string): Promise<Server[]> => sqlAt(cluster, listServers.text);

/** A database on all servers, which know each other. */
export async function createOnCluster(cluster: string, name: string): Promise<void> {
  const servers = await serversOf(cluster);
  const urls = servers.map((server) => urlAt(cluster, server));
  await Promise.all(
    urls.map(async (url) => {
      // Each has its own: nothing of a database is passed on before they know each other.
      const own = 'set citus.enable_create_database_propagation = off';
      await sqlAt(url, own, `create database ${name}`);
      await sqlAt(inDatabase(url, name), 'create extension citus');
    }),
  );
  const [coordinator, ...workers] = servers;
  const at = ({ host, port }: Server) => `'${host}', ${port}`;
  await sqlAt(
    inDatabase(cluster, name),
    ...(coordinator ? [`select citus_set_coordinator_host(${at(coordinator)})`] : []),
    ...workers.map((worker) => `select citus_add_node(${at(worker)})`),
  );
}

export async function dropOnCluster(cluster: string, name: string): Promise<void> {
  const servers = await serversOf(cluster);
  const urls = servers.map((server) => urlAt(cluster, server));
  await Promise.all(urls.map((url) => sqlAt(url, `drop database ${name} with (force)`)));
}
