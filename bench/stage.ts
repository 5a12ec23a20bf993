// Starts all that a run needs, in a temporary directory, and ends it the other way round. Nothing
// is ended that was not started here.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Case, casesOf } from './cases.ts';
import { type LoadGenerator, startLoad } from './load/generator.ts';
import type { Options } from './options.ts';
import { type RawDriver, startRaw } from './raw/driver.ts';
import { createFunctions } from './raw/functions.ts';
import { resultsDirectory } from './results.ts';
import { type BenchMerchant, createMerchant, settle } from './setup/data.ts';
import { type BenchDatabase, startDatabase } from './setup/database.ts';
import { type BenchService, startService } from './setup/service.ts';
import { statementSettings } from './statements.ts';

export interface Stage {
  readonly database: BenchDatabase;
  readonly service: BenchService;
  /** Whose records the service works on. */
  readonly served: BenchMerchant;
  readonly cases: readonly Case[];
  readonly load: LoadGenerator;
  readonly raw: RawDriver;
}

export class Ending {
  readonly #stops: (() => Promise<unknown>)[] = [];
  #ending: Promise<void> | undefined;

  add(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** Waits for a start, and ends also what is only about to be there. */
  async started<Started extends { stop(): Promise<void> }>(
    starting: Promise<Started>,
  ): Promise<Started> {
    this.add(() =>
      starting.then(
        (started) => started.stop(),
        () => undefined,
      ),
    );
    return starting;
  }

  /** May be called again, also while it is at work. What fails to end does not keep the rest. */
  end(report: (text: string) => void): Promise<void> {
    this.#ending ??= this.#end(report);
    return this.#ending;
  }

  async #end(report: (text: string) => void): Promise<void> {
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) {
      await stop().catch((error: unknown) => report(`could not clean up: ${error}`));
    }
  }
}

export async function startStage(
  options: Options,
  ending: Ending,
  progress: (text: string) => void,
): Promise<Stage> {
  const { products } = options;
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-bench-'));
  ending.add(() => rm(directory, { recursive: true, force: true }));
  progress('starting PostgreSQL');
  const database = await ending.started(
    startDatabase(directory, options.statements ? statementSettings : {}),
  );
  progress(`making two merchants of ${products} products`);
  await createFunctions(database.owner);
  const served = await createMerchant(database.owner, products);
  const raw = await createMerchant(database.owner, products);
  await settle(database.owner);
  progress('starting the service');
  const flags = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${resultsDirectory}`] : [];
  const service = await ending.started(startService(database.serviceUrl, flags));
  const { host, port } = service;
  const load = startLoad({ host, port, token: served.token, products }, options.load);
  ending.add(() => load.stop());
  const driver = startRaw(database.serviceUrl, directory, options.raw);
  ending.add(() => driver.stop());
  const cases = casesOf({ served, raw, products }, options.cases);
  return { database, service, served, cases, load, raw: driver };
}
