// Lets requests arrive at a deployment, and counts what came of them and how busy each part was.

import { Draws, SimulatedClock } from './clock.ts';
import { type Deployment, type ProcessConnections, placeOf, sharesOf } from './deployment.ts';
import { type Asked, NodeProcess } from './node.ts';
import { DatabaseServer } from './server.ts';
import { Processors } from './stations.ts';

/** Of the time that is simulated, what comes before the figures are taken. */
const warmUpShare = 0.2;

const partNames = {
  thread: 'processes of nodes',
  machine: 'processors of nodes',
  database: 'processors of servers',
  disk: 'flushes to disk',
  journal: 'the busiest journal',
  connections: 'connections of servers',
  writers: 'connections to write by, of processes',
} as const;

export type PartName = keyof typeof partNames;

/** How busy a part is, of 1. */
export type Use = Readonly<Record<PartName, number>>;

export const nameOfPart = (part: PartName): string => partNames[part];

interface Times {
  /** In milliseconds; null where nothing was answered. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly perSecond: number;
}

export interface SimulatedRun {
  readonly seconds: number;
  /** Of the whole run: arrived = served + refused + waiting. */
  readonly arrived: number;
  readonly served: number;
  readonly refused: number;
  readonly waiting: number;
  /** Of what arrived after the beginning, what was served in this time. */
  readonly servedShare: number;
  /** Of the busiest merchant, what arrived in this time and was not served in it. */
  readonly busiestLeft: number;
  readonly busiestArrived: number;
  readonly writes: Times;
  readonly reads: Times;
  readonly writesPerBatch: number;
  readonly flushesPerSecond: number;
  readonly use: Use;
}

/** So long (ms) has each part been busy, of what it could have been in a millisecond. */
type Busy = Record<PartName, number> & { flushes: number };

/** Journals of so many merchants are looked at, the busiest first. */
const journalsWatched = 10;

class World {
  readonly clock = new SimulatedClock();
  readonly #deployment: Deployment;
  readonly #servers: DatabaseServer[];
  readonly #machines: Processors[];
  readonly #processes: NodeProcess[];
  readonly #draws: Draws;
  readonly #shares: Float64Array;
  readonly latencies = { write: [] as number[], read: [] as number[] };
  measuredFrom = 0;
  arrived = 0;
  served = 0;
  refused = 0;
  arrivedSince = 0;
  servedSince = 0;
  busiestArrived = 0;
  busiestServed = 0;

  constructor(deployment: Deployment, own: ProcessConnections) {
    const { clock } = this;
    const { nodes, workers, cores, servers, oneMachine, seed } = deployment;
    this.#deployment = deployment;
    this.#draws = new Draws(seed);
    this.#shares = sharesOf(deployment.merchants, deployment.busiest);
    this.#machines = Array.from({ length: nodes }, () => new Processors(clock, cores));
    const shared = oneMachine ? this.#machines[0] : undefined;
    this.#servers = Array.from(
      { length: servers },
      () => new DatabaseServer(clock, this.#draws, deployment, shared),
    );
    this.#processes = this.#machines.flatMap((machine) =>
      Array.from(
        { length: workers },
        () => new NodeProcess(clock, deployment, machine, this.#servers, own),
      ),
    );
  }

  get batches(): { readonly count: number; readonly writes: number } {
    const sum = (of: (one: NodeProcess) => number) =>
      this.#processes.reduce((total, one) => total + of(one), 0);
    return { count: sum((one) => one.batches), writes: sum((one) => one.writesInBatches) };
  }

