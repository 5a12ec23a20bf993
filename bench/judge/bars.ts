// What the service is meant to reach, and whether it did. A bar that is missed is no fault of the
// run: it is printed, with by how much.

import type { Comparison } from '../comparison.ts';
import type { CaseResults } from '../parts/case-part.ts';
import type { GrowthResults } from '../parts/growth-part.ts';

/** What bars are judged by. */
export interface Judged {
  readonly cases: CaseResults | undefined;
  readonly growth: GrowthResults | undefined;
  readonly drivers: { readonly raw: string };
}

interface Value {
  /** What it was measured on, where a bar has several. */
  readonly of: string;
  readonly value: number | undefined;
}

interface Bar {
  readonly title: string;
  readonly is: 'at least' | 'at most';
  readonly bar: number;
  readonly stretch: number;
  readonly unit: '×' | 'MB';
  /** Raw figures say enough to judge by only when pgbench drove them. */
  readonly needsPgbench: boolean;
  values(results: Judged): readonly Value[];
}

const ofRaw = { is: 'at least', unit: '×', needsPgbench: true } as const;
const ofItself = { is: 'at most', unit: '×', needsPgbench: false } as const;

const bars: readonly Bar[] = [
  {
    ...ofRaw,
    title: 'adjust spread, 64 connections ÷ raw',
    bar: 0.9,
    stretch: 1.3,
    values: (results) => ratio(results, 'adjust-spread', 64),
  },
  {
    ...ofRaw,
    title: 'adjust spread, 256 connections ÷ raw',
    bar: 1.3,
    stretch: 1.7,
    values: (results) => ratio(results, 'adjust-spread', 256),
  },
  {
    ...ofRaw,
    title: 'adjust one level, 64 connections ÷ raw',
    bar: 3,
    stretch: 5,
    values: (results) => ratio(results, 'adjust-one', 64),
  },
  {
    ...ofRaw,
    title: 'create customer, 64 connections ÷ raw',
    bar: 1,
    stretch: 1.5,
    values: (results) => ratio(results, 'create-customer', 64),
  },
  {
    ...ofItself,
    needsPgbench: true,
    title: 'adjust, 1 connection, p50 ÷ p50 of raw',
    bar: 2.2,
    stretch: 1.6,
    values: (results) => latencyRatio(results, 'adjust-spread'),
  },
  {
    ...ofRaw,
    title: 'adjust, many merchants, 64 connections ÷ raw',
    bar: 0.6,
    stretch: 0.9,
    values: (results) => [
      ...ratio(results, 'adjust-few-merchants', 64),
      ...ratio(results, 'adjust-many-merchants', 64),
    ],
  },
  {
    ...ofRaw,
    needsPgbench: false,
    title: 'get product, 64 connections ÷ a bare route',
    bar: 0.3,
    stretch: 0.5,
    values: bareRatio,
  },
  {
    ...ofRaw,
    title: 'list 50 products, 64 connections ÷ raw',
    bar: 0.4,
    stretch: 0.7,
    values: (results) => ratio(results, 'list-products', 64),
  },
  {
    ...ofRaw,
    title: 'growth: service ÷ raw, largest ÷ smallest',
    bar: 0.9,
    stretch: 1,
    values: growthRatios,
  },
  {
    ...ofItself,
    title: 'a late page ÷ the first',
    bar: 1.2,
    stretch: 1.05,
    values: pageRatios,
  },
  {
    ...ofItself,
    title: 'p99 ÷ p50, 64 connections',
    bar: 4,
    stretch: 2.5,
    values: (results) =>
      served(results, 64).map(({ title, service }) => ({
        of: title,
        value: quotient(service.p99Ms, service.p50Ms),
      })),
  },
  {
    ...ofItself,
    unit: 'MB',
    title: 'resident memory, 64 connections',
    bar: 200,
    stretch: 150,
    values: mostMemory,
  },
];

export interface Judgement {
  readonly title: string;
  readonly of: string;
  readonly is: Bar['is'];
  readonly unit: Bar['unit'];
  readonly value: number;
  readonly bar: number;
  readonly stretch: number;
  readonly verdict: 'stretch' | 'met' | 'missed' | 'not judged';
  /** The part of the bar that is missing; 0 when it is met. */
  readonly missedBy: number;
}

/** Of what was measured; what was not has no line. */
export function judgeBars(results: Judged): Judgement[] {
  return bars.flatMap((bar) =>
    bar.values(results).flatMap(({ of, value }) => {
      if (value === undefined) return [];
      const { title, is, unit, bar: wanted, stretch } = bar;
      const reaches = (goal: number) => (is === 'at least' ? value >= goal : value <= goal);
      const isJudged = !bar.needsPgbench || results.drivers.raw === 'pgbench';
      const reached = reaches(wanted) ? 'met' : 'missed';
      const judged = reaches(stretch) ? 'stretch' : reached;
      const verdict = isJudged ? judged : 'not judged';
      const missedBy = reaches(wanted) ? 0 : Math.abs(value - wanted) / wanted;
      return [{ title, of, is, unit, value, bar: wanted, stretch, verdict, missedBy } as const];
    }),
  );
}

function find(results: Judged, name: string, connections: number): Comparison | undefined {
  return results.cases?.comparisons.find(
    (one) => one.case === name && one.connections === connections,
  );
}

function ratio(results: Judged, name: string, connections: number): Value[] {
  const found = find(results, name, connections);
  return found === undefined ? [] : [{ of: found.title, value: found.ratio }];
}

function latencyRatio(results: Judged, name: string): Value[] {
  const found = find(results, name, 1);
  if (found?.raw === undefined) return [];
  return [{ of: found.title, value: quotient(found.service.p50Ms, found.raw.p50Ms) }];
}

function bareRatio(results: Judged): Value[] {
  const product = find(results, 'get-product', 64);
  const bare = find(results, 'bare-route', 64);
  if (product === undefined || bare === undefined) return [];
  const value = quotient(product.service.perSecond.median, bare.service.perSecond.median);
  return [{ of: product.title, value }];
}

function growthRatios({ growth }: Judged): Value[] {
  const first = growth?.sizes[0];
  const last = growth?.sizes.at(-1);
  if (first === undefined || last === undefined || first === last) return [];
  return last.comparisons.map((comparison) => {
    const before = first.comparisons.find(
      (one) => one.case === comparison.case && one.connections === comparison.connections,
    );
    return { of: comparison.case, value: quotient(comparison.ratio, before?.ratio) };
  });
}

function pageRatios({ growth }: Judged): Value[] {
  const pages = growth?.sizes.at(-1)?.pages ?? [];
  return pages.map(({ list, page, firstMs, pageMs }) => ({
    of: `${list}, page ${page.toLocaleString('en')}`,
    value: quotient(pageMs, firstMs),
  }));
}

function mostMemory(results: Judged): Value[] {
  const sizes = served(results, 64).flatMap(({ service }) => service.residentBytes ?? []);
  const value = sizes.length === 0 ? undefined : Math.max(...sizes) / 1_024 ** 2;
  return [{ of: 'the highest of all cases', value }];
}

function served({ cases }: Judged, connections: number): Comparison[] {
  return (cases?.comparisons ?? []).filter(
    (one) => one.case !== 'bare-route' && one.connections === connections,
  );
}

function quotient(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b;
}
