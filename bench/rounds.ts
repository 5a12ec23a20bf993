// The measurements themselves, in rounds: each round measures everything once, the service and the
// raw figures in turn, so that what disturbs the machine for a while disturbs all of them.

import type { Case } from './cases.ts';
import type { LoadGenerator } from './load/generator.ts';
import type { Measured } from './measure.ts';
import type { Options } from './options.ts';
import type { RawDriver } from './raw/driver.ts';
import type { Sample, Series } from './results.ts';
import { familyProcessorMs, processorMs, residentBytes } from './setup/usage.ts';

export interface Bench {
  readonly cases: readonly Case[];
  readonly load: LoadGenerator;
  readonly raw: RawDriver;
  readonly servicePid: number;
  readonly postmaster: number | undefined;
}

export interface Figures {
  readonly served: readonly Series[];
  readonly raw: readonly Series[];
  readonly errors: { readonly count: number; readonly faults: readonly string[] };
}

type Growing = Series & { readonly samples: Sample[] };

export async function runRounds(
  bench: Bench,
  options: Options,
  progress: (text: string) => void,
): Promise<Figures> {
  const meter = new Meter(bench);
  const clients = options.connections.includes(1) ? [1, ...options.rawClients] : options.rawClients;
  const served = seriesOf(bench.cases, options.connections);
  const raw = seriesOf(bench.cases, [...new Set(clients)]);
  for (const one of bench.cases) {
    progress(`warming up: ${one.title}`);
    await meter.serve(one, Math.max(...options.connections), options.warmUpSeconds);
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const one of bench.cases) {
      progress(`round ${round} of ${options.rounds}: ${one.title}`);
      for (const series of served.filter((each) => each.case === one.name)) {
        series.samples.push(await meter.serve(one, series.parallel, options.seconds));
      }
      if (round > options.rawRounds) continue;
      for (const series of raw.filter((each) => each.case === one.name)) {
        series.samples.push(await meter.drive(one, series.parallel, options.seconds));
      }
    }
  }
  return { served, raw, errors: { count: meter.errors, faults: meter.faults } };
}

function seriesOf(cases: readonly Case[], parallel: readonly number[]): Growing[] {
  return cases.flatMap(({ name }) =>
    parallel.map((number) => ({ case: name, parallel: number, samples: [] })),
  );
}

class Meter {
  errors = 0;
  readonly faults: string[] = [];
  readonly #bench: Bench;

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  async serve(one: Case, connections: number, seconds: number): Promise<Sample> {
    const { load, servicePid } = this.#bench;
    const before = processorMs(servicePid);
    const sample = await this.#measure(`${one.title}, ${connections} connections`, () =>
      load.run(one.request, connections, seconds),
    );
    const serviceMs = difference(processorMs(servicePid), before);
    return { ...sample, serviceMs, residentBytes: residentBytes(servicePid) };
  }

  async drive(one: Case, clients: number, seconds: number): Promise<Sample> {
    const { raw } = this.#bench;
    return this.#measure(`${one.title}, ${clients} clients of ${raw.name}`, () =>
      raw.run(one.raw, clients, seconds),
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
