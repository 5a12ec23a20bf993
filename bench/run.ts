// `npm run bench`: one run, on one machine and one PostgreSQL server, of the service and of the
// same work by the database alone. It ends what it started however it ends, and judges itself: the
// exit code is 1 when there was an error, or the ledger is not what the answers said.

import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { type Options, readOptions, usage } from './options.ts';
import { rampSeconds } from './raw/driver.ts';
import { type Comparison, compare, writeResults } from './results.ts';
import { runRounds } from './rounds.ts';
import { settingsOf } from './setup/database.ts';
import { Ending, type Stage, startStage } from './stage.ts';
import { costsOf, costsTable, type StatementCost } from './statements.ts';
import { tableOf } from './table.ts';
import { judge, type Verdict } from './verdict.ts';

const ending = new Ending();

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function bench(options: Options): Promise<Verdict> {
  const startedAt = new Date();
  const machine = machineNow();
  const stage = await startStage(options, ending, progress);
  const settings = await settingsOf(stage.database.owner);
  const { postmaster } = stage.database;
  const parts = { ...stage, servicePid: stage.service.pid, postmaster };
  const figures = await runRounds(parts, options, progress);
  const statements = options.statements ? await readStatements(stage, options) : [];
  progress('verifying the ledger');
  const verdict = await judge(stage, options, figures.errors);
  const comparisons = figures.served.map((series) =>
    compare(stage.cases.find(({ name }) => name === series.case)?.title ?? '', series, figures.raw),
  );
  const drivers = { load: stage.load.name, raw: stage.raw.name, rampSeconds };
  const facts = { startedAt, machine, settings, drivers, options };
  print(facts, comparisons, statements);
  console.log(verdict.sentence);
  for (const fault of verdict.faults) console.log(`FAULT: ${fault}`);
  const measurements = { service: figures.served, raw: figures.raw };
  const results = { ...facts, verdict, comparisons, measurements, statements };
  const path = await writeResults(startedAt, results);
  console.log(`Every measurement: ${path}`);
  return verdict;
}

function machineNow() {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryBytes: totalmem(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    loadBefore: loadavg()[0] ?? 0,
  };
}

interface Facts {
  readonly machine: ReturnType<typeof machineNow>;
  readonly settings: Readonly<Record<string, string>>;
  readonly drivers: { readonly load: string; readonly raw: string };
  readonly options: Options;
}

async function readStatements({ database, load, cases }: Stage, options: Options) {
  const connections = Math.max(...options.connections);
  const all: { title: string; costs: readonly StatementCost[] }[] = [];
  for (const one of cases) {
    progress(`statements: ${one.title}`);
    const costs = await costsOf(database.owner, load, one, {
      connections,
      seconds: options.seconds,
    });
    all.push({ title: `${one.title}, ${connections} connections`, costs });
  }
  return all;
}

function print(
  { machine, settings, drivers, options }: Facts,
  comparisons: readonly Comparison[],
  statements: Awaited<ReturnType<typeof readStatements>>,
): void {
  const { cores, processor, node, loadBefore } = machine;
  const { server_version: version = '', ...others } = settings;
  const named = Object.entries(others).map(([name, value]) => `${name} = ${value || 'none'}`);
  console.log(`${cores} cores of ${processor}, load ${loadBefore.toFixed(1)} before the run`);
  console.log(`Node ${node}, PostgreSQL ${version}: ${named.join(', ')}`);
  console.log(
    `Load by ${drivers.load}, raw figures by ${drivers.raw}; ` +
      `${options.rounds} rounds of ${options.seconds} s each\n`,
  );
  console.log(`${tableOf(comparisons, drivers.raw)}\n`);
  for (const { title, costs } of statements) console.log(`${title}\n\n${costsTable(costs)}\n`);
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
