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

const size = limits.batchCommandsMax;
const min = limits.queuedPerMerchantMin;
const max = limits.queuedPerMerchantMax;

describe('merchants that share workers', () => {
  test('are served by turns, however much one of them has queued', () => {
    const queue = new FairQueue<string>(1);
    add(queue, 'a', 5 * size);
    add(queue, 'b', 1);
    add(queue, 'c', 2);
    const firsts = run(queue, 7).map(([first]) => first);
    expect(firsts).toEqual([`a1`, 'b1', 'c1', ...[1, 2, 3, 4].map((n) => `a${n * size + 1}`)]);
    expect(queue.length).toBe(0);
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
    expect(refusalOf(queue, 'b')).toBeUndefined();
    moved?.done();
    run(queue, 4, duration);
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
  const told = Array.from({ length: 100 }, () => refusalOf(queue, 'a')?.headers['Retry-After']);
  expect([...new Set(told)].sort()).toEqual(['1', '2', '3']);
});
