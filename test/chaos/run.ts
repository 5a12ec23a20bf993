// `npm run chaos -- --seconds N --seed S`: one run, and what came of it. Exit code 1 when something
// was found, or when the run has not met everything it must meet to prove anything.

import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';
import { describe, isGood, repetition } from './report.ts';
import { refusalOf, type Settings } from './settings.ts';

const usage = `Usage: npm run chaos -- [--seconds N] [--seed S] [settings]

  --seconds N  how long to break things, 10 to 86400 (default 600)
  --seed S     what to choose, 0 to 4294967295 (default: at random)

Settings; --workers and --cells combine with all others:
  --workers W  how many processes of each node serve, 1 to 8 (default 1)
  --cells C    among how many cells merchants are dealt out, 1 to 8 (default 1, or 3 with --citus)
  --pooler     nodes reach the database through PgBouncer, which fails, too
  --failover   the database has a synchronous standby, which takes over again and again
  --citus      cells are on the workers of the Citus cluster that TALLYBOOK_TEST_CITUS_URL names,
               which are killed as its coordinator is, and move from one to the other
`;

function numberOf(name: string, text: string, least: number, most: number): number {
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new Error(`--${name} must be a number from ${least} to ${most}\n\n${usage}`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '600' },
      seed: { type: 'string', default: String(randomInt(2 ** 32)) },
      workers: { type: 'string', default: '1' },
      cells: { type: 'string' },
      pooler: { type: 'boolean', default: false },
      failover: { type: 'boolean', default: false },
      citus: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const seconds = numberOf('seconds', values.seconds, 10, 86_400);
  const seed = numberOf('seed', values.seed, 0, 2 ** 32 - 1);
  const workers = numberOf('workers', values.workers, 1, 8);
  const { pooler, failover, citus } = values;
  const cells = numberOf('cells', values.cells ?? (citus ? '3' : '1'), 1, 8);
  const settings: Settings = { workers, cells, pooler, failover, citus };
  const refusal = refusalOf(settings);
  if (refusal !== undefined) {
    process.stderr.write(`${refusal}\n`);
    process.exit(2);
  }
  // Before anything can break: a run that ends in the middle can be repeated, too.
  process.stdout.write(`${repetition({ seed, seconds, settings }, commit())}\n`);
  const outcome = await runChaos(seed, seconds, settings);
  process.stdout.write(describe(outcome, commit()));
  // At once: two of five runs ended their work, and then never the process (a loop inside of Node).
  process.exit(isGood(outcome) ? 0 : 1);
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

await main();
