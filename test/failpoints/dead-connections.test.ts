import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { FaultEnvironment, type FaultyNode, summaryOf } from './environment.ts';
import { kinds } from './kinds.ts';

// A network drops all connections to the database without closing them, and works again. The next
// request cannot know. Once one connection gave no answer, the others are not used any more.

const silence = limits.connectionSilenceTimeout - 100;

let environment: FaultEnvironment;
let node: FaultyNode;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
  node = await environment.node();
});
afterAll(async () => {
  await node.stop();
  await environment.stop();
});

interface Burst {
  readonly failed: number;
  /** Those that used a dropped connection: nothing else takes as long. */
  readonly slow: number;
}

/** So many at once that each idle connection is needed by some. */
async function burst(): Promise<Burst> {
  const writes = await Promise.all(kinds.map((kind) => environment.newWrite(kind)));
  const all = [
    ...writes.map((write) => () => environment.send(node.api, write)),
    ...Array.from({ length: 12 }, (_, n) => () => node.api.get(`/products?limit=${n + 1}`)),
  ].map(async (ask) => {
    const asked = performance.now();
    const { status } = await ask();
    return { isFailed: status >= 500, isSlow: performance.now() - asked >= silence };
  });
  const answers = await Promise.all(all);
  return {
    failed: answers.filter(({ isFailed }) => isFailed).length,
    slow: answers.filter(({ isSlow }) => isSlow).length,
  };
}

// A busy machine may take too long to open so many connections at once: 503, but not slowly.
const allIsWell = () => expect.poll(burst).toEqual({ failed: 0, slow: 0 });

test('one request fails when all connections were dropped silently, not one for each', async () => {
  await allIsWell();
  node.proxy.abandon();
  const asked = performance.now();
  expect(summaryOf(await node.api.get('/products'))).toBe('503 service_unavailable');
  expect(performance.now() - asked).toBeGreaterThan(silence);
  for (let n = 0; n < 3; n += 1) expect((await burst()).slow).toBe(0);
  await allIsWell();
  await environment.verify();
});
