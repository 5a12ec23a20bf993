// What a run must have met to prove anything: all of it, each fault among it, and more in a long
// one.

import { expect, test } from 'vitest';
import type { Outcome } from './chaos.ts';
import { longRun, type Met, meanings } from './check/coverage.ts';
import { isGood, missed, describe as words } from './report.ts';
import { plain, refusalOf, type Settings } from './settings.ts';

const names = Object.keys(meanings) as (keyof Met)[];

function outcome(members: Partial<Outcome> = {}, times = 1): Outcome {
  return {
    ...{ seed: 1, seconds: 45, settings: plain, requests: 9, keys: 3, acknowledged: 3 },
    drainedMs: 5,
    recovery: { times: [4, 5_001], cutShort: 1 },
    faults: new Map([['database killed', 1]]),
    findings: [{ what: 'keys with two answers', faults: [] }],
    registers: { count: 1, operations: 1, faults: [] },
    met: Object.fromEntries(names.map((name) => [name, times])) as unknown as Met,
    ...members,
  };
}

test('a run that met everything and found nothing is good', () => {
  expect(missed(outcome())).toEqual([]);
  expect(isGood(outcome())).toBe(true);
  expect(words(outcome(), 'abc')).toMatch(/PASSED\nSEED=1 COMMIT=abc /);
});

test('a run is repeated with its settings', () => {
  const settings = { ...plain, workers: 2, cells: 3, pooler: true };
  const again = 'npm run chaos -- --seconds 45 --seed 1 --workers 2 --cells 3 --pooler\n';
  expect(words(outcome({ settings }), 'abc')).toContain(again);
});

test('a pooler before a server with a standby is refused with the reason', () => {
  const both = { ...plain, pooler: true, failover: true };
  expect(refusalOf(both)).toMatch(/^--pooler and --failover do not combine: .* does not confirm/);
  const pooled = { ...plain, pooler: true, citus: true };
  expect(refusalOf(pooled)).toMatch(/^--citus combines with neither/);
  expect(refusalOf(plain)).toBeUndefined();
});

test('a fault that never struck makes a run prove too little', () => {
  const idle = outcome({ faults: new Map([['disk full', 0]]) });
  expect(missed(idle)).toEqual(['disk full']);
  expect(isGood(idle)).toBe(false);
  expect(words(idle, 'abc')).toContain('FAILED: proves too little, not met: disk full');
});

const onCluster: Settings = { ...plain, citus: true };

test.each(names)('%s must have been met, and by a long run more than once', (name) => {
  const settings = onCluster;
  const { met } = outcome();
  expect(missed(outcome({ settings, met: { ...met, [name]: 0 } }))).toHaveLength(1);
  expect(missed(outcome({ settings, seconds: longRun - 1 }))).toEqual([]);
  expect(missed(outcome({ settings, seconds: longRun }, 100))).toEqual([]);
  const many = { ...outcome({}, 100).met, [name]: 9 };
  expect(missed(outcome({ settings, seconds: longRun, met: many }))).toHaveLength(1);
});

test('what only a cluster can meet is asked of no other run', () => {
  const { met } = outcome();
  const none = { ...met, servedWithoutCoordinator: 0, moveRepeated: 0 };
  expect(missed(outcome({ met: none }))).toEqual([]);
  expect(missed(outcome({ met: none, settings: onCluster }))).toHaveLength(2);
});

test('a finding makes a run bad', () => {
  const bad = outcome({ findings: [{ what: 'deadlocks', faults: ['in the log'] }] });
  expect(isGood(bad)).toBe(false);
  expect(words(bad, 'abc')).toContain('  deadlocks: 1\n    in the log');
});
