import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Problem } from '../../src/core/problem.ts';
import { DatabaseFailure } from '../../src/core/statement.ts';
import { extent } from '../kit/extent.ts';
import {
  type Asked,
  fingerprintOf,
  type Outcome,
  Simulation,
  shownBy,
  storedKeyOf,
  workers,
} from './simulation.ts';
import type { Fault } from './store.ts';

// The clock moves only when nothing else can happen, or when the schedule says so.
vi.mock('node:timers/promises', () => ({
  setTimeout: (delay: number) => new Promise((resolve) => setTimeout(resolve, delay)),
}));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const asked: fc.Arbitrary<Asked> = fc.record({
  node: fc.nat(1),
  merchant: fc.nat(1),
  type: fc.constantFrom('inventory.adjust', 'inventory.adjust', 'customers.create'),
  key: fc.nat(3),
  variant: fc.constantFrom(0, 0, 0, 1),
  looksFirst: fc.boolean(),
});
const calls = fc.array(asked, { minLength: 2, maxLength: 14 });

const allFaults: readonly Fault[] = [
  'cut before',
  'cut behind',
  'done late',
  'rolled back',
  '40001',
  '40P01',
  '42501',
  '53100',
  '55P03',
  '57P01',
];
const fault = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault>('none') },
  { weight: 2, arbitrary: fc.constantFrom(...allFaults) },
);
const faults = fc.array(fault, { maxLength: 24 });
/** Shorter than the waits for a batch, for a shared lock, for a duplicate, for a request. */
const delays = fc.array(fc.constantFrom(10, 30, 250, 2_100, 10_100), { maxLength: 3 });

const seen = new Map<string, number>();
const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);

/** Enough to reach every outcome of `expected`. */
const numRuns = extent(100, 250);
const seed = 20_261_121;

test('whatever fails in any order, a key has one effect and every request an answer', async () => {
  const property = fc.asyncProperty(
    fc.scheduler(),
    calls,
    faults,
    delays,
    async (schedule, requests, broken, pauses) => {
      const simulation = new Simulation(schedule, broken);
      for (const pause of pauses) {
        const passing = schedule.schedule(Promise.resolve(), `${pause} ms pass`);
        void passing.then(() => vi.advanceTimersByTime(pause));
      }
      await simulation.all(requests.map((one) => simulation.call(one)));
      await simulation.rest();
      check(simulation, requests);
      await checkWithoutFaults(simulation, requests);
    },
  );
  await fc.assert(property, { numRuns, seed });
  expect([...expected].filter((one) => !seen.has(one))).toEqual([]);
}, 120_000);

test('without a fault every caller has its answer at once, in whatever order', async () => {
  const property = fc.asyncProperty(fc.scheduler(), calls, async (schedule, requests) => {
    const simulation = new Simulation(schedule, []);
    await simulation.all(requests.map((one) => simulation.call(one)));
    await simulation.rest();
    expect(simulation.outcomes.map(kindOf).filter((kind) => kind.startsWith('no answer'))).toEqual(
      [],
    );
    check(simulation, requests);
  });
  await fc.assert(property, { numRuns, seed });
}, 120_000);

/** The outcomes that a run must reach, or it proves nothing about them. */
const expected = [
  'first',
  'first: refused',
  'replayed',
  'replayed: refused',
  'another request',
  'no answer: internal_error',
  'no answer: operation_in_progress',
  'no answer: service_unavailable',
  'no answer: timeout',
  'workers: 4',
  'workers of one merchant: 2',
];

