// Which load a deployment carries, and what is busy all the time when it is more: the simulation is
// asked again and again, because batches grow with the load and costs shrink with them.

import type { Deployment, ProcessConnections } from './deployment.ts';
import { type PartName, type SimulatedRun, simulate } from './run.ts';

/** Requests of one run and of each try: a few seconds of processor time, and one. */
const requestsMax = 120_000;
const requestsOfTry = 40_000;
/** The least time (s) in which batches show, which wait for 25 ms. */
const shortest = 0.2;

/** A load is carried when so much of what arrives is served meanwhile. */
const servedShareMin = 0.97;
/** Nobody asks for more than this. */
const factorMax = 100_000;

export interface Capacity {
  readonly run: SimulatedRun;
  /** Of the load that was asked about: as much is carried. */
  readonly factor: number;
  readonly first: PartName;
  /** One in so many nodes and servers was simulated. */
  readonly slice: number;
}

/** So many seconds, or as few as `most` requests take. */
function secondsFor(deployment: Deployment, most = requestsMax): number {
  const { writes, reads, deliveries, seconds } = deployment;
  return Math.min(seconds, Math.max(shortest, most / (writes + reads + deliveries)));
}

export function findCapacity(whole: Deployment, own: ProcessConnections): Capacity {
  const slice = sliceOf(whole);
  const deployment = sliced(whole, slice);
  const run = simulate(deployment, own, secondsFor(deployment));
  if (deployment.connections !== undefined) {
    return { run, factor: 1, first: firstPart(run), slice };
  }
  const tryAt = (factor: number): SimulatedRun => {
    const { writes, reads, deliveries } = deployment;
    const more = {
      ...deployment,
      writes: writes * factor,
      reads: reads * factor,
      deliveries: deliveries * factor,
    };
    return simulate(more, own, secondsFor(more, requestsOfTry));
  };
  const isCarried = carries(run);
  let carried = isCarried ? 1 : 0;
  let refused = isCarried ? Number.POSITIVE_INFINITY : 1;
  let beyond = run;
  const note = (factor: number): void => {
    const tried = tryAt(factor);
    if (carries(tried)) {
      carried = factor;
      return;
    }
    refused = factor;
    beyond = tried;
  };
  // What grows with the load grows at most with it: here is a first guess.
  const busiest = Math.max(...Object.values(run.use), 1e-4);
  for (let guess = 1 / busiest; refused > factorMax && guess <= factorMax; guess *= 1.6)
    note(guess);
  for (let guess = 0.6; carried === 0 && guess > 1e-4; guess *= 0.6) note(guess);
  while (refused / carried > 1.04 && Number.isFinite(refused)) note(Math.sqrt(refused * carried));
  return { run, factor: carried, first: firstPart(beyond), slice };
}

/** A second of more requests than this is simulated in part. */
const requestsWhole = 60_000;

/** The least part that has as many nodes for each server; all, where there is none. */
function sliceOf({ nodes, servers, writes, reads, deliveries, connections }: Deployment): number {
  if (connections !== undefined) return 1;
  const wanted = (writes + reads + deliveries) / requestsWhole;
  const fits = (slice: number) => nodes % slice === 0 && servers % slice === 0;
  const slices = Array.from({ length: Math.min(nodes, servers) }, (_, index) => index + 1);
  return slices.filter(fits).find((slice) => slice >= wanted) ?? slices.filter(fits).at(-1) ?? 1;
}

/**
 * One in so many nodes, servers and merchants, and all cells: so each process and each server has
 * as much to do, and a process as many writes for a cell, which is what batches depend on. The
 * busiest merchant stays whole.
 */
export function sliced(whole: Deployment, slice: number): Deployment {
  if (slice === 1) return whole;
  const { nodes, servers, merchants, busiest } = whole;
  const part = (1 - busiest) / slice + busiest;
  return {
    ...whole,
    nodes: nodes / slice,
    servers: servers / slice,
    merchants: Math.max(1, Math.round(merchants / slice)),
    writes: whole.writes * part,
    reads: whole.reads * part,
    deliveries: whole.deliveries * part,
    busiest: Math.max(busiest / part, slice / merchants),
  };
}

function carries(run: SimulatedRun): boolean {
  const { servedShare, refused, busiestArrived, busiestLeft } = run;
  // A few are always under way: of a small number they are a large part.
  const leftMax = (1 - servedShareMin) * busiestArrived + 20;
  return refused === 0 && servedShare >= servedShareMin && busiestLeft <= leftMax;
}

/** Who waits for one of these keeps the parts behind it in the list busy as well. */
const order: readonly PartName[] = [
  'disk',
  'database',
  'machine',
  'thread',
  'connections',
  'journal',
  'writers',
];
/** Uses that are nearer to each other than this are equal. */
const near = 0.05;

function firstPart({ use }: SimulatedRun): PartName {
  const most = Math.max(...Object.values(use));
  return order.find((part) => use[part] >= most - near) ?? 'thread';
}
