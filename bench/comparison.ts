// Measurements of one case, summed up and set beside those of the database alone.

import { type Measured, median, perSecond } from './measure.ts';

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
