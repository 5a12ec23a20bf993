import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import { FairQueue } from './queue.ts';

// Time stands still but for what a test lets pass.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function add(queue: FairQueue<string>, merchant: string, count: number, type = 'adjust'): void {
  for (let n = 1; n <= count; n += 1) queue.add(merchant, type, `${merchant}${n}`);
}

/** Runs one batch after the other, each for so long (ms). */
function run(queue: FairQueue<string>, batches: number, duration = 0): (readonly string[])[] {
  return Array.from({ length: batches }, () => {
    const batch = queue.take();
    vi.advanceTimersByTime(duration);
    batch?.done();
    return batch?.items ?? [];
  });
}

function refusalOf(queue: FairQueue<string>, merchant: string, type?: string): Problem | undefined {
  try {
    add(queue, merchant, 1, type);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

const size = limits.batchWritesMax;
const min = limits.queuedPerMerchantMin;
const max = limits.queuedPerMerchantMax;

describe('merchants that share workers', () => {
  test('share a batch, however much one of them has queued', () => {
    const queue = new FairQueue<string>(1);
    add(queue, 'a', 5 * size);
    add(queue, 'b', 1);
    add(queue, 'c', size);
    const [first = [], second = []] = run(queue, 2);
    const share = Math.ceil(size / 3);
    expect(first).toHaveLength(size);
    expect(first.filter((item) => item.startsWith('b'))).toEqual(['b1']);
    expect(first.slice(0, share).at(-1)).toBe(`a${share}`);
    expect(first.filter((item) => item.startsWith('c'))).toHaveLength(size - share - 1);
    // What each of them left goes on where it stopped.
    expect(second.slice(0, 1)).toEqual([`a${share + 1}`]);
    expect(second.filter((item) => item.startsWith('c'))).toHaveLength(share + 1);
    expect(run(queue, 5).flat()).toHaveLength(6 * size + 1 - 2 * size);
    expect(queue.length).toBe(0);
  });

  test('never share a batch with another type, and types take turns', () => {
    const queue = new FairQueue<string>(1);
    add(queue, 'a', 2, 'one');
    add(queue, 'b', 1, 'other');
    add(queue, 'c', 1, 'one');
    expect(run(queue, 2)).toEqual([['a1', 'a2', 'c1'], ['b1']]);
  });

  test('take turns to be first when more of them wait than there is room', () => {
    const queue = new FairQueue<string>(1);
    const merchants = Array.from({ length: size + 2 }, (_, n) => `${n}-`);
    for (const merchant of merchants) add(queue, merchant, 2);
    const [first = [], second = []] = run(queue, 2);
    expect(first).toEqual(merchants.slice(0, size).map((merchant) => `${merchant}1`));
    expect(second.slice(0, 3)).toEqual([`${size}-1`, `${size + 1}-1`, '0-2']);
  });

  test('do not share with one that was set apart, until it has been served', () => {
    const queue = new FairQueue<string>(4);
    queue.addAlone('a', 'adjust', 'a0');
    add(queue, 'a', 1);
    add(queue, 'b', 1);
    expect([queue.take()?.items, queue.take()?.items]).toEqual([['a0', 'a1'], ['b1']]);
    add(queue, 'b', 1);
    add(queue, 'a', 1);
    expect(queue.take()?.items).toEqual(['b1']);
    queue.endAlone('a');
    add(queue, 'c', 1);
    expect(queue.take()?.items).toEqual(['a1', 'c1']);
  });

  test('hold half of them each, and the other half serves who comes', () => {
    const queue = new FairQueue<string>(4);
    add(queue, 'a', 3 * size);
    const held = [queue.take(), queue.take()];
    expect(held.map((batch) => batch?.items.length)).toEqual([size, size]);
    expect(queue.take()).toBeUndefined();
    add(queue, 'b', 1);
    expect(queue.take()?.items).toEqual(['b1']);
    held[0]?.done();
    expect(queue.take()?.items[0]).toBe(`a${2 * size + 1}`);
  });
});

describe('writes of many lines', () => {
  const lines = (queue: FairQueue<string>, merchant: string, count: number, each: number) => {
    for (let n = 1; n <= count; n += 1) queue.add(merchant, 'count', `${merchant}${n}`, each);
  };

  test('fill a batch by their lines, and one that is longer runs alone', () => {
    const queue = new FairQueue<string>(1);
    lines(queue, 'a', 5, 900);
    queue.add('a', 'count', 'long', 2 * limits.batchLinesMax);
    expect(run(queue, 4)).toEqual([['a1', 'a2'], ['a3', 'a4'], ['a5'], ['long']]);
  });

  test('share a batch by their lines, and take turns when there is no room', () => {
    const queue = new FairQueue<string>(1);
    lines(queue, 'a', 3, 900);
    lines(queue, 'b', 2, 300);
    lines(queue, 'c', 1, 1_000);
    expect(run(queue, 4)).toEqual([['a1', 'b1', 'b2'], ['c1', 'a2'], ['a3'], []]);
  });

  test('are refused when as many lines wait as may, however few writes', () => {
    const queue = new FairQueue<string>(1);
    lines(queue, 'a', 8, limits.queuedLinesPerMerchantMax / 8);
    expect(refusalOf(queue, 'a')?.code).toBe('service_unavailable');
    expect(refusalOf(queue, 'b')).toBeUndefined();
    expect(run(queue, 1)).toHaveLength(1);
    expect(refusalOf(queue, 'a')).toBeUndefined();
  });
});

describe('a merchant', () => {
  test('may queue the promised number, however long nothing has moved', () => {
    const queue = new FairQueue<string>(4);
    add(queue, 'a', 1);
    vi.advanceTimersByTime(2 * limits.queueWaitMax);
    add(queue, 'a', min - 1);
    expect(queue.length).toBe(min);
    expect(refusalOf(queue, 'a')?.code).toBe('service_unavailable');
    expect(refusalOf(queue, 'b')).toBeUndefined();
  });

  test('may queue so many and no more, of all types together', () => {
    const queue = new FairQueue<string>(4);
    add(queue, 'a', max - 1, 'one');
    add(queue, 'a', 1, 'other');
    expect(refusalOf(queue, 'a', 'third')?.code).toBe('service_unavailable');
    expect(queue.length).toBe(max);
    expect(refusalOf(queue, 'b')).toBeUndefined();
    run(queue, 1);
    add(queue, 'a', size);
    expect(refusalOf(queue, 'a')?.code).toBe('service_unavailable');
  });

  test('is refused beyond the promised when the line moves too slowly, until it is short', () => {
    const queue = new FairQueue<string>(1);
    add(queue, 'a', max);
    // At this pace the wait at place 512 is just what may be.
    const duration = (limits.queueWaitMax * size) / 512;
    run(queue, 2, duration);
    const moved = queue.take();
    expect(queue.length).toBe(max - 3 * size);
    expect(refusalOf(queue, 'a')?.code).toBe('service_unavailable');
    moved?.done();
    run(queue, 3, duration);
    expect(queue.length).toBe(min);
    expect(refusalOf(queue, 'a')).toBeUndefined();
    run(queue, 3);
    expect(queue.length).toBe(0);
    // A new line knows nothing of the old one's pace.
    add(queue, 'a', max);
    expect(queue.length).toBe(max);
  });

  test('is not refused when the line moves fast enough', () => {
    const queue = new FairQueue<string>(1);
    add(queue, 'a', max);
    run(queue, 4, (limits.queueWaitMax * size) / max / 2);
    add(queue, 'a', 4 * size);
    expect(queue.length).toBe(max);
  });
});

test('a refusal tells when to come back: in 1 to 3 seconds, not all in the same', () => {
  const queue = new FairQueue<string>(1);
  add(queue, 'a', max);
  const waits = Array.from({ length: 100 }, () => refusalOf(queue, 'a')?.headers['Retry-After']);
  expect([...new Set(waits)].sort()).toEqual(['1', '2', '3']);
});
