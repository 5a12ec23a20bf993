// The measurements, in rounds: each round measures everything once, in turn, so that what disturbs
// the machine for a while disturbs all of it.

import { familyProcessorMs, processorMs, residentBytes } from '../test/kit/usage.ts';
import type { Case } from './cases.ts';
import type { Load, Measured } from './load.ts';
import { runPgbench } from './raw.ts';
import type { HttpProcess } from './servers.ts';

/** How much is measured, and how often. Whole seconds: pgbench and wrk know no others. */
export interface Pace {
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rounds: number;
  readonly connections: readonly number[];
  /** Numbers of database clients for the raw figures; the best one counts. Reads take the first. */
  readonly rawClients: readonly number[];
}

/** A measurement, and the processor time and memory that it took. */
export interface Sample extends Measured {
  readonly databaseMs: number;
  readonly serviceMs: number;
  readonly residentBytes: number;
}

/** One line of what is measured: a case of a checkout, or its raw statement. */
export interface Series {
  readonly case: string;
  readonly title: string;
  readonly by: 'service' | 'before' | 'raw';
  /** Connections, or clients of the database. */
  readonly parallel: number;
  readonly samples: Sample[];
}

/** A database with the servers in front of it. */
export interface Side {
  readonly by: 'service' | 'before';
  readonly cases: readonly Case[];
  readonly servers: Readonly<Partial<Record<Case['server'], HttpProcess>>>;
  readonly serviceUrl: string;
  readonly load: Load;
}

export class Meter {
  readonly faults: string[] = [];
  errors = 0;
  readonly #postmaster: number;
  readonly #directory: string;

  constructor(postmaster: number, directory: string) {
    this.#postmaster = postmaster;
    this.#directory = directory;
  }

  /** @param sides one, or two that are measured in alternation. */
  async measure(sides: readonly Side[], pace: Pace, isRaw: boolean): Promise<Series[]> {
    const all: Series[] = [];
    const series = (one: Case, by: Series['by'], parallel: number): Series => {
      const found = all.find(
        (each) => each.case === one.name && each.by === by && each.parallel === parallel,
      );
      if (found !== undefined) return found;
      const made = { case: one.name, title: one.title, by, parallel, samples: [] };
      all.push(made);
      return made;
    };
    for (const side of sides) {
      for (const one of side.cases) {
        progress(`warming up ${side.by}: ${one.title}`);
        await this.#serve(side, one, Math.max(...pace.connections), pace.warmUpSeconds);
      }
    }
    for (let round = 1; round <= pace.rounds; round += 1) {
      const order = round % 2 === 1 ? sides : [...sides].reverse();
      for (const [index, { name, title }] of (sides[0]?.cases ?? []).entries()) {
        progress(`round ${round} of ${pace.rounds}: ${title}`);
        for (const connections of pace.connections) {
          for (const side of order) {
            const one = side.cases[index];
            if (one?.name !== name) throw new Error(`no case ${name} of ${side.by}`);
            const sample = await this.#serve(side, one, connections, pace.seconds);
            series(one, side.by, connections).samples.push(sample);
          }
        }
        const [side] = sides;
        const one = side?.cases[index];
        if (!isRaw || side === undefined || one?.raw === undefined) continue;
        for (const clients of clientsOf(one, pace)) {
          const sample = await this.#drive(side, one, clients, pace.seconds);
          series(one, 'raw', clients).samples.push(sample);
        }
      }
    }
    return all;
  }

  async #serve(side: Side, one: Case, connections: number, seconds: number): Promise<Sample> {
    const server = side.servers[one.server];
    if (server === undefined) throw new Error(`no server for ${one.title}`);
    const before = processorMs(server.pid);
    const sample = await this.#measured(`${one.title}, ${connections} connections`, () =>
      side.load.run(server.origin, one.plan, connections, seconds),
    );
    const log = server.log();
    if (log !== '') this.faults.push(`${one.title}: the log says ${log.slice(-500)}`);
    const serviceMs = processorMs(server.pid) - before;
    return { ...sample, serviceMs, residentBytes: residentBytes(server.pid) };
  }

  #drive(side: Side, one: Case, clients: number, seconds: number): Promise<Sample> {
    return this.#measured(`${one.title}, ${clients} clients of pgbench`, () =>
      runPgbench(side.serviceUrl, this.#directory, one.raw ?? [], clients, seconds),
    );
  }

  async #measured(what: string, run: () => Promise<Measured>): Promise<Sample> {
    const before = familyProcessorMs(this.#postmaster);
    const measured = await run();
    const databaseMs = familyProcessorMs(this.#postmaster) - before;
    const { errors, firstError } = measured;
    this.errors += errors;
    if (errors > 0) this.faults.push(`${what}: ${errors} errors, the first: ${firstError}`);
    if (measured.total === 0) this.faults.push(`${what}: nothing was completed`);
    return { ...measured, databaseMs, serviceMs: 0, residentBytes: 0 };
  }
}

/** One for one connection. Reads wait for nothing but processors: the fewest clients do most. */
function clientsOf({ plan }: Case, { connections, rawClients }: Pace): readonly number[] {
  const isRead = plan.requests.every(({ template }) => template.method === 'GET');
  const most = isRead ? rawClients.slice(0, 1) : rawClients;
  return connections.includes(1) ? [...new Set([1, ...most])] : most;
}

export function progress(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

export interface Summary {
  readonly perSecond: number;
  readonly lowest: number;
  readonly highest: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
  readonly databaseMs: number;
  readonly serviceMs: number;
  readonly residentBytes: number;
}

/** Medians of the samples; of memory, the most. */
export function summaryOf({ samples }: Series): Summary {
  const rates = samples.map(perSecond);
  const of = (value: (sample: Sample) => number) => median(samples.map(value));
  return {
    perSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    errors: samples.reduce((sum, { errors }) => sum + errors, 0),
    databaseMs: of(({ databaseMs, total }) => databaseMs / Math.max(1, total)),
    serviceMs: of(({ serviceMs, total }) => serviceMs / Math.max(1, total)),
    residentBytes: Math.max(...samples.map((sample) => sample.residentBytes)),
  };
}

/** One connection is compared with one client; others with the number that gave the most. */
export function rawFor(all: readonly Series[], served: Series): Series | undefined {
  return all
    .filter((one) => one.by === 'raw' && one.case === served.case)
    .filter(({ parallel }) => (parallel === 1) === (served.parallel === 1))
    .sort((a, b) => summaryOf(b).perSecond - summaryOf(a).perSecond)[0];
}

export function perSecond({ requests, seconds }: Measured): number {
  return seconds > 0 ? requests / seconds : 0;
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? 0) + high) / 2;
}
