// The first part of a run: every case with every number of connections, on one database.

import { type Case, type Pair, planOf } from '../cases/case.ts';
import { bareCase, casesOfMany, casesOfOne, chosen } from '../cases/cases.ts';
import { useKeys } from '../cases/used-keys.ts';
import { LedgerWatch, together, type Verdict, verified } from '../judge/verdict.ts';
import type { Options } from '../options.ts';
import { type Comparison, compare, type Series } from '../results.ts';
import { Client } from '../setup/client.ts';
import { addProducts, settle } from '../setup/data.ts';
import { createMerchants, hotProduct, single } from '../setup/merchants.ts';
import type { BenchService } from '../setup/service.ts';
import type { Stage } from '../stage.ts';
import { type Bench, runRounds } from './rounds.ts';
import { costsOf, type StatementCost } from './statements.ts';

export interface CaseResults {
  readonly comparisons: readonly Comparison[];
  readonly measurements: { readonly service: readonly Series[]; readonly raw: readonly Series[] };
  readonly statements: readonly { readonly title: string; readonly costs: StatementCost[] }[];
  readonly verdict: Verdict;
}

/** Few, for there are many merchants. */
const productsOfMany = 20;

export async function runCases(stage: Stage, options: Options): Promise<CaseResults> {
  const { database, load, raw, progress } = stage;
  const { owner, postmaster, serviceUrl } = database;
  const { pace } = options;
  progress(`making two merchants of ${options.products} products`);
  const one = await makePair(stage, 1, options.products);
  progress(`making twice ${options.merchants} merchants of ${productsOfMany} products`);
  const many = await makePair(stage, options.merchants, productsOfMany);
  await settle(owner);
  progress('starting the service');
  const service = await stage.startService();
  const bare = await stage.startBare(await productOf(service, one));
  progress('using keys');
  await useKeys(service.origin, one);
  await settle(owner);
  const all = [...casesOfOne(one), ...casesOfMany(many), bareCase(one.served)];
  const cases = chosen(all, options.cases);
  const watch = await LedgerWatch.start(owner, load, [one.served, many.served]);
  const bench: Bench = { servers: { service, bare }, load, raw, postmaster, progress };
  const figures = await runRounds(bench, cases, pace);
  const statements = options.statements ? await readStatements(stage, bench, cases, options) : [];
  progress('verifying the ledger');
  const errors = { sentence: `Errors: ${figures.errors.count}.`, faults: figures.errors.faults };
  const verdict = together([errors, await watch.judge(), await verified(serviceUrl)]);
  const comparisons = figures.served.map((series) =>
    compare(cases.find(({ name }) => name === series.case)?.title ?? '', series, figures.raw),
  );
  const measurements = { service: figures.served, raw: figures.raw };
  return { comparisons, measurements, statements, verdict };
}

async function makePair({ database }: Stage, merchants: number, products: number): Promise<Pair> {
  const { owner } = database;
  const group = async () => addProducts(owner, await createMerchants(owner, merchants), products);
  return { served: await group(), raw: await group() };
}

/** What the service answers, for the bare route to answer as much. */
async function productOf({ origin }: BenchService, { served }: Pair): Promise<string> {
  const client = new Client(origin);
  const headers = { Authorization: `Bearer ${single(served).token}` };
  const path = `/api/v1/products/${hotProduct(served)}`;
  const { text } = await client.askWell({ method: 'GET', path, headers, body: undefined });
  client.close();
  return text;
}

async function readStatements(
  { database, load, progress }: Stage,
  { servers }: Bench,
  cases: readonly Case[],
  { pace }: Options,
) {
  const connections = Math.max(...pace.connections);
  const origin = servers.service?.origin ?? '';
  const all: { title: string; costs: StatementCost[] }[] = [];
  for (const one of cases.filter(({ server }) => server === 'service')) {
    progress(`statements: ${one.title}`);
    const costs = await costsOf(database.owner, one, () =>
      load.run(origin, planOf(one), connections, pace.seconds),
    );
    all.push({ title: `${one.title}, ${connections} connections`, costs });
  }
  return all;
}
