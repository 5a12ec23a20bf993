// `npm run bench-citus`: what a cell on a Citus cluster costs beside a database of one of its
// servers without Citus, in alternation; how long writes wait while a large cell moves, and what
// other cells notice when a server dies. TALLYBOOK_TEST_CITUS_URL names the cluster, whose servers
// are processes of this machine. What a run adds to it is removed.

import { randomUUID } from 'node:crypto';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf, pathAtOwner, type ServerRow, urlAt } from '../src/database/citus.ts';
import { moveCell } from '../src/database/cluster.ts';
import { addCells } from '../test/kit/cells.ts';
import { clusterUrl, createOnCluster, dropOnCluster, placesOf } from '../test/kit/citus.ts';
import { ClusterServer } from '../test/kit/citus-servers.ts';
import {
  addMerchants,
  addProducts,
  type ManyRowsMerchant,
  type MerchantGroup,
  newMerchants,
  productDigits,
} from '../test/kit/many-rows.ts';
import { runTallybook } from '../test/kit/program.ts';
import { Sender } from '../test/kit/sender.ts';
import { sqlAt, withClient } from '../test/kit/sql.ts';
import { measureBeside, ratio, show } from './beside.ts';
import { Load } from './load.ts';
import { median } from './measure.ts';
import { Ending, type HttpProcess, runToEnd, startService, temporaryDirectory } from './servers.ts';

const pace = { connections: 64, rounds: 5, seconds: 6 };
const merchants = 10;
const fewProducts = 500;
/** Each has one movement. */
const manyProducts = 30_000;
const batchSize = 64;
const batchRounds = 60;
const secondsOfCalm = 10;

const ending = new Ending();

/** A database of the same name on the cluster and, without Citus, on one of its servers. */
interface Place {
  readonly name: 'plain' | 'owner';
  readonly ownerUrl: string;
  readonly serviceUrl: string;
}

const inDatabase = (url: string, name: string) => new URL(`/${name}`, url).href;

function serviceOf(url: string): string {
  const service = new URL(url);
  service.username = 'tallybook_bench_service';
  service.password = 'of-no-value';
  return service.href;
}

async function migrated(name: Place['name'], ownerUrl: string): Promise<Place> {
  const serviceUrl = serviceOf(ownerUrl);
  const env = { TALLYBOOK_MIGRATE_URL: ownerUrl };
  await runTallybook(['migrate', '--database-url', serviceUrl], { env });
  return { name, ownerUrl, serviceUrl };
}

async function onCluster(cluster: string): Promise<Place> {
  const name = `bench_${randomUUID().slice(0, 8)}`;
  ending.add(() => dropOnCluster(cluster, name));
  await createOnCluster(cluster, name);
  const place = await migrated('owner', inDatabase(cluster, name));
  await addCells(place.ownerUrl, ['cell_2']);
  return place;
}

async function withoutCitus(cluster: string, server: ServerRow): Promise<Place> {
  const name = `bench_plain_${randomUUID().slice(0, 8)}`;
  const url = urlAt(cluster, server);
  const own = 'set citus.enable_create_database_propagation = off';
  const alone = (text: string) =>
    withClient(url, async (client) => {
      await client.query(own);
      await client.query(text);
    });
  ending.add(() => alone(`drop database ${name} with (force)`));
  await alone(`create database ${name}`);
  return migrated('plain', inDatabase(url, name));
}

/** Merchants are made where all servers hear of them, and their products where the cell is. */
async function fill(
  { name, ownerUrl }: Place,
  cell: string,
  group: MerchantGroup,
  products: number,
): Promise<MerchantGroup> {
  const ofMerchants = { connectionString: ownerUrl, options: `-c search_path=${cell},public` };
  await withClient(ofMerchants, async (client) => {
    await client.query(`alter table merchants alter column cell set default '${cell}'`);
    await addMerchants(client, group);
  });
  const isPlain = name === 'plain';
  const place = isPlain ? ownerUrl : urlAt(ownerUrl, (await placesOf(ownerUrl, cell)).here);
  const path = isPlain ? `${cell},public` : pathAtOwner(cell).replaceAll(' ', '');
  const ofProducts = { connectionString: place, options: `-c search_path=${path}` };
  const filled = await withClient(ofProducts, async (client) => {
    if (!isPlain) await client.query('select show_cell($1)', [cell]);
    return addProducts(client, group, products);
  });
  await sqlAt(place, 'vacuum (analyze)');
  return filled;
}

