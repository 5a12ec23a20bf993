// Databases on a Citus cluster, when TALLYBOOK_TEST_CITUS_URL names one: the URL of a superuser at
// its coordinator. Its workers are those of that URL's database.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import {
  findPlacement,
  listServers,
  type Placement,
  type ServerRow,
  urlAt,
} from '../../src/database/citus.ts';
import { sqlAt, withClient } from './sql.ts';

export const clusterUrl = process.env.TALLYBOOK_TEST_CITUS_URL;

/** Whether a URL leads to the cluster's coordinator itself. */
export const isOnCluster = (url: string): boolean =>
  clusterUrl !== undefined && new URL(url).host === new URL(clusterUrl).host;

/** The same role at the same server. */
export const inDatabase = (url: string, name: string) => new URL(`/${name}`, url).href;

type Server = Pick<ServerRow, 'host' | 'port'>;

/** The coordinator first. */
const serversOf = (cluster: string): Promise<Server[]> =>
  sqlAt<ServerRow>(cluster, listServers.text);

/** A database at each server that has it. */
export async function serverUrls(ownerUrl: string): Promise<string[]> {
  if (clusterUrl === undefined) return [ownerUrl];
  return (await serversOf(ownerUrl)).map((server) => urlAt(ownerUrl, server));
}

/** A database on all servers, which know each other. */
export async function createOnCluster(cluster: string, name: string): Promise<void> {
  const servers = await serversOf(cluster);
  const urls = servers.map((server) => urlAt(cluster, server));
  await Promise.all(
    urls.map(async (url) => {
      // Each has its own: nothing of a database is passed on before they know each other.
      const own = 'set citus.enable_create_database_propagation = off';
      await withClient(url, async (client) => {
        await client.query(own);
        await client.query(`create database ${name}`);
      });
      await sqlAt(inDatabase(url, name), 'create extension citus');
    }),
  );
  const [coordinator, ...workers] = servers;
  const at = ({ host, port }: Server) => `'${host}', ${port}`;
  await withClient(inDatabase(cluster, name), async (client) => {
    if (coordinator) await client.query(`select citus_set_coordinator_host(${at(coordinator)})`);
    for (const worker of workers) await client.query(`select citus_add_node(${at(worker)})`);
  });
}

/** The worker that has a cell, and one that has not. */
export async function placesOf(
  ownerUrl: string,
  cell: string,
): Promise<{ here: ServerRow; there: ServerRow }> {
  const servers = await sqlAt<ServerRow>(ownerUrl, listServers.text);
  const workers = servers.filter((server) => !server.is_coordinator);
  const here = workers.find(({ cells }) => cells.includes(cell));
  const there = workers.find((server) => server !== here);
  if (here === undefined || there === undefined) throw new Error(`no worker has ${cell}`);
  return { here, there };
}

/**
 * @throws Error when what every server has is not the same on all: a statement that changes it runs
 * on each.
 */
export async function dropOnCluster(cluster: string, name: string): Promise<void> {
  await withClient(inDatabase(cluster, name), requireSame);
  const servers = await serversOf(cluster);
  // One after the other: a drop waits 5 s for the server's maintenance daemon, and where the daemon
  // waits for another server's database that is dropped, too, it does not end before that is.
  for (const server of servers) {
    await sqlAt(urlAt(cluster, server), `drop database ${name} with (force)`);
  }
}

async function requireSame(client: pg.Client): Promise<void> {
  const { rows: tables } = await client.query<{ name: string; part: string }>(
    `select p.logicalrelid::text as name, shard_name(p.logicalrelid, h.shardid) as part
     from pg_dist_partition p join pg_dist_shard h on h.logicalrelid = p.logicalrelid
     where p.repmodel = 't'`,
  );
  for (const { name, part } of tables) {
    const rowsOf = `select string_agg(t::text, ' ' order by t::text) from ${part} t`;
    // What was prepared when a server was killed is committed some seconds later.
    const isSame = async () => {
      const { rows } = await client.query<{ result: string }>(
        'select result from run_command_on_all_nodes($1)',
        [rowsOf],
      );
      return new Set(rows.map(({ result }) => result)).size === 1;
    };
    for (let tries = 0; !(await isSame()); tries += 1) {
      if (tries === 20) throw new Error(`the servers have not the same ${name}`);
      await sleep(500);
    }
  }
}

/** A database at the server that a cell is on; undefined before there is the cell. */
export async function ownerOf(url: string, cell: string): Promise<string | undefined> {
  const placed: Placement[] = await sqlAt(url, findPlacement.text);
  const found = placed.find((one) => one.cell === cell);
  return found && urlAt(url, found);
}

export const isDeadlock = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '40P01';

/** The server has no such table, or Citus leaves this to the coordinator. */
export const isForCoordinator = (error: unknown): boolean =>
  error instanceof pg.DatabaseError &&
  (error.code === '42P01' || /not allowed on this node|on the coordinator/.test(error.message));
