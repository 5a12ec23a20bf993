// `npm run bench`: one run, on one machine, of the service and of the same work by the database
// alone, or of an earlier checkout beside this one. It ends what it started however it ends, and
// judges itself: the exit code is 1 when there was an error, or the ledger is not what the answers
// said.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { typeParsers } from '../src/database/types.ts';
import {
  addProducts,
  createMerchants,
  hotProduct,
  type MerchantGroup,
  settle,
  single,
} from '../test/kit/many-rows.ts';
import { thisCheckout, verifyLedger } from '../test/kit/program.ts';
import * as cases from './cases.ts';
import { type Extent, extentOf, grow, latePages, useKeys } from './grow.ts';
import { Load } from './load.ts';
import { Meter, type Pace, progress, type Series, type Side } from './measure.ts';
import { comparePlans, isWorse, type PlanCost } from './plans.ts';
import { createFunctions } from './raw.ts';
import * as servers from './servers.ts';
import * as tables from './tables.ts';

const usage = `Usage: npm run bench -- [options]

  --quick              few cases and small sizes, in less than three minutes
  --only cases|growth|plans  one part of the run
  --against DIR        only this checkout beside an earlier one, which must be built
  --cases A,B          only these cases, such as adjust-spread,get-product
  --seconds N          per measurement (default 2; quick 1)
  --rounds N           repetitions (default 5, growth 3; quick 2, growth 1)
  --connections A,B    HTTP connections (default 1,16,64,256; quick 1,64)
  --products N         how many products with a level (default 100000; quick 10000)
  --sizes A,B          movements to grow to (default 10000,1000000,10000000; quick 10000,80000)
  --profile            leave a processor profile of the service in bench/results
`;

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    against: { type: 'string' },
    cases: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    connections: { type: 'string' },
    products: { type: 'string' },
    sizes: { type: 'string' },
    profile: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const { quick } = flags;
const numbers = (text: string) => text.split(',').map(Number);
const pace: Pace = {
  seconds: Number(flags.seconds ?? (quick ? 1 : 2)),
  warmUpSeconds: quick ? 1 : 2,
  rounds: Number(flags.rounds ?? (quick ? 2 : 5)),
  connections: numbers(flags.connections ?? (quick ? '1,64' : '1,16,64,256')),
  rawClients: quick ? [32] : [16, 32, 64],
};
const growthPace: Pace = {
  ...pace,
  rounds: Number(flags.rounds ?? (quick ? 1 : 3)),
  connections: [64],
  rawClients: [32],
};
const sizes = numbers(flags.sizes ?? (quick ? '10000,80000' : '10000,1000000,10000000'));
const othersMax = quick ? 40_000 : 1_000_000;
const products = Number(flags.products ?? (quick ? 10_000 : 100_000));
const merchants = quick ? 64 : 1_000;
const latePage = 5_000;
const quickCases = [
  ...['adjust-spread', 'adjust-one', 'create-customer', 'list-products', 'get-product'],
  ...['bare-route', 'bare-list', 'adjust-few-merchants'],
];
const quickGrowthCases = ['adjust-spread', 'list-products', 'get-product'];
const chosen = flags.cases?.split(',') ?? (quick ? quickCases : undefined);
const resultsDirectory = fileURLToPath(new URL('./results/', import.meta.url));

const ending = new servers.Ending();
const faults: string[] = [];
const sentences: string[] = [];

interface Place {
  readonly directory: string;
  readonly postgres: servers.BenchServer;
  readonly meter: Meter;
}

/** A server of its own, so that one part leaves nothing to the next. */
async function inPlace<Result>(act: (place: Place) => Promise<Result>): Promise<Result> {
  const own = new servers.Ending();
  ending.add(() => own.end());
  const directory = await servers.temporaryDirectory(own);
  const postgres = await own.started(servers.startPostgres(directory));
  const meter = new Meter(postgres.postmaster, directory);
  const result = await act({ directory, postgres, meter });
  sentences.push(`Errors: ${meter.errors}.`);
  faults.push(...meter.faults);
  await own.end();
  return result;
}