/** Adjustments of one merchant, one of its products after the other. */
class Till {
  readonly #sender: Sender;
  readonly #merchant: ManyRowsMerchant;
  #count = 1_000_000_000;

  constructor(origin: string, merchant: ManyRowsMerchant, connections: number) {
    this.#sender = new Sender(origin, connections);
    this.#merchant = merchant;
  }

  #body() {
    this.#count += 1;
    const { productPrefix, location } = this.#merchant;
    const number = (this.#count % fewProducts) + 1;
    return {
      product_id: productPrefix + String(number).padStart(productDigits, '0'),
      location_id: location,
      target_quantity: String(this.#count),
      reason: 'stock_count',
    };
  }

  async #post(path: string, body: object): Promise<{ ms: number; status: number; text: string }> {
    const since = performance.now();
    const headers = {
      authorization: `Bearer ${this.#merchant.token}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const { status, text } = await this.#sender.send(
      ...(['POST', `/api/v1${path}`, headers, JSON.stringify(body)] as const),
    );
    return { ms: performance.now() - since, status, text };
  }

  /** @returns milliseconds. @throws Error unless all of it was done. */
  async batch(): Promise<number> {
    const operations = Array.from({ length: batchSize }, () => ({
      type: 'inventory.adjust',
      idempotency_key: randomUUID(),
      body: this.#body(),
    }));
    const { ms, text } = await this.#post('/batches', { operations });
    const done = text.match(/"status":201/g)?.length;
    if (done !== batchSize) throw new Error(`of a batch ${done} were done: ${text.slice(0, 200)}`);
    return ms;
  }

  /** Writes without a pause until told to stop. @returns of each how long it took. */
  async write(clients: number, isOver: () => boolean): Promise<{ ms: number; status: number }[]> {
    const all: { ms: number; status: number }[] = [];
    const client = async () => {
      while (!isOver()) all.push(await this.#post('/inventory/adjustments', this.#body()));
    };
    await Promise.all(Array.from({ length: clients }, client));
    return all;
  }

  close(): void {
    this.#sender.close();
  }
}

const p99 = (all: readonly { ms: number }[]): number =>
  all.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0;

const refusals = (all: readonly { status: number }[]): number =>
  all.filter(({ status }) => status !== 201).length;

/** One after the other, in alternation. */
async function compareBatches(tills: Readonly<Record<Place['name'], Till>>): Promise<void> {
  const times = { plain: [] as number[], owner: [] as number[] };
  for (let round = -10; round < batchRounds; round += 1) {
    for (const name of ['plain', 'owner'] as const) {
      const ms = await tills[name].batch();
      if (round >= 0) times[name].push(ms);
    }
  }
  const [plain, owner] = [median(times.plain), median(times.owner)];
  console.log(
    `a batch of ${batchSize}: p50 plain ${plain.toFixed(1)} ms, owner ${owner.toFixed(1)} ms, ` +
      `${(owner / plain).toFixed(2)} ×`,
  );
}

/** What writes to a cell wait for while it is moved. */
async function moveUnderLoad({ ownerUrl }: Place, till: Till, movements: number): Promise<void> {
  let isOver = false;
  const writing = till.write(8, () => isOver);
  await sleep(2_000);
  const { there } = await placesOf(ownerUrl, 'cell_1');
  const since = performance.now();
  await moveCell(ownerUrl, 'cell_1', addressOf(there), async () => undefined);
  const seconds = (performance.now() - since) / 1_000;
  isOver = true;
  const all = await writing;
  const slowest = Math.max(...all.map(({ ms }) => ms));
  console.log(
    `a cell of ${movements} movements moved in ${seconds.toFixed(1)} s: of ${all.length} writes ` +
      `${refusals(all)} not 201, the slowest ${slowest.toFixed(0)} ms, ` +
      `p99 ${p99(all).toFixed(0)} ms`,
  );
}

/** What writes to one cell notice when the server of another dies. */
async function killBeside(place: Place, cluster: string, till: Till, other: Till): Promise<void> {
  const { here } = await placesOf(place.ownerUrl, 'cell_1');
  const servers = await ClusterServer.all(cluster);
  const victim = servers.find(({ address }) => address === addressOf(here));
  if (victim === undefined) throw new Error(`no server is at ${addressOf(here)}`);
  let isOver = false;
  const lost = other.write(4, () => isOver);
  const calm = async () => {
    const until = performance.now() + secondsOfCalm * 1_000;
    return till.write(4, () => performance.now() > until);
  };
  await calm();
  const before = await calm();
  await victim.kill();
  const during = await calm();
  await victim.start();
  isOver = true;
  const others = await lost;
  const [was, is] = [p99(before), p99(during)];
  console.log(
    `p99 of another cell before ${was.toFixed(1)} ms, while a worker is dead ` +
      `${is.toFixed(1)} ms, ${(is / was).toFixed(2)} ×; ` +
      `${refusals(during)} of ${during.length} not 201 (of the dead one's ${refusals(others)})`,
  );
}

/** Cells on two servers, the second where it was made. */
async function part({ ownerUrl }: Place): Promise<void> {
  const [one, two] = await Promise.all(
    ['cell_1', 'cell_2'].map((cell) => placesOf(ownerUrl, cell)),
  );
  if (one === undefined || two === undefined || addressOf(one.here) !== addressOf(two.here)) return;
  await moveCell(ownerUrl, 'cell_2', addressOf(two.there), async () => undefined);
}

async function compareServices(
  directory: string,
  places: readonly Place[],
  group: MerchantGroup,
): Promise<Record<Place['name'], HttpProcess>> {
  const start = async ({ name, serviceUrl }: Place) => ({
    ...(await ending.started(startService({ directory, databaseUrl: serviceUrl }))),
    name,
  });
  const services = [];
  for (const place of places) services.push(await start(place));
  const load = new Load(directory);
  for (const [title, request] of [
    ['adjust a level', 'adjust'],
    ['list 50 products', 'list'],
  ] as const) {
    const found = await measureBeside(services, request, { load, group }, pace);
    show(title, found);
    console.log(`at its owner: ${ratio(found.owner, found.plain)}`);
  }
  const [plain, owner] = services;
  if (plain === undefined || owner === undefined) throw new Error('there are two services');
  return { plain, owner };
}

async function main(cluster: string): Promise<void> {
  console.log(`the machine was busy before: load ${loadavg().map((one) => one.toFixed(1))}`);
  const directory = await temporaryDirectory(ending);
  const owner = await onCluster(cluster);
  await part(owner);
  const plain = await withoutCitus(cluster, (await placesOf(owner.ownerUrl, 'cell_1')).here);
  const minted = newMerchants(merchants);
  let group = minted;
  for (const place of [plain, owner]) group = await fill(place, 'cell_1', minted, fewProducts);
  const beside = await fill(owner, 'cell_2', newMerchants(1), fewProducts);
  const services = await compareServices(directory, [plain, owner], group);
  const tillOf = (name: Place['name'], [merchant]: readonly ManyRowsMerchant[]) => {
    if (merchant === undefined) throw new Error('there is no merchant');
    const till = new Till(services[name].origin, merchant, batchSize);
    ending.add(async () => till.close());
    return till;
  };
  const tills = {
    plain: tillOf('plain', group.merchants),
    owner: tillOf('owner', group.merchants),
  };
  await compareBatches(tills);
  await killBeside(owner, cluster, tillOf('owner', beside.merchants), tills.owner);
  await fill(owner, 'cell_1', newMerchants(merchants), manyProducts);
  await moveUnderLoad(owner, tills.owner, merchants * manyProducts);
}

if (clusterUrl === undefined) throw new Error('TALLYBOOK_TEST_CITUS_URL names no cluster');
const cluster = clusterUrl;
await runToEnd(ending, () => main(cluster));
process.exit(0);
