// What growth did, as tables: each case at each size, and late pages.

import type { GrowthResults } from '../parts/growth-part.ts';
import { decimals, markdown, whole } from './markdown.ts';

export function growthTable({ sizes }: GrowthResults): string {
  const head = [
    'Case',
    'Conn.',
    ...sizes.flatMap(({ movements }) => [`${short(movements)}: req./s`, 'raw/s', '÷ raw']),
    'Largest ÷ smallest',
  ];
  const first = sizes[0]?.comparisons ?? [];
  const rows = first.map((one) => {
    const all = sizes.map(({ comparisons }) =>
      comparisons.find((c) => c.case === one.case && c.connections === one.connections),
    );
    const last = all.at(-1)?.ratio;
    const change = last === undefined || !one.ratio ? undefined : last / one.ratio;
    const figures = all.flatMap((c) => [
      c === undefined ? '–' : whole(c.service.perSecond.median),
      c?.raw === undefined ? '–' : whole(c.raw.perSecond.median),
      decimals(c?.ratio, 3),
    ]);
    return [one.case, String(one.connections), ...figures, decimals(change, 2)];
  });
  return markdown([head, ...rows], 1);
}

export function sizesTable({ sizes }: GrowthResults): string {
  const head = [
    'Movements',
    'Products, levels, customers, operations',
    'Database GB',
    'Loaded in s',
  ];
  const rows = sizes.map(({ movements, others, databaseBytes, loadSeconds }) => [
    whole(movements),
    `${whole(others)} of each`,
    decimals(databaseBytes / 1e9, 2),
    whole(loadSeconds),
  ]);
  return markdown([head, ...rows], 0);
}

export function pagesTable({ sizes }: GrowthResults): string {
  const head = ['List', 'Movements', 'Page', 'First page ms', 'This page ms', 'Ratio'];
  const rows = sizes.flatMap(({ movements, pages }) =>
    pages.map(({ list, page, firstMs, pageMs }) => [
      list,
      whole(movements),
      whole(page),
      decimals(firstMs, 2),
      decimals(pageMs, 2),
      decimals(pageMs / firstMs, 2),
    ]),
  );
  return markdown([head, ...rows], 1);
}

/** 10 k, 1 M. */
export function short(number: number): string {
  if (number >= 1_000_000) return `${number / 1_000_000} M`;
  return number >= 1_000 ? `${number / 1_000} k` : String(number);
}
