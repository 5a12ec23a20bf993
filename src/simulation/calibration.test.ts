// The simulation beside what was measured: the figures stand in docs/contribute/performance.md.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defaultCosts } from './costs.ts';
import type { Deployment } from './deployment.ts';
import { simulate } from './run.ts';

const page = readFileSync(new URL('../../docs/contribute/performance.md', import.meta.url), 'utf8');

/** Requests a second that a row of the table says, by the number of connections. */
function measured(title: string, connections: number): number {
  const row = page
    .split('\n')
    .find((line) => new RegExp(`^\\| ${title} (\\|[^|]+){6}\\|$`).test(line));
  const cells = row?.split('|').map((cell) => Number(cell.replaceAll(',', ''))) ?? [];
  return cells[2 + [1, 16, 64, 256].indexOf(connections)] ?? Number.NaN;
}

/** One process, its database and its clients on two processors, as the benchmark has it. */
const bench: Deployment = {
  merchants: 1,
  writes: 1,
  reads: 0,
  lists: 0,
  deliveries: 0,
  busiest: 1,
  nodes: 1,
  workers: 1,
  cores: 2,
  servers: 1,
  databaseCores: 2,
  cells: 1,
  latency: 0,
  standby: undefined,
  connectionsMax: 100,
  byMerchant: false,
  oneMachine: true,
  connections: 1,
  movements: 0,
  seconds: 5,
  seed: 1,
  costs: defaultCosts,
};
const reading = { ...bench, writes: 0, reads: 1 };
const cases = [
  ['adjust, 100,000 levels', bench],
  ['get product', reading],
  ['list 50 products', { ...reading, lists: 1 }],
] as const;

test.each(
  cases.flatMap(([title, deployment]) =>
    [1, 64, 256].map((connections) => [title, connections, deployment] as const),
  ),
)('%s with %i connections: within 25 %% of what was measured', (title, connections, deployment) => {
  const run = simulate({ ...deployment, connections }, { reads: 12, each: 21 }, 5);
  const ratio = (run.writes.perSecond + run.reads.perSecond) / measured(title, connections);
  expect(ratio).toBeGreaterThan(0.75);
  expect(ratio).toBeLessThan(1.25);
});

test('batches grow with the connections, as measured: 20 writes at 64', () => {
  const sizes = [1, 64, 256].map(
    (connections) => simulate({ ...bench, connections }, { reads: 12, each: 21 }, 2).writesPerBatch,
  );
  expect(sizes[0]).toBeCloseTo(1, 1);
  expect(sizes[1]).toBeGreaterThan(16);
  expect(sizes[1]).toBeLessThan(28);
  expect(sizes[2]).toBeGreaterThan(40);
});