  /** Poisson: each rate by itself. */
  letArrive(): void {
    const { writes, reads, deliveries } = this.#deployment;
    this.#each(writes, () => this.#arrive('write'));
    this.#each(reads, () => this.#arrive(this.#readKind()));
    // One process of each node delivers.
    const { workers, nodes } = this.#deployment;
    this.#each(deliveries, () =>
      this.#processes[this.#draws.below(nodes) * workers]?.deliver(() => undefined),
    );
  }

  #readKind(): 'list' | 'read' {
    return this.#draws.next() < this.#deployment.lists ? 'list' : 'read';
  }

  #each(perSecond: number, action: () => void): void {
    if (perSecond === 0) return;
    const next = (): void =>
      this.clock.after(this.#draws.untilNext(perSecond / 1_000), () => {
        action();
        next();
      });
    next();
  }

  /** Each client sends the next request when it has its answer. */
  letClientsAsk(connections: number): void {
    const { writes, reads, oneMachine, costs } = this.#deployment;
    const machine = oneMachine ? this.#machines[0] : undefined;
    for (let client = 0; client < connections; client += 1) {
      const ask = (): void => {
        const isWrite = this.#draws.next() * (writes + reads) < writes;
        const kind = isWrite ? 'write' : this.#readKind();
        const send = () => this.#arrive(kind, client, ask);
        if (machine === undefined) send();
        else machine.run(costs.clientRequest, send);
      };
      ask();
    }
  }

  #arrive(kind: Asked['kind'], client?: number, then?: () => void): void {
    const { clock } = this;
    const at = clock.now();
    const merchant = placeOf(this.#shares, this.#draws.next());
    const place = client ?? this.#placeFor(merchant);
    this.arrived += 1;
    const ofBusiest = merchant === 0 ? 1 : 0;
    if (at >= this.measuredFrom) {
      this.arrivedSince += 1;
      this.busiestArrived += ofBusiest;
    }
    const answered = (isServed: boolean) => {
      if (isServed) this.served += 1;
      else this.refused += 1;
      if (isServed && clock.now() >= this.measuredFrom) {
        this.servedSince += 1;
        this.busiestServed += ofBusiest;
        this.latencies[kind === 'write' ? 'write' : 'read'].push(clock.now() - at);
      }
      then?.();
    };
    this.#processes[place % this.#processes.length]?.receive({ kind, merchant, answered });
  }

  /** Of a process: one of all, or of those of the merchant's node. */
  #placeFor(merchant: number): number {
    const { byMerchant, nodes, workers } = this.#deployment;
    if (!byMerchant) return this.#draws.below(this.#processes.length);
    return (merchant % nodes) * workers + this.#draws.below(workers);
  }

  busy(): Busy {
    const { workers, nodes } = this.#deployment;
    const mean = (values: readonly number[]) =>
      values.reduce((sum, value) => sum + value, 0) / values.length;
    const most = (of: (server: DatabaseServer) => number) => Math.max(...this.#servers.map(of));
    // The first of each node delivers, so it is busier than the others.
    const threads = Array.from({ length: workers }, (_, worker) =>
      mean(
        Array.from(
          { length: nodes },
          (__, node) => this.#processes[node * workers + worker]?.thread.busyMs ?? 0,
        ),
      ),
    );
    const journals = Array.from({ length: journalsWatched }, (_, merchant) =>
      most((server) => server.journals.heldMs(merchant)),
    );
    return {
      thread: Math.max(...threads),
      machine: mean(this.#machines.map(({ busyMs, count }) => busyMs / count)),
      database: most(({ processors }) => processors.busyMs / processors.count),
      disk: most(({ disk }) => disk.busyMs),
      journal: Math.max(...journals),
      connections: most(({ connections }) => connections.usedMs / connections.count),
      writers: mean(this.#processes.map((process) => process.writersUsedMs)),
      flushes: this.#servers.reduce((sum, { disk }) => sum + disk.flushes, 0),
    };
  }
}

/** Simulates so many seconds. Without a rate nothing arrives, and all parts are idle. */
export function simulate(
  deployment: Deployment,
  own: ProcessConnections,
  seconds: number,
): SimulatedRun {
  const world = new World(deployment, own);
  const { clock } = world;
  const end = seconds * 1_000;
  world.measuredFrom = end * warmUpShare;
  const measured = end - world.measuredFrom;
  if (deployment.connections === undefined) world.letArrive();
  else world.letClientsAsk(deployment.connections);
  clock.runUntil(world.measuredFrom);
  const before = world.busy();
  clock.runUntil(end);
  const after = world.busy();
  const { arrived, served, refused, batches, latencies } = world;
  const names = Object.keys(partNames) as PartName[];
  const useOf = (part: PartName) => Math.min(1, (after[part] - before[part]) / measured);
  const timesOf = (all: number[]): Times => {
    all.sort((a, b) => a - b);
    const at = (share: number) => all[Math.floor(share * all.length)] ?? null;
    return { p50: at(0.5), p99: at(0.99), perSecond: (all.length * 1_000) / measured };
  };
  return {
    seconds,
    arrived,
    served,
    refused,
    waiting: arrived - served - refused,
    servedShare: world.arrivedSince === 0 ? 1 : world.servedSince / world.arrivedSince,
    busiestArrived: world.busiestArrived,
    busiestLeft: world.busiestArrived - world.busiestServed,
    writes: timesOf(latencies.write),
    reads: timesOf(latencies.read),
    writesPerBatch: batches.count === 0 ? 0 : batches.writes / batches.count,
    flushesPerSecond: ((after.flushes - before.flushes) * 1_000) / measured,
    use: Object.fromEntries(names.map((part) => [part, useOf(part)])) as Use,
  };
}
