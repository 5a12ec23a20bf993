// Starts what a part of a run needs, in a temporary directory, and ends it the other way round.
// Nothing is ended that was not started here.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadGenerator, startLoad } from './load/generator.ts';
import { type Options, resultsDirectory } from './options.ts';
import { statementSettings } from './parts/statements.ts';
import { type RawDriver, startRaw } from './raw/driver.ts';
import { createFunctions } from './raw/functions.ts';
import { type BareServer, startBare } from './setup/bare.ts';
import { type BenchDatabase, startDatabase } from './setup/database.ts';
import { type BenchService, startService } from './setup/service.ts';

export interface Stage {
  readonly database: BenchDatabase;
  readonly load: LoadGenerator;
  readonly raw: RawDriver;
  progress(text: string): void;
  startService(): Promise<BenchService>;
  startBare(answer: string): Promise<BareServer>;
  /** Before the next part begins. */
  end(): Promise<void>;
}

/** Does something on a stage of its own, and ends it. */
export type OnStage = <Result>(
  act: (stage: Stage, options: Options) => Promise<Result>,
) => Promise<Result>;

/** What is to be ended. It may end early what it is told to, and all of it only once. */
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

/** @param ending of the whole run: the stage ends with it, if not before. */
export async function startStage(
  options: Options,
  ending: Ending,
  progress: (text: string) => void,
): Promise<Stage> {
  const own = new Ending();
  ending.add(() => own.end(progress));
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-bench-'));
  own.add(() => rm(directory, { recursive: true, force: true }));
  progress('starting PostgreSQL');
  const database = await own.started(
    startDatabase(directory, options.statements ? statementSettings : {}),
  );
  await createFunctions(database.owner);
  const load = startLoad(directory, options.load);
  own.add(() => load.stop());
  const raw = startRaw(database.serviceUrl, directory, options.raw);
  own.add(() => raw.stop());
  const { isLogged } = options;
  const nodeFlags = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${resultsDirectory}`] : [];
  const databaseUrl = database.serviceUrl;
  return {
    database,
    load,
    raw,
    progress,
    startService: () => own.started(startService({ databaseUrl, directory, isLogged, nodeFlags })),
    startBare: (answer) => own.started(startBare(directory, answer, isLogged)),
    end: () => own.end(progress),
  };
}
