// The results as a table that reads well in a terminal and is also Markdown, to be pasted.

import type { Comparison } from '../comparison.ts';
import { decimals, markdown, megabytes, whole } from './markdown.ts';

const headOf = (raw: string) => [
  'Case',
  'Conn.',
  'Requests/s (min–max)',
  'p50 ms',
  'p99 ms',
  'Errors',
  'CPU ms/req. service',
  'database',
  'Memory MB',
  `${raw}/s (clients)`,
  'p50 ms',
  'database',
  'Service ÷ raw',
];

/** @param raw what drove the raw figures. */
export function tableOf(comparisons: readonly Comparison[], raw: string): string {
  return markdown([headOf(raw), ...comparisons.map(rowOf)], 1);
}

function rowOf({ title, connections, service, raw, ratio }: Comparison): string[] {
  const { median, min, max } = service.perSecond;
  return [
    title,
    String(connections),
    `${whole(median)} (${whole(min)}–${whole(max)})`,
    decimals(service.p50Ms, 2),
    decimals(service.p99Ms, 2),
    String(service.errors),
    decimals(service.serviceMsPerRequest, 3),
    decimals(service.databaseMsPerRequest, 3),
    decimals(megabytes(service.residentBytes), 0),
    raw === undefined ? '–' : `${whole(raw.perSecond.median)} (${raw.clients})`,
    decimals(raw?.p50Ms, 2),
    decimals(raw?.databaseMsPerRequest, 3),
    decimals(ratio, 2),
  ];
}
