// What must hold of any simulated deployment, whatever the costs: nothing is lost, more of a part
// is never worse, and one seed has one result.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent, extentName, seed } from '../../test/kit/extent.ts';
import { nextSteps } from './advice.ts';
import { sumsOf } from './arithmetic.ts';
import { type Capacity, findCapacity, sliced } from './capacity.ts';
import { costsFrom, defaultCosts } from './costs.ts';
import { type Deployment, placeOf, sharesOf } from './deployment.ts';
import { simulate } from './run.ts';

const own = { reads: 20, each: 29 };

const plain: Deployment = {
  merchants: 400,
  writes: 200,
  reads: 0,
  lists: 0,
  deliveries: 0,
  busiest: 1 / 400,
  nodes: 4,
  workers: 2,
  cores: 4,
  servers: 1,
  databaseCores: 2,
  cells: 1,
  latency: 0.2,
  standby: undefined,
  connectionsMax: 500,
  byMerchant: false,
  oneMachine: false,
  connections: undefined,
  movements: 0,
  seconds: 1,
  seed: 1,
  costs: defaultCosts,
};

const writesOf = (changes: Partial<Deployment>) =>
  simulate({ ...plain, connections: 512, ...changes }, own, 1).writes.perSecond;

test(`what arrived was served, refused, or waits: ${extentName}`, () => {
  const deployments = fc.record({
    writes: fc.integer({ min: 0, max: 6_000 }),
    reads: fc.integer({ min: 1, max: 4_000 }),
    lists: fc.constantFrom(0, 0.5, 1),
    deliveries: fc.integer({ min: 0, max: 500 }),
    nodes: fc.integer({ min: 1, max: 5 }),
    workers: fc.integer({ min: 1, max: 3 }),
    cells: fc.integer({ min: 2, max: 6 }),
    servers: fc.integer({ min: 1, max: 2 }),
    connectionsMax: fc.constantFrom(10, 100),
    standby: fc.constantFrom(undefined, 1),
    connections: fc.constantFrom(undefined, 1, 50),
    seed: fc.nat(),
  });
  fc.assert(
    fc.property(deployments, (changes) => {
      const run = simulate({ ...plain, ...changes }, own, 0.3);
      expect(run.served + run.refused + run.waiting).toBe(run.arrived);
      expect(run.waiting).toBeGreaterThanOrEqual(0);
      const { connections } = changes;
      if (connections !== undefined) expect(run.waiting).toBeLessThanOrEqual(connections);
    }),
    { seed, numRuns: extent(10, 60) },
  );
});

test('one seed has one result, and another seed another', () => {
  const first = simulate(plain, own, 1);
  expect(simulate(plain, own, 1)).toEqual(first);
  expect(simulate({ ...plain, seed: 2 }, own, 1)).not.toEqual(first);
});

describe('more of a part is never slower', () => {
  /** Of equal rates one is a few thousandths of the other, as it is drawn. */
  const chance = 0.98;

  test.each([
    ['processors of the server', [1, 2, 4, 8].map((databaseCores) => ({ databaseCores }))],
    [
      'processors of a node',
      [1, 2, 4].map((cores) => ({ cores, nodes: 1, workers: 4, databaseCores: 16 })),
    ],
    ['nodes', [1, 2, 4].map((nodes) => ({ nodes, workers: 1, databaseCores: 32 }))],
    [
      'a faster disk',
      [20, 5, 1, 0.1].map((flush) => ({ costs: { ...defaultCosts, flush }, databaseCores: 8 })),
    ],
  ] as const)('%s', (_, steps) => {
    const rates = steps.map((changes) => writesOf(changes));
    for (const [index, rate] of rates.entries()) {
      expect(rate).toBeGreaterThanOrEqual((rates[index - 1] ?? 0) * chance);
    }
    expect(rates.at(-1)).toBeGreaterThan((rates[0] ?? 0) * 1.2);
  });
});

describe('twice the servers with twice the cells', () => {
  const one = { ...plain, nodes: 16, databaseCores: 1, connections: 512 };
  const { writes, writesPerBatch } = simulate(one, own, 1);

  test('carry twice as much, as long as nodes have time', () => {
    const two = { ...one, servers: 2, cells: 2, connections: 1_024 };
    const ratio = simulate(two, own, 1).writes.perSecond / writes.perSecond;
    expect(ratio).toBeGreaterThan(1.8);
    expect(ratio).toBeLessThan(2.2);
  });

  test('and twice the nodes carry less, because batches of a node and a cell are smaller', () => {
    const two = { ...one, servers: 2, cells: 2, connections: 1_024, nodes: 32 };
    const run = simulate(two, own, 1);
    expect(run.writesPerBatch).toBeLessThan(writesPerBatch * 0.7);
    expect(run.writes.perSecond / writes.perSecond).toBeLessThan(1.8);
  });
});

test('a journal is locked by one batch at a time: more nodes do not help its merchant', () => {
  const alone = { merchants: 1, busiest: 1, databaseCores: 32, workers: 1 };
  const few = writesOf({ ...alone, nodes: 4 });
  expect(writesOf({ ...alone, nodes: 16 })).toBeLessThan(few * 1.1);
  const { use } = simulate({ ...plain, ...alone, nodes: 16, connections: 512 }, own, 1);
  expect(use.journal).toBeGreaterThan(0.95);
});

