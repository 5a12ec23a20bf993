// Everything a run is made of: a database with what stands before it, two nodes behind their
// proxies, a shop and its neighbour, the operator, and the list of what was done to them.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstCell } from '../../../src/core/cells.ts';
import { limits } from '../../../src/core/limits.ts';
import { clusterUrl } from '../../kit/citus.ts';
import { Given } from '../../kit/given.ts';
import { type Event, now, type SeenRecord } from '../history.ts';
import type { Settings } from '../settings.ts';
import { ChaosCluster } from './cluster.ts';
import { ChaosDatabase } from './database.ts';
import { startLone } from './lone.ts';
import { ServiceNode } from './node.ts';
import { type Credential, Operator } from './operator.ts';
import { ChaosPair } from './pair.ts';
import { ChaosPooler } from './pooler.ts';

const productCount = 6;
const crateCount = 2;
const goodsCount = 3;

export interface ChaosRecords {
  readonly merchant: string;
  /** Where it is. */
  readonly cell: string;
  readonly neighbour: string;
  readonly products: readonly string[];
  /** Products that only transfers move, between the locations. */
  readonly crates: readonly string[];
  /** Products that counts and transfers move, and of which something is put aside. */
  readonly goods: readonly string[];
  readonly locations: readonly string[];
  /** A location that is shut and opened again and again. */
  readonly booth: string;
  /** Of the neighbour, who has one of each. */
  readonly foreign: { readonly product: string; readonly location: string };
  readonly credentials: readonly (Credential & { readonly merchant: string })[];
  /** What is there before the first request: products and locations of both. */
  readonly given: readonly SeenRecord[];
  readonly steadyToken: string;
}

interface Parts {
  readonly settings: Settings;
  readonly database: ChaosDatabase;
  readonly pair: ChaosPair | undefined;
  readonly cluster: ChaosCluster | undefined;
  readonly pooler: ChaosPooler | undefined;
  readonly nodes: readonly ServiceNode[];
  readonly shop: ChaosRecords;
  readonly operator: Operator;
}

export class ChaosEnvironment {
  readonly settings: Settings;
  readonly database: ChaosDatabase;
  /** What runs the database, where a standby takes over. */
  readonly pair: ChaosPair | undefined;
  /** What runs the database, where cells are on several servers. */
  readonly cluster: ChaosCluster | undefined;
  /** Between the nodes and the database, where there is one. */
  readonly pooler: ChaosPooler | undefined;
  readonly nodes: readonly ServiceNode[];
  readonly shop: ChaosRecords;
  readonly operator: Operator;
  readonly events: Event[] = [];
  /** What must not happen, seen while it did. */
  readonly faults: string[] = [];
  /** Reads refused while connections were exhausted. */
  refusedReads = 0;
  readonly #directory: string;

  private constructor(directory: string, parts: Parts) {
    this.#directory = directory;
    this.settings = parts.settings;
    this.database = parts.database;
    this.pair = parts.pair;
    this.cluster = parts.cluster;
    this.pooler = parts.pooler;
    this.nodes = parts.nodes;
    this.shop = parts.shop;
    this.operator = parts.operator;
  }

  /**
   * @param diskSize in bytes.
   * @throws what went wrong, when nothing of it is left.
   */
  static async make(
    tell: (credential: Credential) => void,
    settings: Settings,
    diskSize?: number,
  ): Promise<ChaosEnvironment> {
    const directory = await mkdtemp(join(tmpdir(), 'tallybook-chaos-'));
    let database: ChaosDatabase | undefined;
    let pooler: ChaosPooler | undefined;
    let nodes: readonly ServiceNode[] = [];
    try {
      const pair = settings.failover ? await ChaosPair.start(directory) : undefined;
      const cluster = settings.citus ? await ChaosCluster.on(clusterUrl ?? '') : undefined;
      const server = pair ?? cluster ?? (await startLone(directory, diskSize));
      database = await ChaosDatabase.on(server, settings.cells);
      pooler = settings.pooler ? await ChaosPooler.before(server.entry) : undefined;
      const entry = pooler ?? server.entry;
      nodes = [0, 1].map((number) => new ServiceNode(number, entry, settings.workers));
      const shop = await createRecords(database);
      // Both have started or failed before anything is taken from them.
      const starts = await Promise.allSettled(nodes.map((node) => node.open()));
      for (const start of starts) if (start.status === 'rejected') throw start.reason;
      const shaken = shop.credentials.find(({ name }) => name === 'shaken');
      if (shaken === undefined) throw new Error('nobody to shake');
      const operator = new Operator(entry, shaken, tell);
      const parts = { settings, database, pair, cluster, pooler, nodes, shop, operator };
      return new ChaosEnvironment(directory, parts);
    } catch (error) {
      await release(directory, { database, pooler, nodes });
      throw error;
    }
  }