/** The store is sound, and every answer agrees with it. */
function check(simulation: Simulation, requests: readonly Asked[]): void {
  const { store } = simulation;
  expect(simulation.outcomes).toHaveLength(requests.length);
  expect(store.violations).toEqual([]);
  expect([simulation.queued, store.locks]).toEqual([0, 0]);
  for (const { most } of simulation.writers) {
    note(`workers: ${most.held}`);
    note(`workers of one merchant: ${most.byMerchant}`);
    expect(most.held).toBeLessThanOrEqual(workers);
    expect(most.byMerchant).toBeLessThanOrEqual(workers / 2);
  }
  const { effects, operations, registers } = store.rows;
  const done = [...operations.values()].filter(({ status }) => status === 'succeeded');
  expect(effects.map((one) => one.operation_id).sort()).toEqual(done.map(({ id }) => id).sort());
  for (const merchant of new Set(done.map((one) => one.merchant_id))) {
    const count = done.filter((one) => one.merchant_id === merchant).length;
    const positions = Array.from({ length: count }, (_, index) => index + 1);
    expect(store.rows.positions(merchant), 'without gaps').toEqual(positions);
  }
  for (const [name, { sequence, value }] of registers) {
    const chain = effects
      .filter((one) => `${one.merchant_id} ${one.register}` === name)
      .sort((a, b) => a.sequence - b.sequence);
    expect(chain.map((one) => one.sequence)).toEqual(chain.map((_, index) => index + 1));
    const befores = ['0', ...chain.map((one) => one.after)].slice(0, -1);
    expect(chain.map((one) => one.before)).toEqual(befores);
    expect([sequence, value]).toEqual([chain.length, chain.at(-1)?.after]);
  }
  for (const one of simulation.outcomes) checkAnswer(simulation, one);
}

function checkAnswer(simulation: Simulation, outcome: Outcome): void {
  const { asked: request, result, operationId: own, span } = outcome;
  note(kindOf(outcome));
  const bound = simulation.store.rows.operations.get(storedKeyOf(request));
  if (result instanceof DatabaseFailure || isUnclear(result)) return;
  // Whatever is definite names the one operation of the key.
  const isSame = fingerprintOf(request).equals(bound?.fingerprint as Buffer);
  if (result instanceof Problem && result.code === 'idempotency_key_reused') {
    expect([isSame, result.details[0]?.operation_id]).toEqual([false, bound?.id]);
    return;
  }
  expect([isSame, result.operationId]).toEqual([true, bound?.id]);
  expect(result.replayed).toBe(result.operationId !== own);
  if (result instanceof Problem) {
    expect([result.code, bound?.status]).toEqual([bound?.error_code, 'rejected']);
    return;
  }
  const { id, operation_id, now } = shownBy(result);
  expect([result.resourceId, id, operation_id]).toEqual([bound?.resource_id, id, bound?.id]);
  const isCurrent = request.type === 'customers.create' || (now >= span[0] && now <= span[1]);
  expect(isCurrent, `${now} is not within ${span}`).toBe(true);
}

/**
 * Once nothing fails any more, every key has its operation, and nothing that is left delays a
 * write.
 */
async function checkWithoutFaults(
  simulation: Simulation,
  requests: readonly Asked[],
): Promise<void> {
  simulation.endFaults();
  simulation.outcomes.length = 0;
  const again = requests.map((one) => ({ ...one, looksFirst: false }));
  await simulation.all(again.map((one) => simulation.call(one)));
  await simulation.rest();
  expect(simulation.outcomes.filter(({ result }) => isUnclear(result))).toEqual([]);
  check(simulation, requests);
  await checkForgotten(simulation, again);
}

/**
 * With an empty store each write is a first one: the nodes must keep nothing of the writes before.
 */
async function checkForgotten(simulation: Simulation, requests: readonly Asked[]): Promise<void> {
  for (const request of requests) {
    for (const node of [0, 1]) {
      simulation.store.forget();
      simulation.outcomes.length = 0;
      await simulation.all([simulation.call({ ...request, node })]);
      await simulation.rest();
      expect(simulation.outcomes.map(kindOf)).toEqual([expect.stringMatching(/^first/)]);
    }
  }
  for (const node of [0, 1]) {
    simulation.store.forget();
    expect(await simulation.fill(node)).toBe(workers);
    await simulation.rest();
  }
}

function isUnclear(result: Outcome['result']): boolean {
  if (result instanceof DatabaseFailure) return true;
  return result instanceof Problem && result.status >= 500;
}

function kindOf({ result, operationId }: Outcome): string {
  if (result instanceof DatabaseFailure) return `no answer: ${result.kind}`;
  if (isUnclear(result)) return `no answer: ${(result as Problem).code}`;
  if (result instanceof Problem && result.code === 'idempotency_key_reused') {
    return 'another request';
  }
  const age = result.operationId === operationId ? 'first' : 'replayed';
  return result instanceof Problem ? `${age}: refused` : age;
}
