// What a run found, as it is written to a file: every single measurement, and what is made of them.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Judgement } from './judge/bars.ts';
import type { Verdict } from './judge/verdict.ts';
import { type Measured, median, perSecond } from './measure.ts';
import type { Options } from './options.ts';
import type { CaseResults } from './parts/case-part.ts';
import type { GrowthResults } from './parts/growth-part.ts';
import type { Machine } from './setup/usage.ts';

export interface RunResults {
  readonly startedAt: Date;
  /** How long the run took. */
  readonly seconds: number;
  readonly machine: Machine;
  readonly settings: Readonly<Record<string, string>>;
  readonly drivers: { readonly load: string; readonly raw: string; readonly rampSeconds: number };
  readonly options: Options;
  readonly verdict: Verdict;
  readonly cases: CaseResults | undefined;
  readonly growth: GrowthResults | undefined;
  readonly bars: readonly Judgement[];
}

/** A measurement with what it took from the machine. Undefined where that cannot be read. */
export interface Sample extends Measured {
  readonly databaseMs: number | undefined;
  readonly serviceMs: number | undefined;
  readonly residentBytes: number | undefined;
}

/** The samples of one case with one number of connections, or of database clients. */
export interface Series {
  readonly case: string;
  readonly parallel: number;
  readonly samples: readonly Sample[];
}

export interface Summary {
  readonly perSecond: { readonly median: number; readonly min: number; readonly max: number };
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
  readonly databaseMsPerRequest: number | undefined;
  readonly serviceMsPerRequest: number | undefined;
  readonly residentBytes: number | undefined;
}

function summaryOf({ samples }: Series): Summary {
  const rates = samples.map(perSecond);
  const cost = (ms: (sample: Sample) => number | undefined) =>
    known(
      samples.map((sample) => share(ms(sample), sample.total)),
      median,
    );
  return {
    perSecond: { median: median(rates), min: Math.min(...rates), max: Math.max(...rates) },
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
    errors: samples.reduce((sum, { errors }) => sum + errors, 0),
    databaseMsPerRequest: cost(({ databaseMs }) => databaseMs),
    serviceMsPerRequest: cost(({ serviceMs }) => serviceMs),
    residentBytes: known(
      samples.map((sample) => sample.residentBytes),
      (sizes) => Math.max(...sizes),
    ),
  };
}

function share(ms: number | undefined, total: number): number | undefined {
  return ms === undefined || total === 0 ? undefined : ms / total;
}

function known(
  values: readonly (number | undefined)[],
  combine: (values: readonly number[]) => number,
): number | undefined {
  const all = values.filter((value) => value !== undefined);
  return all.length === 0 ? undefined : combine(all);
}

/** One line of the table: the service beside the raw figure it is compared with. */
export interface Comparison {
  readonly case: string;
  readonly title: string;
  readonly connections: number;
  readonly service: Summary;
  readonly raw: (Summary & { readonly clients: number }) | undefined;
  /** Requests of the service per transaction of the raw figure. */
  readonly ratio: number | undefined;
}

/**
 * One connection is compared with one client, for both wait for each commit; any other number with
 * the number of clients that gave the most.
 */
export function compare(title: string, served: Series, raw: readonly Series[]): Comparison {
  const service = summaryOf(served);
  const candidates = raw
    .filter((one) => one.case === served.case && one.samples.length > 0)
    .filter(({ parallel }) => (parallel === 1) === (served.parallel === 1))
    .map((one) => ({ clients: one.parallel, ...summaryOf(one) }))
    .sort((a, b) => b.perSecond.median - a.perSecond.median);
  const [best] = candidates;
  const ratio =
    best === undefined || best.perSecond.median === 0
      ? undefined
      : service.perSecond.median / best.perSecond.median;
  return { case: served.case, title, connections: served.parallel, service, raw: best, ratio };
}

export const resultsDirectory = fileURLToPath(new URL('./results/', import.meta.url));

/** @returns the path of the file. */
export async function writeResults(startedAt: Date, results: RunResults): Promise<string> {
  await mkdir(resultsDirectory, { recursive: true });
  const name = `${startedAt.toISOString().replace(/:/g, '-').slice(0, 19)}.json`;
  const path = join(resultsDirectory, name);
  await writeFile(path, `${JSON.stringify(results, null, 2)}\n`);
  return path;
}