/** One merchant and its double: what the cases of one merchant are measured on. */
async function sideOfOne(
  { directory, postgres }: Place,
  by: Side['by'],
  checkout: string,
): Promise<Side & { readonly pair: cases.Pair; readonly owner: pg.Client }> {
  const database = await postgres.database(checkout, by);
  const { owner, serviceUrl } = database;
  const load = new Load(directory);
  const pair = await pairOf(owner, 1, products);
  await settle(owner);
  if (by === 'service') await createFunctions(owner);
  const nodeFlags = flags.profile ? ['--cpu-prof', `--cpu-prof-dir=${resultsDirectory}`] : [];
  const options = { directory, databaseUrl: serviceUrl, checkout, nodeFlags };
  const service = await ending.started(servers.startService(options));
  const all = await cases.casesOfOne(pair);
  const names = by === 'before' || flags.against !== undefined ? isServed : isChosen;
  const own = all.filter(({ name }) => names(name));
  if (own.some(({ name }) => name === 'replay')) {
    progress('using keys');
    await useKeys(load, service.origin, cases.usingKeys(pair));
    await settle(owner);
  }
  return { by, cases: own, servers: { service }, serviceUrl, load, pair, owner };
}

const isChosen = (name: string) => chosen === undefined || chosen.includes(name);
const isServed = (name: string) => isChosen(name) && !name.startsWith('bare-');

async function pairOf(owner: pg.Client, count: number, each: number): Promise<cases.Pair> {
  const group = async () => addProducts(owner, await createMerchants(owner, count), each);
  return { served: await group(), raw: await group() };
}

/** The yardsticks of reads, which send what the service sends. */
async function bareServers(place: Place, side: Side, { served }: cases.Pair) {
  const { token, id: merchant, credential } = single(served);
  const ask = async (path: string) => {
    const { origin } = side.servers.service ?? { origin: '' };
    const headers = { Authorization: `Bearer ${token}` };
    return (await fetch(`${origin}/api/v1${path}`, { headers })).text();
  };
  const route = await ask(`/products/${hotProduct(served)}`);
  const answer = await ask(`/products?limit=${cases.pageSize}`);
  const page = { path: '/products', merchant, credential, limit: cases.pageSize };
  const list = { kind: 'list', url: side.serviceUrl, page, answer } as const;
  const start = (task: Parameters<typeof servers.startBare>[1]) =>
    ending.started(servers.startBare(place.directory, task));
  return {
    ...(isChosen('bare-route')
      ? { 'bare-route': await start({ kind: 'route', answer: route }) }
      : {}),
    ...(isChosen('bare-list') ? { 'bare-list': await start(list) } : {}),
  };
}

/** Runs measurements, and compares the movements of merchants with what the answers said. */
async function judged<Result>(
  owner: pg.Client,
  load: Load,
  groups: readonly MerchantGroup[],
  run: () => Promise<Result>,
): Promise<Result> {
  const ids = groups.flatMap((group) => group.merchants.map(({ id }) => id));
  const count = async () => {
    const { rows } = await owner.query<{ count: number }>(
      `select count(*)::int as count from inventory_movements
       where merchant_id = any ($1) and type = 'adjustment'`,
      [ids],
    );
    return rows[0]?.count ?? 0;
  };
  const before = { found: await count(), movements: load.movements, dropped: load.dropped };
  const result = await run();
  const found = (await count()) - before.found;
  const answered = load.movements - before.movements;
  const sentence = `${found} adjustments for ${answered} answers that said so.`;
  sentences.push(sentence);
  // What is not answered at the end of a measurement may have happened.
  const isRight = found >= answered && found <= answered + load.dropped - before.dropped;
  if (!isRight) faults.push(`the ledger holds ${sentence}`);
  return result;
}

