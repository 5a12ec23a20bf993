// The raw figures by pgbench. It logs every transaction, so that the figures cover the same kind of
// window as the service's: whole seconds after the new connections have planned and compiled.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Measured, measured } from '../measure.ts';
import { runProgram } from '../setup/program.ts';
import { type RawWork, renamed, writable } from './statement.ts';

interface PgbenchJob {
  readonly url: string;
  readonly directory: string;
  readonly work: RawWork;
  readonly clients: number;
  readonly seconds: number;
  readonly rampSeconds: number;
}

export async function runPgbench(pgbench: string, job: PgbenchJob): Promise<Measured> {
  const { work, clients, seconds, rampSeconds } = job;
  const cwd = join(job.directory, 'pgbench');
  await rm(cwd, { recursive: true, force: true });
  await mkdir(cwd);
  const scripts = work.map(scriptOf);
  for (const { name, text } of scripts) await writeFile(join(cwd, name), text);
  const running = runProgram(
    pgbench,
    [
      ...['--no-vacuum', '--protocol=prepared', '--log', '--log-prefix=transactions'],
      ...scripts.map(({ name, weight }) => `--file=${name}@${weight}`),
      `--client=${clients}`,
      `--jobs=${Math.min(clients, availableParallelism())}`,
      `--time=${seconds + rampSeconds}`,
      ...scripts.flatMap(({ definitions }) => definitions),
    ],
    { limitMs: (seconds + rampSeconds) * 1_000 + 20_000, cwd, env: connection(job.url) },
  );
  // One that is aborted is an error of the run, which goes on: the rest of it is worth keeping.
  const failure = await running.then(
    () => undefined,
    (error: Error) => error.message,
  );
  const result = measuredByLog(await transactions(cwd), seconds);
  if (failure === undefined) return result;
  return { ...result, errors: result.errors + 1, firstError: failure };
}

/** Names are the script's own: pgbench has one set of variables for all scripts. */
function scriptOf({ weight, statement }: RawWork[number], index: number) {
  const own = (name: string) => `${name}_${index}`;
  const draws = Object.entries(statement.numbers).map(
    ([name, most]) => `\\set ${own(name)} random(1, ${most})\n`,
  );
  // A statement is one line: pgbench ends it at the semicolon, and blanks mean nothing here.
  const line = renamed(statement.text, (name) => `:${own(name)}`).replace(/\s+/g, ' ');
  return {
    name: `script-${index}.sql`,
    weight,
    text: `${draws.join('')}${line};\n`,
    definitions: Object.entries(statement.constants).map(
      ([name, value]) => `--define=${own(name)}=${value}`,
    ),
  };
}

/** As libpq reads it; a password on the command line would show in the list of processes. */
function connection(url: string): Record<string, string> {
  const { username, password, port, pathname, hostname, searchParams } = new URL(url);
  return {
    PGHOST: searchParams.get('host') ?? hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
    PGSSLMODE: 'disable',
    PGOPTIONS: writable,
  };
}

interface Transactions {
  /** When each ended, in microseconds. */
  readonly ends: Float64Array;
  /** How long each took, in microseconds. */
  readonly durations: Float64Array;
  readonly failures: readonly string[];
}

/** A line is: client, transaction, duration, script, second and microsecond of its end. */
async function transactions(directory: string): Promise<Transactions> {
  const names = (await readdir(directory)).filter((name) => name.startsWith('transactions.'));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  const lines = texts.flatMap((text) => text.trimEnd().split('\n')).filter((line) => line !== '');
  const fields = lines.map((line) => line.split(' '));
  const good = fields.filter(([, , duration = '']) => /^[0-9]+$/.test(duration));
  return {
    ends: Float64Array.from(
      good,
      ([, , , , second, micro]) => Number(second) * 1e6 + Number(micro),
    ),
    durations: Float64Array.from(good, ([, , duration]) => Number(duration)),
    failures: lines.filter((_, index) => !/^[0-9]+$/.test(fields[index]?.[2] ?? '')),
  };
}

/** The window is the last `seconds` before the last transaction ended: all clients were at work. */
function measuredByLog({ ends, durations, failures }: Transactions, seconds: number): Measured {
  const last = ends.reduce((latest, end) => Math.max(latest, end), 0);
  const from = last - seconds * 1e6;
  const latencies = durations.filter((_, index) => (ends[index] ?? 0) > from);
  return measured(
    latencies.map((duration) => duration / 1_000),
    { seconds, total: ends.length, movements: 0, errors: failures.length, firstError: failures[0] },
  );
}
