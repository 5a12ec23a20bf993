// What is asked: a deployment and what comes to it.

import type { Costs } from './costs.ts';

/** Rates are per second, of all nodes together, at the busiest time. */
export interface Deployment {
  readonly merchants: number;
  readonly writes: number;
  readonly reads: number;
  /** Of reads, those that are pages of 50. */
  readonly lists: number;
  /** Calls to receivers of webhooks. */
  readonly deliveries: number;
  /** The share of all requests that is the busiest merchant's. */
  readonly busiest: number;
  readonly nodes: number;
  readonly workers: number;
  /** Processors of a node. */
  readonly cores: number;
  readonly servers: number;
  readonly databaseCores: number;
  readonly cells: number;
  /** A round trip between node and server, in milliseconds. */
  readonly latency: number;
  /** A round trip between server and synchronous standby; undefined: there is none. */
  readonly standby: number | undefined;
  /** Of a server. */
  readonly connectionsMax: number;
  /** The server and its clients are on the node's machine, and use its processors. */
  readonly oneMachine: boolean;
  /** A proxy sends all requests of a merchant to the same node. */
  readonly byMerchant: boolean;
  /** Clients that send the next request when they have the answer, instead of rates. */
  readonly connections: number | undefined;
  readonly movements: number;
  readonly seconds: number;
  readonly seed: number;
  readonly costs: Costs;
}

/** Connections to read by of one process, and all that it opens to a server. */
export interface ProcessConnections {
  readonly reads: number;
  readonly each: number;
}

/**
 * So many merchants, the busiest with this share and the others after it by a power of their rank:
 * the sums of shares up to each.
 */
export function sharesOf(merchants: number, busiest: number): Float64Array {
  const sumFor = (power: number) => {
    // The tail by its integral: a million powers for each try would take a second.
    const exact = Math.min(merchants, 2_000);
    let sum = 0;
    for (let rank = 1; rank <= exact; rank += 1) sum += rank ** -power;
    const from = exact + 0.5;
    const to = merchants + 0.5;
    const isLog = Math.abs(power - 1) < 1e-9;
    const tail = isLog
      ? Math.log(to / from)
      : (to ** (1 - power) - from ** (1 - power)) / (1 - power);
    return sum + tail;
  };
  let low = 0;
  let high = 40;
  for (let step = 0; step < 50; step += 1) {
    const middle = (low + high) / 2;
    if (1 / sumFor(middle) < busiest) low = middle;
    else high = middle;
  }
  const sums = new Float64Array(merchants);
  let sum = 0;
  for (let rank = 1; rank <= merchants; rank += 1) {
    sum += rank ** -low;
    sums[rank - 1] = sum;
  }
  return sums.map((one) => one / sum);
}

/** The first place whose sum is above the drawn number. */
export function placeOf(sums: Float64Array, drawn: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 1) > drawn) high = middle;
    else low = middle + 1;
  }
  return low;
}
