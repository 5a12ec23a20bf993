// What a run found, as tables that read well in a terminal and are also Markdown, and what the
// service is meant to reach. A bar that is missed is no fault of the run: it says by how much.

import type { LatePage } from './grow.ts';
import { rawFor, type Series, type Summary, summaryOf } from './measure.ts';
import { isWorse, type PlanCost } from './plans.ts';

export interface Size {
  readonly movements: number;
  readonly series: readonly Series[];
  readonly pages: readonly LatePage[];
}

/** One line for each case and number of connections: the service, its raw figure, their ratio. */
interface Line {
  readonly case: string;
  readonly title: string;
  readonly connections: number;
  readonly service: Summary;
  readonly raw: (Summary & { readonly clients: number }) | undefined;
  readonly ratio: number | undefined;
}

function linesOf(all: readonly Series[]): Line[] {
  return all
    .filter(({ by }) => by === 'service')
    .map((one) => {
      const service = summaryOf(one);
      const best = rawFor(all, one);
      const raw = best === undefined ? undefined : { ...summaryOf(best), clients: best.parallel };
      const ratio = raw === undefined ? undefined : service.perSecond / raw.perSecond;
      const { title, parallel: connections } = one;
      return { case: one.case, title, connections, service, raw, ratio };
    });
}

export function casesTable(all: readonly Series[]): string {
  const head = [
    ...['Case', 'Conn.', 'Requests/s (min–max)', 'p50 ms', 'p99 ms', 'Service ms/req.'],
    ...['Database ms/req.', 'Memory MB', 'pgbench/s (clients)', 'its ms', 'Service ÷ raw'],
  ];
  const rows = linesOf(all).map(({ title, connections, service, raw, ratio }) => [
    ...[title, String(connections)],
    `${whole(service.perSecond)} (${whole(service.lowest)}–${whole(service.highest)})`,
    ...[service.p50Ms, service.p99Ms].map((ms) => decimals(ms, 2)),
    ...[service.serviceMs, service.databaseMs].map((ms) => decimals(ms, 3)),
    whole(service.residentBytes / 1_024 ** 2),
    raw === undefined ? '–' : `${whole(raw.perSecond)} (${raw.clients})`,
    ...[decimals(raw?.databaseMs, 3), decimals(ratio, 2)],
  ]);
  return markdown([head, ...rows], 1);
}

/** Before and after, measured in turn: medians of the ratios of neighbours, not of two medians. */
export function againstTable(all: readonly Series[]): string {
  const head = ['Case', 'Conn.', 'Requests/s', 'Ratio', 'Service ms/req.', 'Ratio'];
  const rows = all
    .filter(({ by }) => by === 'service')
    .flatMap((after) => {
      const before = all.find(
        (one) => one.by === 'before' && one.case === after.case && one.parallel === after.parallel,
      );
      if (before === undefined) return [];
      const [old, now] = [summaryOf(before), summaryOf(after)];
      const pair = (value: (summary: Summary) => number, places: number) => [
        `${decimals(value(old), places)} → ${decimals(value(now), places)}`,
        decimals(value(now) / value(old), 2),
      ];
      return [
        [
          ...[after.title, String(after.parallel)],
          ...pair(({ perSecond }) => perSecond, 0),
          ...pair(({ serviceMs }) => serviceMs, 3),
          ...pair(({ databaseMs }) => databaseMs, 3),
          ...pair(({ p99Ms }) => p99Ms, 1),
          ...pair(({ residentBytes }) => residentBytes / 1_024 ** 2, 0).slice(0, 1),
        ],
      ];
    });
  return markdown(
    [[...head, 'Database ms/req.', 'Ratio', 'p99 ms', 'Ratio', 'Memory MB'], ...rows],
    1,
  );
}

export function growthTable(sizes: readonly Size[]): string {
  const columns = sizes.map(({ movements, series }) => ({
    name: movements >= 1e6 ? `${movements / 1e6} M` : `${movements / 1e3} k`,
    lines: linesOf(series),
  }));
  const head = columns.flatMap(({ name }) => [`${name}: req./s`, 'raw/s', '÷ raw']);
  const rows = (columns[0]?.lines ?? []).map((first) => {
    const all = columns.map(({ lines }) => lines.find((one) => one.case === first.case));
    const figures = all.flatMap((line) => [
      ...[whole(line?.service.perSecond ?? 0), whole(line?.raw?.perSecond ?? 0)],
      decimals(line?.ratio, 3),
    ]);
    return [first.title, ...figures, decimals(quotient(all.at(-1)?.ratio, first.ratio), 2)];
  });
  return markdown([['Case', ...head, 'Largest ÷ smallest'], ...rows], 1);
}

export function plansTable(costs: readonly PlanCost[]): string {
  const head = ['List', 'Plan ms', 'Run ms', 'Blocks', 'One plan: run ms', 'Blocks', 'Verdict'];
  const verdict = (cost: PlanCost) => (isWorse(cost) ? 'WORSE' : 'no worse');
  const rows = costs.map((cost) => [
    cost.of,
    ...[cost.planMs, cost.customMs].map((ms) => decimals(ms, 3)),
    whole(cost.customBlocks),
    decimals(cost.genericMs, 3),
    whole(cost.genericBlocks),
    cost.isPlannedAnew ? 'planned anew' : verdict(cost),
  ]);
  return markdown([head, ...rows], 1);
}

