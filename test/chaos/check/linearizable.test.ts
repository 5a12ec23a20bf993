// Tests the check: it must find an order where there is one, and none where a stale read, a
// lost or a doubled write was planted.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from '../random.ts';
import { type Operation, refute } from './linearizable.ts';

const set = (start: number, end: number, quantity: string, version?: number): Operation => ({
  ...{ kind: 'set', start, end, name: `set ${quantity}`, quantity, version },
});
const read = (start: number, end: number, quantity: string, version: number): Operation => ({
  ...{ kind: 'read', start, end, name: `read ${quantity}`, quantity, version },
});
const noChange = (start: number, end: number, quantity: string): Operation => ({
  ...{ kind: 'no-change', start, end, name: `no change ${quantity}`, quantity },
});

describe('an order is found', () => {
  test.each<[string, Operation[]]>([
    ['nothing at all', []],
    ['one after the other', [set(0, 1, '5', 1), read(2, 3, '5', 1), set(4, 5, '7', 2)]],
    ['against the order of starts', [set(0, 9, '5', 2), set(1, 2, '7', 1), read(3, 4, '7', 1)]],
    ['a read beside the write it sees', [set(0, 9, '5', 1), read(1, 2, '5', 1)]],
    ['a read beside a write it does not see', [set(0, 9, '5', 1), read(1, 2, '0', 0)]],
    ['a refusal between two changes', [set(0, 9, '5', 1), noChange(1, 9, '5'), set(8, 9, '6', 2)]],
    ['a refusal before the first change', [noChange(0, 1, '0'), set(2, 3, '1', 1)]],
    ['an unanswered write that was done', [set(0, Infinity, '5'), read(5, 6, '5', 1)]],
    ['an unanswered write that was not', [set(0, Infinity, '5'), read(5, 6, '0', 0)]],
    ['a write whose version nobody saw', [set(0, 3, '5'), set(1, 4, '6'), read(5, 6, '5', 2)]],
  ])('%s', (_, operations) => {
    expect(refute(operations)).toBeUndefined();
  });
});

describe('no order is found', () => {
  test.each<[string, Operation[]]>([
    ['a stale read', [set(0, 1, '5', 1), read(2, 3, '0', 0)]],
    ['a read from the future', [read(0, 1, '5', 1), set(2, 3, '5', 1)]],
    ['a read that goes back', [set(0, 9, '5', 1), read(1, 2, '5', 1), read(3, 4, '0', 0)]],
    ['a lost write', [set(0, 1, '5', 1), set(2, 3, '6', 2), read(4, 5, '5', 1)]],
    ['a doubled write', [set(0, 1, '5', 1), read(2, 3, '5', 2)]],
    ['two writes with one version', [set(0, 9, '5', 1), set(0, 9, '6', 1)]],
    ['versions against real time', [set(0, 1, '5', 2), set(2, 3, '6', 1)]],
    ['a refusal of what it never was', [set(0, 1, '5', 1), noChange(2, 3, '7')]],
    ['a refusal of what it no longer was', [set(0, 1, '5', 1), noChange(2, 3, '0')]],
    ['a write that changes nothing', [set(0, 1, '0', 1)]],
    ['an unanswered write done twice', [set(0, Infinity, '5'), read(5, 6, '5', 2)]],
  ])('%s', (_, operations) => {
    expect(refute(operations)).toBeDefined();
  });
});

/** What one register really answered to overlapping requests, each with its instant inside. */
function history(seed: number, length: number): Operation[] {
  const random = new Random(seed);
  let state = { quantity: '0', version: 0 };
  return Array.from({ length }, (_, instant): Operation => {
    const start = instant - random.between(0, 6);
    const end = instant + random.between(0, 6);
    const quantity = String(random.below(4));
    const choice = random.next();
    if (choice < 0.5) {
      return { ...{ kind: 'read', start, end, name: `${instant}`, ...state } };
    }
    if (quantity === state.quantity)
      return { ...noChange(start, end, quantity), name: `${instant}` };
    state = { quantity, version: state.version + 1 };
    return { ...set(start, end, quantity, state.version), name: `${instant}` };
  });
}

test('every history of a real register has an order, also when nobody saw the versions', () => {
  fc.assert(
    fc.property(fc.integer(), fc.boolean(), (seed, isBlind) => {
      const operations = history(seed, 60).map((one) =>
        isBlind && one.kind === 'set' ? { ...one, version: undefined } : one,
      );
      expect(refute(operations)).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});

test('a stale read planted in a history is found, wherever it is', () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(), (seed, place) => {
      const operations = history(seed, 60);
      const writes = operations.filter((one) => one.kind === 'set');
      const write = writes[place % Math.max(1, writes.length - 1)];
      const later = writes[writes.indexOf(write as Operation & { kind: 'set' }) + 1];
      if (write?.version === undefined || later === undefined) return;
      const after = later.end + 1;
      const stale = read(after, after + 1, write.quantity, write.version);
      expect(refute([...operations, stale])).toBeDefined();
    }),
    { numRuns: 200 },
  );
});

test('ten thousand operations are checked within seconds', () => {
  const started = performance.now();
  expect(refute(history(7, 10_000))).toBeUndefined();
  expect(performance.now() - started).toBeLessThan(5_000);
});