test('a merchant at one node has larger batches, so that its journal is waited for less', () => {
  const busy = { ...plain, writes: 2_500, nodes: 16, workers: 1, databaseCores: 16, busiest: 0.5 };
  const spread = simulate(busy, own, 2);
  const together = simulate({ ...busy, byMerchant: true }, own, 2);
  expect(together.writesPerBatch).toBeGreaterThan(spread.writesPerBatch * 1.2);
  expect(together.writes.p99).toBeLessThan(spread.writes.p99 ?? 0);
});

describe('the load that is carried', () => {
  const capacityOf = (changes: Partial<Deployment>): Capacity =>
    findCapacity({ ...plain, ...changes }, own);

  test('is found: it is served, and a quarter more is not', () => {
    const { factor, first } = capacityOf({ nodes: 1, workers: 1, writes: 500, seconds: 8 });
    expect(first).toBe('thread');
    const at = (by: number) =>
      simulate({ ...plain, nodes: 1, workers: 1, writes: 500 * factor * by }, own, 4);
    expect(at(0.9).servedShare).toBeGreaterThan(0.95);
    expect(at(1.25).servedShare).toBeLessThan(0.95);
  });

  test('is less than all where there is too much, and says what is busy', () => {
    const disk = { costs: { ...defaultCosts, flush: 50 }, databaseCores: 16, nodes: 16 };
    const { factor, first } = capacityOf({ ...disk, writes: 60_000, reads: 0 });
    expect(factor).toBeLessThan(1);
    expect(factor).toBeGreaterThan(0);
    expect(['disk', 'connections', 'writers']).toContain(first);
  });

  test('of a slice keeps each part as busy as in the whole, and batches as large', () => {
    const whole = { ...plain, nodes: 8, servers: 4, cells: 8, writes: 8_000, merchants: 4_000 };
    const even = { ...whole, databaseCores: 4, workers: 1, busiest: 1 / 4_000 };
    const run = simulate(even, own, 1);
    const part = simulate(sliced(even, 4), own, 1);
    for (const [of, all] of [
      [part.use.thread, run.use.thread],
      [part.use.database, run.use.database],
      [part.writesPerBatch, run.writesPerBatch],
    ] as const) {
      expect(of / all).toBeGreaterThan(0.85);
      expect(of / all).toBeLessThan(1.15);
    }
  });
});

test('shares are those of a power of the rank, the first as asked', () => {
  for (const [merchants, busiest] of [
    [1, 1],
    [10, 0.1],
    [10, 0.5],
    [100_000, 0.01],
  ] as const) {
    const sums = sharesOf(merchants, busiest);
    expect(sums[0]).toBeCloseTo(busiest, 3);
    expect(sums.at(-1)).toBeCloseTo(1, 9);
    expect(placeOf(sums, 0)).toBe(0);
    expect(placeOf(sums, 0.999_999_999)).toBe(merchants - 1);
  }
});

test('costs of a file replace those of the same name, and others are refused', () => {
  expect(costsFrom('{"flush": 2}')).toEqual({ ...defaultCosts, flush: 2 });
  expect(() => costsFrom('[]')).toThrow('one JSON object');
  expect(() => costsFrom('{"flash": 2}')).toThrow('"flash" is no cost; there are nodeRequest');
  expect(() => costsFrom('{"flush": -1}')).toThrow('"flush" must be a number, 0 or more');
  expect(() => costsFrom('{"databaseLoadShare": 2}')).toThrow('must be at most 1');
});

test('the next step follows from what is busy, and from sums', () => {
  const stepsOf = (changes: Partial<Deployment>, first: Capacity['first'], factor = 1) => {
    const deployment = { ...plain, ...changes };
    const capacity = { run: simulate(deployment, own, 0.1), factor, first, slice: 1 };
    return nextSteps(deployment, capacity, sumsOf(deployment, capacity, 40));
  };
  expect(stepsOf({}, 'thread', 2)).toEqual([]);
  expect(stepsOf({}, 'thread')).toEqual([expect.stringContaining('--workers 4')]);
  expect(stepsOf({ workers: 4 }, 'thread')).toEqual([expect.stringContaining('more nodes')]);
  expect(stepsOf({}, 'database')).toEqual([expect.stringContaining('more than 2 processors')]);
  expect(stepsOf({ databaseCores: 64 }, 'database')).toEqual([
    expect.stringContaining('more cells on more servers'),
  ]);
  expect(stepsOf({ connectionsMax: 100 }, 'thread', 2)).toEqual([
    expect.stringContaining('a pooler'),
  ]);
  expect(stepsOf({ movements: 1_000_000 }, 'thread', 2)).toEqual([
    expect.stringContaining('a standby'),
  ]);
  expect(stepsOf({ writes: 100_000, busiest: 0.01 }, 'thread', 2)).toEqual([
    expect.stringContaining('a rate limit'),
  ]);
});
