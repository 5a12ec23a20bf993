// `npm run prove`: the long proofs, one after the other, within `--minutes` (90). They are tests
// that try everything of which `npm test` tries a sample, mutants of the product that tests must
// notice, and clients in great number. The last line counts what passed and what failed.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface Count {
  readonly passed: number;
  readonly failed: number;
  /** How many were not tried for lack of time. */
  readonly left?: number;
}

interface Step {
  readonly name: string;
  /** A step is left out when less time is left, and ended when it exceeds the time for all. */
  readonly minutes: number;
  /** @param minutesLeft without those that later steps need. */
  readonly command: (minutesLeft: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** @param text what it wrote to its standard output. */
  readonly count: (text: string, code: number) => Count;
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '90' } } });
const limit = performance.now() + 60_000 * Number(values.minutes);
const folder = mkdtempSync(join(tmpdir(), 'tallybook-prove-'));
const report = join(folder, 'report.json');

function countTests(): Count {
  const found = JSON.parse(readFileSync(report, 'utf8'));
  return { passed: found.numPassedTests, failed: found.numFailedTests };
}

/** What has nothing to do with where merchants' data is. */
const withoutCells = [
  ...['src/cli', 'src/contract', 'src/core', 'src/http', 'src/node', 'src/oauth'],
  ...['test/chaos', 'test/compression', 'test/drift', 'test/kit', 'test/mutants'],
  ...['test/schedules', 'test/supply-chain', 'test/tidy', 'test/wire'],
];

const inCells = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  .filter((path) => path.endsWith('.test.ts'))
  .filter((path) => !withoutCells.some((one) => path.startsWith(one)));

/** A mutant that has begun is tried to its end: the longest took three minutes. */
const minutesOfLast = 4;

const mutants = (name: string, minutes: number, flags: readonly string[]): Step => ({
  name,
  minutes,
  command: (left) => [
    ...['tsx', 'test/mutants/run.ts', ...flags],
    ...['--minutes', String(Math.floor(left - minutesOfLast))],
  ],
  count: (text) => {
    const counted = /^(\d+) of (\d+) killed(?:, (\d+) left)?/m.exec(text)?.slice(1) ?? [0, 1];
    const [killed = 0, tried = 0, left = 0] = counted.map((number) => Number(number ?? 0));
    return { passed: killed, failed: tried - killed, left };
  },
});

const clusterVariable = 'TALLYBOOK_TEST_CITUS_URL';
const cluster = process.env[clusterVariable];

const onCitus = (url: string): Step => ({
  name: 'tests on Citus',
  minutes: 25,
  env: { [clusterVariable]: url },
  command: () => [
    ...['vitest', 'run', '--config', 'vitest.citus.config.ts'],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
  ],
  count: countTests,
});

const steps: readonly Step[] = [
  {
    name: 'tests of everything',
    minutes: 55,
    command: () => [
      ...['vitest', 'run', '--config', 'vitest.prove.config.ts'],
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ],
    count: countTests,
  },
  {
    name: 'what npm test tries, in three cells',
    minutes: 8,
    env: { TALLYBOOK_TEST_CELLS: '3' },
    command: () => [
      ...['vitest', 'run', ...inCells],
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ],
    count: countTests,
  },
  ...(cluster === undefined ? [] : [onCitus(cluster)]),
  {
    name: 'clients in great number',
    minutes: 4,
    command: () => ['tsx', 'bench/floods.ts'],
    count: (_, code) => ({ passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 }),
  },
  mutants('mutants of the promises', 10, []),
  mutants('a tenth of the mutants that forget the merchant', 7, ['--predicates', '--tenth']),
];

/** Ends a step that exceeds the time for all. */
function run({ command, env }: Step, left: number, later: number) {
  const child = spawn('npx', command(left - later), {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    // One step alone is for the cluster.
    env: { ...process.env, [clusterVariable]: undefined, ...env },
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
    process.stdout.write(chunk);
  });
  const end = () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  };
  const timer = setTimeout(end, 60_000 * left);
  process.once('SIGINT', end);
  return new Promise<{ text: string; code: number }>((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      process.removeListener('SIGINT', end);
      resolve({ text, code: code ?? 1 });
    });
  });
}

/** A step that did not end normally is a failure, even when it counted no failed test. */
function counted(step: Step, text: string, code: number): Count {
  try {
    const count = step.count(text, code);
    return { ...count, failed: code === 0 ? count.failed : Math.max(count.failed, 1) };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

const total = { passed: 0, failed: 0 };
const lines: string[] = [];
for (const [index, step] of steps.entries()) {
  const later = steps.slice(index + 1).reduce((sum, { minutes }) => sum + minutes, 0);
  const left = (limit - performance.now()) / 60_000;
  if (left < step.minutes) {
    lines.push(`${step.name}: left out, it needs ${step.minutes} minutes of ${left.toFixed(0)}`);
    continue;
  }
  const started = performance.now();
  const { text, code } = await run(step, left, later);
  const { passed, failed, left: untried = 0 } = counted(step, text, code);
  total.passed += passed;
  total.failed += failed;
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  const lacking = untried === 0 ? '' : `, ${untried} left for lack of time`;
  lines.push(`${step.name}: ${passed} passed, ${failed} failed${lacking}, ${minutes} minutes`);
}
rmSync(folder, { recursive: true, force: true });
if (cluster === undefined) {
  lines.push(`tests on Citus: left out, because ${clusterVariable} is not set`);
}
console.log(`\n${lines.join('\n')}\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