type Judged = readonly [title: string, sign: '≥' | '≤', bar: number, value: number | undefined];

/** Bars of the cases, and of growth. What was not measured has no line. */
export function barsTable(cases: readonly Series[], sizes: readonly Size[]): string {
  const lines = linesOf(cases);
  const line = (name: string, connections = 64) =>
    lines.find((one) => one.case === name && one.connections === connections);
  const ratio = (name: string, connections = 64) => line(name, connections)?.ratio;
  const rate = (name: string) => line(name)?.service.perSecond;
  const alone = line('adjust-spread', 1);
  const latency = quotient(alone?.service.p50Ms, alone?.raw?.p50Ms);
  const served = lines.filter(({ case: name }) => !name.startsWith('bare-'));
  const at64 = served.filter(({ connections }) => connections === 64);
  const memory = Math.max(...served.map(({ service }) => service.residentBytes)) / 1_024 ** 2;
  const bars: Judged[] = [
    ['adjust spread, 64 connections ÷ raw', '≥', 1.3, ratio('adjust-spread')],
    ['adjust spread, 256 connections ÷ raw', '≥', 1.3, ratio('adjust-spread', 256)],
    ['adjust one level, 64 connections ÷ raw', '≥', 3, ratio('adjust-one')],
    ['create customer, 64 connections ÷ raw', '≥', 0.9, ratio('create-customer')],
    ['adjust, 1 connection, p50 ÷ p50 of raw', '≤', 2.2, latency],
    ['adjust, 64 merchants, 64 connections ÷ raw', '≥', 0.6, ratio('adjust-few-merchants')],
    ['adjust, 1,000 merchants, 64 connections ÷ raw', '≥', 0.6, ratio('adjust-many-merchants')],
    [
      'get product, 64 connections ÷ a bare route',
      '≥',
      0.3,
      quotient(rate('get-product'), rate('bare-route')),
    ],
    ...listBars(ratio('list-products'), rate),
    feedBar(rate('follow-events'), rate('list-movements-100')),
    ...growthBars(sizes),
    ...at64.map(
      ({ title, service }): Judged => [
        `p99 ÷ p50, 64 connections: ${title}`,
        '≤',
        4,
        service.p99Ms / service.p50Ms,
      ],
    ),
    [
      'resident memory, MB, the most of all cases',
      '≤',
      200,
      served.length === 0 ? undefined : memory,
    ],
  ];
  const rows = bars.flatMap(([title, sign, bar, value]) => {
    if (value === undefined || !Number.isFinite(value)) return [];
    const isMet = sign === '≥' ? value >= bar : value <= bar;
    const by = `missed by ${Math.ceil((Math.abs(value - bar) / bar) * 100)} %`;
    return [[title, decimals(value, value > 99 ? 0 : 2), `${sign} ${bar}`, isMet ? 'met' : by]];
  });
  return markdown([['Bar', 'Measured', 'Bar', 'Verdict'], ...rows], 1);
}

function listBars(
  productsToRaw: number | undefined,
  rate: (name: string) => number | undefined,
): Judged[] {
  return [
    ['list 50 products, 64 connections ÷ raw', '≥', 0.4, productsToRaw],
    [
      'list 50 products, 64 connections ÷ a bare server',
      '≥',
      0.9,
      quotient(rate('list-products'), rate('bare-list')),
    ],
    [
      'list 50 levels as they are ÷ as of a moment, 64 connections',
      '≤',
      1.5,
      quotient(rate('list-levels'), rate('list-levels-as-of')),
    ],
  ];
}

function feedBar(feed: number | undefined, list: number | undefined): Judged {
  return ['follow 100 events, 64 connections ÷ list 100 movements', '≥', 0.8, quotient(feed, list)];
}

function growthBars(sizes: readonly Size[]): Judged[] {
  const [first, last] = [linesOf(sizes[0]?.series ?? []), linesOf(sizes.at(-1)?.series ?? [])];
  return [
    ...(sizes.length < 2 ? [] : first).map((one): Judged => {
      const grown = last.find((each) => each.case === one.case);
      return [
        `growth: ${one.case} ÷ raw, largest ÷ smallest`,
        '≥',
        0.9,
        quotient(grown?.ratio, one.ratio),
      ];
    }),
    ...(sizes.at(-1)?.pages ?? []).map(
      ({ list, page, firstMs, pageMs }): Judged => [
        `page ${whole(page)} of ${list} ÷ the first`,
        '≤',
        1.2,
        pageMs / firstMs,
      ],
    ),
  ];
}

function quotient(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b;
}

/** Columns of equal width, all but the first `texts` aligned to the right. */
function markdown(rows: readonly (readonly string[])[], texts: number): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]) => {
    const cells = widths.map((width, column) => {
      const cell = row[column] ?? '';
      return column < texts ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${cells.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column < texts ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const [first = [], ...rest] = rows;
  return [line(first), line(rule), ...rest.map(line)].join('\n');
}

function whole(number: number): string {
  return Math.round(number).toLocaleString('en');
}

function decimals(number: number | undefined, places: number): string {
  return number === undefined || !Number.isFinite(number) ? '–' : number.toFixed(places);
}
