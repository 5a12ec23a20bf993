// Which plots the document has, and what of a run each shows.

import type { Comparison } from '../comparison.ts';
import { short } from '../print/growth.ts';
import { decimals, whole } from '../print/markdown.ts';
import type { RunResults } from '../results.ts';
import { type BarRow, barChart, panelChart } from './charts.ts';

/** By file name. */
export function plotsOf({ cases, growth, options }: RunResults): Record<string, string> {
  const plots: Record<string, string> = {};
  const connections = Math.max(...options.pace.connections.filter((count) => count <= 64));
  if (cases !== undefined) {
    const at = cases.comparisons.filter((one) => one.connections === connections);
    const isWrite = ({ case: name }: Comparison) => /^(adjust|create)/.test(name);
    const head = `at ${connections} connections, requests a second`;
    plots['writes.svg'] = throughputChart(`Writes ${head}`, at.filter(isWrite));
    plots['reads.svg'] = throughputChart(
      `Reads, replays and the mix ${head}`,
      at.filter((one) => !isWrite(one)),
    );
    plots['connections.svg'] = connectionsChart(cases.comparisons, options.pace.connections);
  }
  if (growth !== undefined && growth.sizes.length > 1) plots['growth.svg'] = growthChart(growth);
  const pages = growth?.sizes.at(-1)?.pages ?? [];
  if (pages.length > 0) plots['pages.svg'] = pagesChart(pages);
  return plots;
}

function throughputChart(title: string, comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(
    (one): BarRow => ({
      label: one.title,
      first: one.service.perSecond.median,
      second: one.raw?.perSecond.median,
    }),
  );
  return barChart({ title, names: ['Tallybook', 'the database alone'], rows, show: whole });
}

function connectionsChart(comparisons: readonly Comparison[], connections: readonly number[]) {
  const names = [...new Set(comparisons.map((one) => one.case))];
  return panelChart({
    title: 'Requests a second by number of connections',
    names: ['Tallybook', 'the database alone, at its best'],
    steps: connections.map(String),
    isGoal: false,
    show: whole,
    panels: names.map((name) => {
      const of = comparisons.filter((one) => one.case === name);
      const rates = of.flatMap(({ raw }) => raw?.perSecond.median ?? []);
      return {
        title: of[0]?.title ?? name,
        first: of.map(({ service }) => service.perSecond.median),
        level: rates.length === 0 ? undefined : Math.max(...rates),
      };
    }),
  });
}

const growthBar = 0.9;

function growthChart({ sizes }: NonNullable<RunResults['growth']>): string {
  const first = sizes[0]?.comparisons ?? [];
  return panelChart({
    title: 'Service ÷ raw as the ledger grows, the smallest size being 1',
    names: [`by number of movements; dashed: the bar, ${growthBar}`],
    steps: sizes.map(({ movements }) => short(movements)),
    isGoal: true,
    show: (value) => decimals(value, 2),
    panels: first.map((one) => ({
      title: one.case,
      first: sizes.map(({ comparisons }) => {
        const other = comparisons.find(
          (each) => each.case === one.case && each.connections === one.connections,
        );
        return (other?.ratio ?? 0) / (one.ratio || 1);
      }),
      level: growthBar,
    })),
  });
}

function pagesChart(pages: NonNullable<RunResults['growth']>['sizes'][number]['pages']): string {
  const page = whole(pages[0]?.page ?? 0);
  return barChart({
    title: 'Milliseconds for a page of 50, one request at a time',
    names: ['page 1', `page ${page}`],
    rows: pages.map(({ list, firstMs, pageMs }) => ({
      label: list,
      first: firstMs,
      second: pageMs,
    })),
    show: (value) => decimals(value, 2),
  });
}
