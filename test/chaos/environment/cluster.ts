// The servers of a run on Citus, in a database of its own on the cluster that
// TALLYBOOK_TEST_CITUS_URL names: a coordinator, and two workers that cells move between.

import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf, type ServerRow } from '../../../src/database/citus.ts';
import { moveCell } from '../../../src/database/cluster.ts';
import { createOnCluster, dropOnCluster, inDatabase, ownerOf, placesOf } from '../../kit/citus.ts';
import { ClusterServer, nowhere } from '../../kit/citus-servers.ts';
import { sqlAt } from '../../kit/sql.ts';
import type { ChaosServer, LogFile } from './database.ts';

/** Every server may be killed meanwhile, more than once. */
const movedWithinMs = 180_000;

/** What Citus has made for moves on a server, and would meet again there. */
const leftOver = `
  select 'subscription ' || subname as what from pg_subscription
  union all select 'publication ' || pubname from pg_publication
  union all select 'slot ' || slot_name from pg_replication_slots
    where database = current_database()
  union all select 'role ' || rolname from pg_roles where rolname like 'citus_shard_move_%'
  union all select 'resource ' || object_name from pg_dist_cleanup`;
/** Its daemon looks every 15 s. */
const removedWithinMs = 60_000;

export class ChaosCluster implements ChaosServer {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  readonly servers: readonly ClusterServer[];
  readonly disk = undefined;
  readonly said: readonly string[] = [];
  /** While a cell moves: the servers that have to do with it. */
  moving: readonly ClusterServer[] | undefined;
  readonly #clusterUrl: string;
  /** Where the logs of the servers were when the run began. */
  readonly #logs: readonly LogFile[];

  private constructor(clusterUrl: string, ownerUrl: string, servers: readonly ClusterServer[]) {
    this.#clusterUrl = clusterUrl;
    this.ownerUrl = ownerUrl;
    const service = new URL(ownerUrl);
    service.username = 'tallybook_service';
    service.password = 'of-no-value';
    this.serviceUrl = service.toString();
    this.servers = servers;
    this.#logs = servers.map(({ log }) => ({ path: log, from: statSync(log).size }));
  }

  static async on(clusterUrl: string): Promise<ChaosCluster> {
    const name = `chaos_${randomBytes(8).toString('hex')}`;
    await createOnCluster(clusterUrl, name);
    const ownerUrl = inDatabase(clusterUrl, name);
    const servers = await ClusterServer.all(ownerUrl);
    if (servers.some(({ log }) => log === nowhere)) {
      await dropOnCluster(clusterUrl, name);
      throw new Error('a run reads what servers log: start those of the cluster by `pg_ctl -l`');
    }
    return new ChaosCluster(clusterUrl, ownerUrl, servers);
  }

  get entry(): this {
    return this;
  }

  get coordinator(): ClusterServer {
    return this.#find(({ isCoordinator }) => isCoordinator);
  }

  get workers(): readonly ClusterServer[] {
    return this.servers.filter(({ isCoordinator }) => !isCoordinator);
  }

  logs(): readonly LogFile[] {
    return this.#logs;
  }

  placeOf(cell: string): Promise<string | undefined> {
    return ownerOf(this.ownerUrl, cell);
  }

  async isWhole(): Promise<boolean> {
    return true;
  }

  async restart(): Promise<void> {
    for (const server of this.servers) await server.restart();
  }

  /**
   * Moves a cell to the other worker, as often as it takes.
   * @returns how often it failed before.
   * @throws what kept it from moving, when nothing helps.
   */
  async move(cell: string): Promise<number> {
    const deadline = Date.now() + movedWithinMs;
    let target: string | undefined;
    for (let failures = 0; ; failures += 1) {
      try {
        const { here, there } = await placesOf(this.ownerUrl, cell);
        target ??= addressOf(there);
        // What failed may have been nothing but the answer.
        if (addressOf(here) !== target) await this.#move(cell, [here, there]);
        return failures;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await sleep(500);
      }
    }
  }

  async #move(cell: string, [from, to]: readonly [ServerRow, ServerRow]): Promise<void> {
    const serverOf = (row: ServerRow) => this.#find(({ address }) => address === addressOf(row));
    this.moving = [this.coordinator, serverOf(from), serverOf(to)];
    try {
      await moveCell(this.ownerUrl, cell, addressOf(to), async () => undefined);
    } finally {
      this.moving = undefined;
    }
  }

  /** What moves have left behind, and Citus has not removed in its time. */
  async leftBehind(): Promise<string[]> {
    const deadline = Date.now() + removedWithinMs;
    for (;;) {
      const asked = this.servers.map(async ({ address, ownerUrl }) => {
        const rows = await sqlAt<{ what: string }>(ownerUrl, leftOver);
        return rows.map(({ what }) => `${what} on ${address}`);
      });
      const found = (await Promise.all(asked)).flat();
      if (found.length === 0 || Date.now() > deadline) return found;
      await sleep(500);
    }
  }

  async stop(): Promise<void> {
    for (const server of this.servers) await server.start();
    await dropOnCluster(this.#clusterUrl, new URL(this.ownerUrl).pathname.slice(1));
  }

  #find(isMeant: (server: ClusterServer) => boolean): ClusterServer {
    const found = this.servers.find(isMeant);
    if (found === undefined) throw new Error('the cluster has no such server');
    return found;
  }
}