async function verify(url: string): Promise<void> {
  progress('verifying the ledger');
  const { ok, levels, movements, differences } = await verifyLedger(url);
  sentences.push(`Ledger ${ok ? 'ok' : 'NOT OK'}: ${levels} levels, ${movements} movements.`);
  if (!ok) faults.push(`the ledger differs: ${JSON.stringify(differences.slice(0, 3))}`);
}

async function runOne(place: Place): Promise<Series[]> {
  const side = await sideOfOne(place, 'service', thisCheckout);
  sentences.push(await servers.settingsOf(side.owner));
  const bare = await bareServers(place, side, side.pair);
  const whole = { ...side, servers: { ...side.servers, ...bare } };
  const series = await judged(side.owner, side.load, [side.pair.served], () =>
    place.meter.measure([whole], pace, true),
  );
  await verify(side.serviceUrl);
  return series;
}

/**
 * On a database of its own: among many small merchants the planner takes every merchant for small.
 * What that does to a large one is a case here, and must not colour all the others.
 */
async function runMany(place: Place): Promise<Series[]> {
  const { directory, postgres, meter } = place;
  const { owner, serviceUrl } = await postgres.database(thisCheckout, 'many');
  progress(`making twice ${merchants} merchants, and a large one among them`);
  const many = await pairOf(owner, merchants, 20);
  const large = await pairOf(owner, 1, 20_000);
  await settle(owner);
  await createFunctions(owner);
  const load = new Load(directory);
  const service = await ending.started(
    servers.startService({ directory, databaseUrl: serviceUrl }),
  );
  const all = [...cases.casesOfMany(many), cases.caseOfLarge(large)];
  const own = all.filter(({ name }) => isChosen(name));
  const side: Side = { by: 'service', cases: own, servers: { service }, serviceUrl, load };
  const series = await judged(owner, load, [many.served, large.served], () =>
    meter.measure([side], pace, true),
  );
  await verify(serviceUrl);
  return series;
}

/** Two databases on one server, two services, one measured after the other. */
async function runAgainst(place: Place, earlier: string): Promise<Series[]> {
  const before = await sideOfOne(place, 'before', earlier);
  const after = await sideOfOne(place, 'service', thisCheckout);
  const series = await judged(after.owner, after.load, [after.pair.served], () =>
    place.meter.measure([before, after], pace, false),
  );
  await verify(after.serviceUrl);
  return series;
}

interface Grown {
  readonly sizes: readonly tables.Size[];
  readonly plans: readonly PlanCost[];
}

/** The same cases on a database that grows, lists far behind their beginning, and their plans. */
async function runGrowth(place: Place, isMeasured: boolean): Promise<Grown> {
  const { directory, postgres, meter } = place;
  const database = await postgres.database(thisCheckout, 'growing');
  const { owner, serviceUrl } = database;
  await createFunctions(owner);
  let pair = { served: await createMerchants(owner, 1), raw: await createMerchants(owner, 1) };
  let extent: Extent = { products: 0, depth: 1 };
  const measured: tables.Size[] = [];
  const names = flags.cases === undefined && quick ? quickGrowthCases : chosen;
  for (const movements of isMeasured ? sizes : sizes.slice(-1)) {
    progress(`growing to ${movements.toLocaleString('en')} movements`);
    const startedAt = performance.now();
    const next = extentOf(movements, othersMax);
    pair = await grow(database, pair, extent, next);
    extent = next;
    const loadSeconds = (performance.now() - startedAt) / 1_000;
    // A ledger that was deepened is not what `verify` expects.
    if (extent.depth === 1 && isMeasured) await verify(serviceUrl);
    if (!isMeasured) continue;
    const load = new Load(directory);
    const options = { directory, databaseUrl: serviceUrl };
    const service = await ending.started(servers.startService(options));
    await useKeys(load, service.origin, cases.usingKeys(pair));
    await settle(owner);
    const all = (await cases.casesOfOne(pair)).filter(({ name }) => !name.startsWith('bare-'));
    const own = all.filter(({ name }) => names === undefined || names.includes(name));
    const side: Side = { by: 'service', cases: own, servers: { service }, serviceUrl, load };
    const series = await judged(owner, load, [pair.served], () =>
      meter.measure([side], growthPace, true),
    );
    await settle(owner);
    const lastPage = Math.min(latePage, Math.floor(extent.products / cases.pageSize));
    const pages = lastPage < 20 ? [] : await latePages(service.origin, pair.served, lastPage);
    await service.stop();
    const { rows } = await owner.query<{ size: string }>(
      'select pg_size_pretty(pg_database_size(current_database())) as size',
    );
    sentences.push(
      `${movements} movements, ${extent.products * 2} products, levels, customers, operations: ` +
        `${rows[0]?.size}, loaded in ${loadSeconds.toFixed(0)} s.`,
    );
    measured.push({ movements, series, pages });
  }
  const client = new pg.Client({ connectionString: serviceUrl, types: typeParsers });
  await client.connect();
  const plans = await comparePlans(client, pair.served).finally(() => client.end());
  for (const { of } of plans.filter(isWorse))
    faults.push(`one plan for any values is worse: ${of}`);
  return { sizes: measured, plans };
}

