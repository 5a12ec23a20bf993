// The next step, by the thresholds that docs/operate/scale.md has.

import type { Sums } from './arithmetic.ts';
import type { Capacity } from './capacity.ts';
import type { Deployment } from './deployment.ts';

/** A step is due when less than this much of the busiest time's load is carried. */
const spare = 1.5;
/** A restore that takes longer than this (h) is no answer to a server that failed. */
const restoreHoursMax = 1;
/** Of one server: what is larger is backed up, restored and vacuumed for a day and more. */
const gigabytesMax = 1_000;
/** What one server can be bought with. */
const databaseCoresMax = 64;

/** What to do, the most urgent first; empty: nothing. */
export function nextSteps(
  deployment: Deployment,
  { factor, first }: Capacity,
  sums: Sums,
): string[] {
  const steps: string[] = [];
  const { connections, standby, servers } = deployment;
  if (connections === undefined && factor < spare) steps.push(stepFor(deployment, first));
  if (sums.connections_per_server > sums.connections_max - 3) {
    steps.push(
      'a pooler before each server, because its connections do not suffice, or a higher ' +
        'max_connections',
    );
  }
  if (standby === undefined && sums.restore_hours > restoreHoursMax) {
    const hours = Math.round(sums.restore_hours);
    steps.push(`a standby, because a restore of a year's movements takes ${hours} h`);
  }
  if (sums.gigabytes_per_year / servers > gigabytesMax) {
    steps.push('cells on more servers, because one has more than 1,000 GB after a year');
  }
  if (sums.busiest_merchant_per_second > sums.merchant_limit_per_second) {
    steps.push(
      'a rate limit of its own for the busiest merchant (tallybook limit set), whose requests ' +
        'exceed the usual one',
    );
  }
  return steps;
}

function stepFor(deployment: Deployment, first: Capacity['first']): string {
  const { databaseCores, oneMachine, servers, cells } = deployment;
  switch (first) {
    case 'machine':
      return oneMachine
        ? 'PostgreSQL on a machine of its own, because both use one machine up'
        : 'more nodes, because the processors of these are busy';
    case 'thread':
    case 'writers':
      return moreProcesses(deployment);
    case 'database':
      if (databaseCores < databaseCoresMax) {
        return `a server with more than ${databaseCores} processors, because they are busy`;
      }
      return cells <= servers
        ? 'more cells on more servers, because the processors of these are busy'
        : 'more servers for the cells, because the processors of these are busy';
    case 'disk':
      return 'a disk that flushes faster, because commits wait for it';
    case 'connections':
      return 'more sessions (max_connections, default_pool_size), because requests wait for them';
    case 'journal':
      return (
        'nothing that is bought: one merchant writes as fast as its journal goes. Its writes in ' +
        'fewer requests (POST /batches) share commits'
      );
  }
}

function moreProcesses({ workers, cores, oneMachine }: Deployment): string {
  // PostgreSQL on the same machine uses as much time as the service.
  const most = oneMachine ? Math.floor(cores / 2) : cores;
  if (workers >= most) return 'more nodes, because their processes are busy';
  return `--workers ${Math.min(most, workers * 2)}, because processes are busy and processors idle`;
}
