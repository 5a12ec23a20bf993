// What is done to a cluster of Citus as a whole: its servers are judged, and cells are moved.

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Reader } from '../core/statement.ts';
import { addressOf, listServers, type ServerRow, urlAt } from './citus.ts';
import { Client } from './client.ts';
import { patienceOfWork, reasonOf } from './find.ts';
import { faultsOfClusterServer } from './safety.ts';

/**
 * Judges every server of the cluster, because each commits what is acknowledged.
 * @returns why servers could not be asked: what is down now does not keep the others from serving.
 * @throws Error naming the server and the setting of every fault.
 */
export async function assertServersSafe(reader: Reader, serviceUrl: string): Promise<string[]> {
  const judged = (await reader.query(listServers)).map(async (server) => {
    const where = addressOf(server);
    try {
      const faults = await faultsOfClusterServer(urlAt(serviceUrl, server));
      return { faults: faults.map((fault) => `on ${where} ${fault}`), unknown: [] };
    } catch (error) {
      return { faults: [], unknown: [`${where} cannot be asked: ${reasonOf(error)}`] };
    }
  });
  const all = await Promise.all(judged);
  const faults = all.flatMap((one) => one.faults);
  if (faults.length > 0) throw new Error(`this cluster is not safe to use: ${faults.join('; ')}`);
  return all.flatMap(({ unknown }) => unknown);
}

/**
 * Moves a cell to another server while it is used. Its writes wait at the end, until the new server
 * has all.
 * @param record called once nothing speaks against it.
 * @throws Error when there is no such cell or server.
 */
export async function moveCell(
  ownerUrl: string,
  cell: string,
  server: string,
  record: (from: string) => Promise<void>,
): Promise<void> {
  const client = new Client({ connectionString: ownerUrl, ...patienceOfWork });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<ServerRow>(listServers.text);
    const target = rows.find((one) => addressOf(one) === server);
    const source = rows.find(({ cells }) => cells.includes(cell));
    if (target === undefined) {
      const names = rows.map(addressOf).join(', ');
      throw new Error(`there is no server ${server}, but ${names}`);
    }
    if (source === undefined) throw new Error(`there is no cell ${cell} on any server`);
    if (source === target) throw new Error(`${cell} is on ${server} already`);
    await record(addressOf(source));
    await move(client, cell, target);
  } finally {
    await client.end();
  }
}

/**
 * What moves before this one have left on a server. Citus drops tables in a second, and takes
 * nothing there before. The role of a move that was killed may have the name that this one chose,
 * because roles are the server's and each database counts its moves by itself: the next try has
 * another name.
 */
const leftOver =
  /leftover from the previous move could not be cleaned|role "citus_shard_move_\w+" already exists/;
const triesMax = 20;

async function move(client: pg.Client, cell: string, { host, port }: ServerRow): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      // Streams what is written meanwhile. What has no key could not be, and every table has one.
      const values = [cell, host, port];
      await client.query("select citus_schema_move($1, $2, $3, 'force_logical')", values);
      return;
    } catch (error) {
      if (tries === triesMax || !leftOver.test(reasonOf(error))) throw error;
    }
    await sleep(1_000);
  }
}
