import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Problem } from '../core/problem.ts';
import { Deadlines } from './deadlines.ts';

const never = () => new Promise<never>(() => undefined);
const after = (ms: number) => performance.now() + ms;

async function late(work: Promise<unknown>): Promise<number> {
  const refusal = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(Problem);
  expect((refusal as Problem).code).toBe('timeout');
  return performance.now();
}

test('work that does not end is refused at its own deadline, never before it', async () => {
  const deadlines = new Deadlines();
  const ends = [after(30), after(60), after(60), after(120)];
  const refused = ends.map((end) => late(deadlines.keep(end, never())));
  for (const [index, end] of ends.entries()) {
    expect(await refused[index]).toBeGreaterThanOrEqual(end);
  }
});

test('work that ends in time gives what it comes to, whatever becomes of the others', async () => {
  const deadlines = new Deadlines();
  const oldest = late(deadlines.keep(after(20), never()));
  const done = deadlines.keep(after(200), sleep(40, 'done'));
  const failed = deadlines.keep(after(200), Promise.reject(new Error('failed')));
  await expect(failed).rejects.toThrow('failed');
  await oldest;
  expect(await done).toBe('done');
});

test('deadlines are kept by those that come once nobody waits any more', async () => {
  const deadlines = new Deadlines();
  await deadlines.keep(after(20), Promise.resolve());
  await sleep(30);
  const end = after(20);
  expect(await late(deadlines.keep(end, never()))).toBeGreaterThanOrEqual(end);
});
