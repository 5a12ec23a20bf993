// The second part of a run: the same cases on a database that grows, and lists from far behind
// their beginning.

import type { Pair } from '../cases/case.ts';
import { casesOfOne, chosen, isReplay } from '../cases/cases.ts';
import { useKeys } from '../cases/used-keys.ts';
import { type Comparison, compare, type Series } from '../comparison.ts';
import { type Extent, extentOf, grow } from '../growth/grow.ts';
import { comparePages, type PageComparison } from '../growth/pages.ts';
import { LedgerWatch, together, type Verdict, verified } from '../judge/verdict.ts';
import type { Options } from '../options.ts';
import { settle } from '../setup/data.ts';
import { createMerchants } from '../setup/merchants.ts';
import type { Stage } from '../stage.ts';
import { runRounds } from './rounds.ts';

export interface SizeResults {
  readonly movements: number;
  /** Products, levels, customers and operations. */
  readonly others: number;
  readonly databaseBytes: number;
  readonly loadSeconds: number;
  readonly comparisons: readonly Comparison[];
  readonly measurements: { readonly service: readonly Series[]; readonly raw: readonly Series[] };
  readonly pages: readonly PageComparison[];
  readonly verdict: Verdict;
}

export interface GrowthResults {
  readonly sizes: readonly SizeResults[];
  readonly verdict: Verdict;
}

export async function runGrowth(stage: Stage, options: Options): Promise<GrowthResults> {
  const { owner } = stage.database;
  const { sizes, othersMax } = options.growth;
  let pair: Pair = {
    served: await createMerchants(owner, 1),
    raw: await createMerchants(owner, 1),
  };
  let extent: Extent = { products: 0, depth: 1 };
  const measured: SizeResults[] = [];
  for (const movements of sizes) {
    stage.progress(`growing to ${movements.toLocaleString('en')} movements`);
    const startedAt = performance.now();
    const next = extentOf(movements, othersMax);
    pair = await grow(stage.database, pair, extent, next);
    extent = next;
    await settle(owner);
    const loadSeconds = (performance.now() - startedAt) / 1_000;
    const isLast = movements === sizes.at(-1);
    const size = await measureSize(stage, options, { pair, extent, isLast });
    measured.push({ movements, others: extent.products * 2, loadSeconds, ...size });
  }
  return { sizes: measured, verdict: together(measured.map(({ verdict }) => verdict)) };
}

interface Scene {
  readonly pair: Pair;
  readonly extent: Extent;
  readonly isLast: boolean;
}

async function measureSize(stage: Stage, options: Options, { pair, extent, isLast }: Scene) {
  const { database, load, raw, progress } = stage;
  const { owner, postmaster, serviceUrl } = database;
  const service = await stage.startService();
  const cases = chosen(casesOfOne(pair), options.growth.cases);
  if (cases.some(isReplay)) {
    progress('using keys');
    await useKeys(service.origin, pair);
    await settle(owner);
  }
  // A ledger that was deepened is not what `verify` expects.
  const ledger = extent.depth === 1 ? [await verified(serviceUrl)] : [];
  const watch = await LedgerWatch.start(owner, load, [pair.served]);
  const bench = { servers: { service }, load, raw, postmaster, progress };
  const figures = await runRounds(bench, cases, options.growth.pace);
  const errors = { sentence: `Errors: ${figures.errors.count}.`, faults: figures.errors.faults };
  const verdict = together([...ledger, errors, await watch.judge()]);
  const pages = await pagesOf(stage, options, { pair, extent, isLast }, service.origin);
  await service.stop();
  const { rows } = await owner.query<{ bytes: number }>(
    'select pg_database_size(current_database())::float8 as bytes',
  );
  const comparisons = figures.served.map((series) =>
    compare(cases.find(({ name }) => name === series.case)?.title ?? '', series, figures.raw),
  );
  const measurements = { service: figures.served, raw: figures.raw };
  return { databaseBytes: rows[0]?.bytes ?? 0, comparisons, measurements, pages, verdict };
}

const rowsPerPage = 50;
/** Nearer to the beginning than this a page says nothing. */
const pageMin = 20;

/** At sizes that have the wanted page, and at the last one as far as it goes. */
async function pagesOf(
  stage: Stage,
  { growth }: Options,
  { pair, extent, isLast }: Scene,
  origin: string,
): Promise<PageComparison[]> {
  const lastPage = Math.floor(extent.products / rowsPerPage);
  if (lastPage < pageMin || (lastPage < growth.page && !isLast)) return [];
  await settle(stage.database.owner);
  const page = Math.min(growth.page, lastPage);
  return comparePages(origin, pair.served, { page, rounds: growth.pageRounds }, stage.progress);
}
