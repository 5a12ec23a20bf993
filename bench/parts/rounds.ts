// The measurements themselves, in rounds: each round measures everything once, the service and the
// raw figures in turn, so that what disturbs the machine for a while disturbs all of them.

import { type Case, planOf, rawOf } from '../cases/case.ts';
import type { Sample, Series } from '../comparison.ts';
import type { LoadGenerator } from '../load/generator.ts';
import type { Measured } from '../measure.ts';
import type { Pace } from '../options.ts';
import type { RawDriver } from '../raw/driver.ts';
import type { RawWork } from '../raw/statement.ts';
import { familyProcessorMs, processorMs, residentBytes } from '../setup/usage.ts';

/** A process that answers HTTP. */
export interface MeasuredServer {
  readonly pid: number;
  readonly origin: string;
  log(): string;
}

export interface Bench {
  readonly servers: Readonly<Partial<Record<Case['server'], MeasuredServer>>>;
  readonly load: LoadGenerator;
  readonly raw: RawDriver;
  readonly postmaster: number | undefined;
  progress(text: string): void;
}

export interface Figures {
  readonly served: readonly Series[];
  readonly raw: readonly Series[];
  readonly errors: { readonly count: number; readonly faults: readonly string[] };
}

type Growing = Series & { readonly samples: Sample[] };

export async function runRounds(
  bench: Bench,
  cases: readonly Case[],
  pace: Pace,
): Promise<Figures> {
  const meter = new Meter(bench);
  const served = cases.flatMap((one) => seriesOf(one, pace.connections));
  const raw = cases.flatMap((one) => seriesOf(one, clientsOf(one, pace)));
  for (const one of cases) {
    bench.progress(`warming up: ${one.title}`);
    await meter.serve(one, Math.max(...pace.connections), pace.warmUpSeconds);
  }
  for (let round = 1; round <= pace.rounds; round += 1) {
    for (const one of cases) {
      bench.progress(`round ${round} of ${pace.rounds}: ${one.title}`);
      for (const series of served.filter((each) => each.case === one.name)) {
        series.samples.push(await meter.serve(one, series.parallel, pace.seconds));
      }
      const work = round > pace.rawRounds ? undefined : rawOf(one);
      if (work === undefined) continue;
      for (const series of raw.filter((each) => each.case === one.name)) {
        series.samples.push(await meter.drive(one.title, work, series.parallel, pace.seconds));
      }
    }
  }
  return { served, raw, errors: { count: meter.errors, faults: meter.faults } };
}

/**
 * Reads wait for nothing but processors: with more clients than a few for each they get slower, so
 * the smallest number does.
 */
function clientsOf(one: Case, { connections, rawClients }: Pace): readonly number[] {
  if (rawOf(one) === undefined) return [];
  const isRead = one.parts.every(({ request }) => request.method === 'GET');
  const most = isRead ? rawClients.slice(0, 1) : rawClients;
  return connections.includes(1) ? [...new Set([1, ...most])] : most;
}

function seriesOf({ name }: Case, parallel: readonly number[]): Growing[] {
  return parallel.map((number) => ({ case: name, parallel: number, samples: [] }));
}

class Meter {
  errors = 0;
  readonly faults: string[] = [];
  readonly #bench: Bench;

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  async serve(one: Case, connections: number, seconds: number): Promise<Sample> {
    const { load, servers } = this.#bench;
    const server = servers[one.server];
    if (server === undefined) throw new Error(`no server for ${one.title}`);
    const what = `${one.title}, ${connections} connections`;
    const before = processorMs(server.pid);
    const sample = await this.#measure(what, () =>
      load.run(server.origin, planOf(one), connections, seconds),
    );
    const serviceMs = difference(processorMs(server.pid), before);
    const resident = residentBytes(server.pid);
    const log = server.log();
    if (log !== '') this.faults.push(`${what}: the log says ${log.slice(-500)}`);
    return { ...sample, serviceMs, residentBytes: resident };
  }

  async drive(title: string, work: RawWork, clients: number, seconds: number): Promise<Sample> {
    const { raw } = this.#bench;
    return this.#measure(`${title}, ${clients} clients of ${raw.name}`, () =>
      raw.run(work, clients, seconds),
    );
  }

  async #measure(what: string, run: () => Promise<Measured>): Promise<Sample> {
    const before = familyProcessorMs(this.#bench.postmaster);
    const measured = await run();
    const databaseMs = difference(familyProcessorMs(this.#bench.postmaster), before);
    const { errors, firstError } = measured;
    this.errors += errors;
    const first = firstError?.replace(/\s+/g, ' ');
    if (errors > 0) this.faults.push(`${what}: ${errors} errors, the first: ${first}`);
    if (measured.total === 0) this.faults.push(`${what}: nothing was completed`);
    return { ...measured, databaseMs, serviceMs: undefined, residentBytes: undefined };
  }
}

function difference(after: number | undefined, before: number | undefined): number | undefined {
  return after === undefined || before === undefined ? undefined : after - before;
}
