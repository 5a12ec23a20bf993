// The first part of a run: every case with every number of connections, on one database.

import { type Case, type Pair, planOf } from '../cases/case.ts';
import { bareCase, caseNames, casesOfMany, casesOfOne, chosen, isReplay } from '../cases/cases.ts';
import { useKeys } from '../cases/used-keys.ts';
import { type Comparison, compare, type Series } from '../comparison.ts';
import { LedgerWatch, together, type Verdict, verified } from '../judge/verdict.ts';
import type { Options } from '../options.ts';
import { Client } from '../setup/client.ts';
import { addProducts, settle } from '../setup/data.ts';
import { createMerchants, hotProduct, type MerchantGroup, single } from '../setup/merchants.ts';
import type { BenchService } from '../setup/service.ts';
import type { OnStage, Stage } from '../stage.ts';
import { type Bench, runRounds } from './rounds.ts';
import { costsOf, type StatementCost } from './statements.ts';

export interface CaseResults {
  readonly comparisons: readonly Comparison[];
  readonly measurements: { readonly service: readonly Series[]; readonly raw: readonly Series[] };
  readonly statements: readonly { readonly title: string; readonly costs: StatementCost[] }[];
  readonly verdict: Verdict;
}

/** Few, for there are many merchants; and of the large one, so many times as many. */
const productsOfMany = 20;
const largeFactor = 1_000;

/** @returns nothing when no case of it is wanted. */
export async function runCases(
  options: Options,
  onStage: OnStage,
): Promise<CaseResults | undefined> {
  const { cases } = options;
  const isWanted = (names: readonly string[]) =>
    cases.length === 0 || names.some((name) => cases.includes(name));
  const one = isWanted(caseNames.one) ? await onStage(runOne) : undefined;
  const many = isWanted(caseNames.many) ? await onStage(runMany) : undefined;
  if (one === undefined || many === undefined) return one ?? many;
  return {
    comparisons: [...one.comparisons, ...many.comparisons],
    measurements: {
      service: [...one.measurements.service, ...many.measurements.service],
      raw: [...one.measurements.raw, ...many.measurements.raw],
    },
    statements: [...one.statements, ...many.statements],
    verdict: together([one.verdict, many.verdict]),
  };
}

async function runOne(stage: Stage, options: Options): Promise<CaseResults> {
  const { owner } = stage.database;
  stage.progress(`making two merchants of ${options.products} products`);
  const pair = await makePair(stage, 1, options.products);
  await settle(owner);
  const service = await stage.startService();
  const bare = await stage.startBare(await productOf(service, pair));
  const cases = chosen([...casesOfOne(pair), bareCase(pair.served)], options.cases);
  if (cases.some(isReplay)) {
    stage.progress('using keys');
    await useKeys(service.origin, pair);
    await settle(owner);
  }
  return measureCases(stage, options, { cases, groups: [pair.served], servers: { service, bare } });
}

/**
 * On a database of its own: among many small merchants the planner takes every merchant for small.
 * What that does to a large one is a case here, and must not colour all the others.
 */
async function runMany(stage: Stage, options: Options): Promise<CaseResults> {
  const { merchants } = options;
  stage.progress(`making twice ${merchants} merchants of ${productsOfMany} products, and a large`);
  const many = await makePair(stage, merchants, productsOfMany);
  const large = await makePair(stage, 1, productsOfMany * largeFactor);
  await settle(stage.database.owner);
  const service = await stage.startService();
  const cases = chosen(casesOfMany(many, large), options.cases);
  const groups = [many.served, large.served];
  return measureCases(stage, options, { cases, groups, servers: { service } });
}

interface Prepared {
  readonly cases: readonly Case[];
  /** Whose movements are counted. */
  readonly groups: readonly MerchantGroup[];
  readonly servers: Bench['servers'];
}

async function measureCases(
  stage: Stage,
  options: Options,
  { cases, groups, servers }: Prepared,
): Promise<CaseResults> {
  const { database, load, raw, progress } = stage;
  const { owner, postmaster, serviceUrl } = database;
  const watch = await LedgerWatch.start(owner, load, groups);
  const bench: Bench = { servers, load, raw, postmaster, progress };
  const figures = await runRounds(bench, cases, options.pace);
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