async function main(): Promise<void> {
  const startedAt = new Date();
  const [load = 0] = loadavg();
  const { against, only } = flags;
  const wants = (names: readonly string[]) => names.some(isChosen);
  const isWhole = against === undefined && only === undefined;
  const series: Series[] = [];
  if (against !== undefined) series.push(...(await inPlace((place) => runAgainst(place, against))));
  if (isWhole || only === 'cases') {
    if (wants(cases.namesOfOne)) series.push(...(await inPlace(runOne)));
    if (wants([...cases.namesOfMany, cases.nameOfLarge])) series.push(...(await inPlace(runMany)));
  }
  const isGrowing = isWhole || only === 'growth';
  const grown =
    isGrowing || only === 'plans'
      ? await inPlace((place) => runGrowth(place, isGrowing))
      : { sizes: [], plans: [] };
  const minutes = (Date.now() - startedAt.getTime()) / 60_000;
  console.log(
    `${startedAt.toISOString().slice(0, 10)}: ${cpus().length} cores of ` +
      `${cpus()[0]?.model.trim()}, ` +
      `${Math.round(totalmem() / 1_024 ** 3)} GB; load ${load.toFixed(1)} before the run. ` +
      `Node ${process.version}; ${pace.rounds} rounds of ${pace.seconds} s each; ` +
      `${minutes.toFixed(1)} minutes.${quick ? ' QUICK: a hint, not a result.' : ''}`,
  );
  const shown = [
    ...(against === undefined ? [] : [tables.againstTable(series)]),
    ...(series.length === 0 || against !== undefined ? [] : [tables.casesTable(series)]),
    ...(grown.sizes.length === 0 ? [] : [tables.growthTable(grown.sizes)]),
    ...(grown.plans.length === 0 ? [] : [tables.plansTable(grown.plans)]),
    ...(against === undefined ? [tables.barsTable(series, grown.sizes)] : []),
    sentences.join('\n'),
  ];
  console.log(`\n${shown.join('\n\n')}`);
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  mkdirSync(resultsDirectory, { recursive: true });
  const path = `${resultsDirectory}${startedAt.toISOString().replace(/:/g, '-').slice(0, 19)}.json`;
  writeFileSync(
    path,
    `${JSON.stringify({ flags, series, ...grown, sentences, faults }, null, 1)}\n`,
  );
  console.log(`Every measurement: ${path}`);
}

if (flags.help) {
  process.stdout.write(usage);
} else {
  servers.endOnSignal(ending);
  try {
    await main();
    if (faults.length > 0) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.stack : error}\n`);
    process.exitCode = 1;
  } finally {
    await ending.end();
  }
}
