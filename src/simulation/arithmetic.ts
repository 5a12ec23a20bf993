// What needs no simulation, because it only multiplies: bytes, connections, leases, audit records.

import { limits } from '../core/limits.ts';
import type { Capacity } from './capacity.ts';
import type { Deployment } from './deployment.ts';

export interface Sums {
  readonly movements_per_day: number;
  readonly gigabytes_per_year: number;
  /** Those of indexes, of the server that has most of them. */
  readonly index_gigabytes_per_server: number;
  readonly wal_megabytes_per_second: number;
  readonly flushes_per_second: number;
  readonly connections_per_server: number;
  readonly connections_max: number;
  /** At most, when every caller's requests come evenly to all nodes. */
  readonly leases_per_second: number;
  /** At most, when callers without a right ask all nodes at once. */
  readonly audit_lines_per_second: number;
  /** Of a backup of a year's movements. */
  readonly restore_hours: number;
  /** Requests a second of the busiest merchant; the limit that each has by default is beside it. */
  readonly busiest_merchant_per_second: number;
  readonly merchant_limit_per_second: number;
}

const giga = 1e9;
const mega = 1e6;

/** docs/decisions/0010: an eighth of the burst. */
const leaseShare = 8;
/** docs/operate/back-up.md: a million movements in 75 s. */
const restoreSecondsPerMovement = 75 / 1e6;

export function sumsOf(deployment: Deployment, { run, slice }: Capacity, perNode: number): Sums {
  const { writes, reads, movements, servers, nodes, costs, busiest, connectionsMax } = deployment;
  const perYear = movements * 365;
  const requests = writes + reads;
  const lease = (burst: number) => burst / leaseShare;
  const leased = 1 / lease(limits.credentialRequestBurst) + 1 / lease(limits.merchantRequestBurst);
  return {
    movements_per_day: movements,
    gigabytes_per_year: (perYear * (costs.bytesOfTables + costs.bytesOfIndexes)) / giga,
    index_gigabytes_per_server: (perYear * costs.bytesOfIndexes) / giga / servers,
    wal_megabytes_per_second: (writes * costs.walBytes) / mega,
    flushes_per_second: run.flushesPerSecond * slice,
    connections_per_server: nodes * perNode,
    connections_max: connectionsMax,
    leases_per_second: requests * leased,
    audit_lines_per_second: (nodes * 2 * limits.denialLinesPerMinute) / 60,
    restore_hours: (perYear * restoreSecondsPerMovement) / 3_600,
    busiest_merchant_per_second: requests * busiest,
    merchant_limit_per_second: limits.merchantRequestsPerMinute / 60,
  };
}
