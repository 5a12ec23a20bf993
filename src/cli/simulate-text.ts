// What `tallybook simulate` prints for people.

import type { Sums } from '../simulation/arithmetic.ts';
import type { Deployment } from '../simulation/deployment.ts';
import { nameOfPart, type PartName, type SimulatedRun } from '../simulation/run.ts';
import { members } from './output.ts';

export interface SimulationReport {
  readonly deployment: Deployment;
  /** One in so many nodes, servers and merchants was simulated. */
  readonly slice: number;
  readonly run: SimulatedRun;
  /** So many times the load that was asked about; null where clients have no rate. */
  readonly carries: number | null;
  readonly first: PartName;
  readonly sums: Sums;
  readonly next_steps: readonly string[];
}

const inGroups = (value: number, digits = 0): string =>
  value.toLocaleString('en', { maximumFractionDigits: digits });

const short = (value: number): string => inGroups(value, value < 10 ? 1 : 0);

export function reportText(report: SimulationReport): string {
  const { run, slice, carries, first, sums, next_steps: steps } = report;
  const parts = (Object.keys(run.use) as PartName[])
    .sort((a, b) => run.use[b] - run.use[a])
    .map((part) => [nameOfPart(part), `${(run.use[part] * 100).toFixed(1)} %`] as const);
  return [
    lengthText(report),
    '',
    members([
      ['writes', timesText(run.writes, slice)],
      ['reads', timesText(run.reads, slice)],
      ['writes in a batch', short(run.writesPerBatch)],
    ]),
    '',
    'How busy each part is:',
    members(parts),
    '',
    carriedText(carries, first),
    '',
    members(sumPairs(sums)),
    '',
    steps.length === 0 ? 'Next step: none.' : 'Next step:',
    ...steps.map((step) => `- ${step}`),
  ].join('\n');
}

function lengthText({ deployment, run, slice }: SimulationReport): string {
  const { seconds, seed } = deployment;
  const { arrived, served, waiting, refused } = run;
  const isShort = run.seconds < seconds;
  const of = slice === 1 ? '' : ` of one in ${slice} nodes, servers and merchants`;
  const why =
    isShort || slice > 1 ? `, because more than ${inGroups(arrived)} requests take too long` : '';
  return (
    `Simulated ${inGroups(run.seconds, 2)} s${of}${why} (seed ${seed}).\n` +
    `${inGroups(arrived)} requests: ${inGroups(served)} served, ${inGroups(waiting)} waiting, ` +
    `${inGroups(refused)} refused at the end.`
  );
}

/** The rates of a part are not those of all, because the busiest merchant is whole in it. */
function timesText({ p50, p99, perSecond }: SimulatedRun['writes'], slice: number): string {
  if (p50 === null || p99 === null) return 'none';
  const where = slice === 1 ? '' : ' of the part';
  return `${inGroups(perSecond)}/s${where}, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
}

function carriedText(carries: number | null, first: PartName): string {
  const name = nameOfPart(first);
  if (carries === null) return `Most busy: ${name}.`;
  if (carries < 1)
    return `It carries only ${carries.toFixed(2)} of this load. First busy: ${name}.`;
  return `It carries ${carries.toFixed(1)} times this load. First busy beyond that: ${name}.`;
}

function sumPairs(sums: Sums) {
  const { connections_per_server: needed, connections_max: most } = sums;
  return [
    ['connections', `${inGroups(needed)} of ${inGroups(most)} of each server`],
    ['movements a day', inGroups(sums.movements_per_day)],
    ['gigabytes a year', short(sums.gigabytes_per_year)],
    ['indexes', `${short(sums.index_gigabytes_per_server)} GB a year on each server`],
    ['write-ahead log', `${short(sums.wal_megabytes_per_second)} MB/s`],
    ['flushes', `${short(sums.flushes_per_second)}/s on all servers`],
    ['restore of a year', `${short(sums.restore_hours)} h`],
    ['leases of limits', `${short(sums.leases_per_second)}/s at most`],
    ['audit lines', `${short(sums.audit_lines_per_second)}/s at most`],
  ] as const;
}
