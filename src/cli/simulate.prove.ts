// `tallybook simulate` through its real process: what it prints, and what it refuses.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), 'tallybook-simulate-'));
const costs = join(directory, 'costs.json');
afterAll(() => rmSync(directory, { recursive: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without a home, a database or a setting. */
const simulate = (...flags: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const args = [program, 'simulate', '--seconds', '1', ...flags];
    const options = { cwd: directory, env: { PATH: process.env.PATH } };
    const child = execFile(process.execPath, args, options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });

test('prints what is busy, how much more is carried, sums, and the next step', async () => {
  const { code, stdout, stderr } = await simulate('--writes', '50');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Simulated 1 s \(seed 1\)\.\n/);
  expect(stdout).toMatch(/^writes +\d+\/s, p50 [\d.]+ ms, p99 [\d.]+ ms$/m);
  expect(stdout).toMatch(/^It carries [\d.]+ times this load\. First busy beyond that: \D+\.$/m);
  expect(stdout).toMatch(/^connections +34 of 100 of each server$/m);
  expect(stdout).toMatch(/^Next step:/m);
});

test('with --json prints one value, the same for one seed', async () => {
  const flags = ['--writes', '50', '--seed', '7', '--json'];
  const [first, second] = await Promise.all([simulate(...flags), simulate(...flags)]);
  expect(first.stdout).toBe(second.stdout);
  const { run, carries, next_steps } = JSON.parse(first.stdout);
  expect(run.arrived).toBe(run.served + run.refused + run.waiting);
  expect(carries).toBeGreaterThan(1);
  expect(next_steps).toBeInstanceOf(Array);
});

test('takes costs of the operator: a slow disk makes slow writes', async () => {
  writeFileSync(costs, '{"flush": 30}');
  const { stdout } = await simulate('--writes', '50', '--costs', costs, '--json');
  expect(JSON.parse(stdout).run.writes.p50).toBeGreaterThan(30);
});

test.each([
  [['--writes', 'many'], 'error: --writes is "many". It must be a number from 0 to 10,000,000.'],
  [['--nodes', '0'], 'error: --nodes is "0". It must be a number from 1 to 10,000.'],
  [['--cores', '1.5'], 'error: --cores is "1.5". It must be a whole number, 1 or more.'],
  [['--latency', '-1'], 'error: --latency is "-1".'],
  [['--merchants', '10', '--busiest', '0.01'], 'error: --busiest must be at least 1 ÷'],
  [['--merchants', '1', '--busiest', '0.5'], 'error: --busiest must be at least'],
  [['--servers', '2', '--cells', '1'], 'error: --cells must be as many as --servers'],
  [['--one-machine', '--nodes', '2'], 'error: --one-machine goes with one of --nodes'],
  [['--connections-max', '5'], 'error: --connections-max must be 10 or more'],
  [['--writes', '0', '--reads', '0'], 'error: --writes or --reads must be more than 0'],
  [['--costs', 'nowhere.json'], 'error: --costs nowhere.json: '],
  [['--costs', program], `error: --costs ${program}: `],
])('%j is refused by the name of the flag', async (flags, message) => {
  const { code, stdout, stderr } = await simulate(...flags);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
});