  note(what: string, more: Partial<Event> = {}): void {
    this.events.push({ at: now(), what, ...more });
  }

  fail(what: string): void {
    this.faults.push(what);
  }

  /** As an operator would, for an upgrade of the machine. */
  async restart(): Promise<void> {
    await Promise.all(
      this.nodes.map(async (node) => {
        const code = await node.end('SIGTERM');
        if (code !== 0) this.fail(`node ${node.number} ended with ${code} after SIGTERM`);
      }),
    );
    await this.database.restart();
    await this.pooler?.restart('SIGTERM');
    await this.database.whole();
    await Promise.all(this.nodes.map((node) => node.start()));
    this.note('restarted');
  }

  async close(): Promise<void> {
    await release(this.#directory, this);
    this.faults.push(...this.nodes.flatMap(({ deaths }) => deaths));
  }
}

/** The database is stopped, and its disks go away, whatever else cannot be ended. */
async function release(
  directory: string,
  {
    database,
    pooler,
    nodes,
  }: Pick<Parts, 'nodes' | 'pooler'> & { readonly database: ChaosDatabase | undefined },
): Promise<void> {
  try {
    await Promise.all(nodes.map((node) => node.close()));
    await pooler?.stop();
  } finally {
    await database?.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function createRecords(database: ChaosDatabase): Promise<ChaosRecords> {
  const { cells } = database;
  const [first = '', home = first, next = first] = cells;
  const [given, there] = [givenIn(database, home), givenIn(database, next)];
  const merchant = await given.merchant('Corner Shop', home);
  const neighbour = await there.merchant('Second Shop', next);
  const times = <Made>(count: number, make: () => Promise<Made>) =>
    Promise.all(Array.from({ length: count }, make));
  const products = await times(productCount, () => given.product(merchant));
  const crates = await times(crateCount, () => given.product(merchant));
  const goods = await times(goodsCount, () => given.product(merchant));
  const locations = await times(2, () => given.location(merchant));
  const booth = await given.location(merchant);
  const foreign = {
    product: await there.product(neighbour),
    location: await there.location(neighbour),
  };
  const owners = { steady: merchant, shaken: merchant, neighbour } as const;
  const credentials = await Promise.all(
    (['steady', 'shaken', 'neighbour'] as const).map(async (name) => {
      const { id, token } = await given.credential(owners[name]);
      return { name, id, token, generation: 0, merchant: owners[name] };
    }),
  );
  await liftLimits(database);
  const steadyToken = credentials[0]?.token ?? '';
  return {
    ...{
      merchant,
      cell: home,
      neighbour,
      products,
      crates,
      goods,
      locations,
      booth,
      foreign,
      credentials,
      steadyToken,
    },
    given: await database.query<SeenRecord & Record<string, unknown>>(
      `select id as record, name, version from products
       union all select id, name, version from locations`,
    ),
  };
}

/** Makes rows of merchants of this cell. */
function givenIn(database: ChaosDatabase, cell: string): Given {
  return new Given({
    sql: (text, values) => database.queryIn(cell, text, values),
  });
}

/** Limits have tests of their own; here they would only thin out what is to be seen. */
async function liftLimits(database: ChaosDatabase): Promise<void> {
  const most = [limits.requestsPerMinuteMax, limits.requestBurstMax];
  for (const table of ['credentials', 'merchants']) {
    const lift = `update ${table} set requests_per_minute = $1, request_burst = $2`;
    await database.queryIn(firstCell, lift, most);
  }
}
