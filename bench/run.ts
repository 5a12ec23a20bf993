// `npm run bench`: one run, on one machine, of the service and of the same work by the database
// alone. It ends what it started however it ends, and judges itself: the exit code is 1 when there
// was an error, or the ledger is not what the answers said.

import { judgeBars } from './judge/bars.ts';
import { together, type Verdict } from './judge/verdict.ts';
import { type Options, readOptions, usage } from './options.ts';
import { runCases } from './parts/case-part.ts';
import { runGrowth } from './parts/growth-part.ts';
import { print } from './print/print.ts';
import { rampSeconds } from './raw/driver.ts';
import { type RunResults, writeResults } from './results.ts';
import { settingsOf } from './setup/database.ts';
import { machineNow } from './setup/usage.ts';
import { Ending, type OnStage, type Stage, startStage } from './stage.ts';

const ending = new Ending();

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function bench(options: Options): Promise<Verdict> {
  const startedAt = new Date();
  const machine = machineNow();
  let facts: Facts | undefined;
  const onStage: OnStage = async (act) => {
    const stage = await startStage(options, ending, progress);
    facts ??= await factsOf(stage);
    const result = await act(stage, options);
    await stage.end();
    return result;
  };
  const cases = options.parts.includes('cases') ? await runCases(options, onStage) : undefined;
  const growth = options.parts.includes('growth') ? await onStage(runGrowth) : undefined;
  if (facts === undefined) throw new Error('there was nothing to do');
  const seconds = (Date.now() - startedAt.getTime()) / 1_000;
  const verdict = together([cases, growth].flatMap((part) => part?.verdict ?? []));
  const bars = judgeBars({ cases, growth, drivers: facts.drivers });
  const measured = { verdict, cases, growth, bars };
  const results: RunResults = { startedAt, seconds, machine, ...facts, options, ...measured };
  print(results);
  console.log(`Every measurement: ${await writeResults(startedAt, results)}`);
  return verdict;
}

type Facts = Pick<RunResults, 'settings' | 'drivers'>;

async function factsOf({ database, load, raw }: Stage): Promise<Facts> {
  return {
    settings: await settingsOf(database.owner),
    drivers: { load: load.name, raw: raw.name, rampSeconds },
  };
}

/**
 * Whatever is being waited for fails once its process is gone; this waits for the ending. A Ctrl-C
 * comes more than once: to all processes of the terminal, and from those that started this one.
 */
function endOnSignal(): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => {
      progress('stopping');
      void ending.end(progress).then(() => process.exit(code));
    });
  }
}

async function main(): Promise<void> {
  let options: Options | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exitCode = 2;
    return;
  }
  if (options === undefined) {
    process.stdout.write(usage);
    return;
  }
  endOnSignal();
  try {
    const { faults } = await bench(options);
    if (faults.length > 0) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  } finally {
    await ending.end(progress);
  }
}

await main();
