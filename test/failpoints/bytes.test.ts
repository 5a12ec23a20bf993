import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Side } from '../support/exchanges.ts';
import { extent, sampled, timeout } from './sample.ts';
import { type FaultyNode, isReplay, path, Stand, summaryOf } from './stand.ts';

// The connection between service and database is cut after every number of bytes.

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.open();
});
afterAll(() => stand.close());

const sides: readonly Side[] = ['toDatabase', 'toService'];
const away = '503 service_unavailable';

async function send(node: FaultyNode, side: Side, bytes: number) {
  const write = await stand.newWrite();
  node.proxy.reset();
  node.proxy.cutAfter = { side, bytes };
  const answer = await node.api.post(path, write.body, { key: write.key });
  const cut = node.proxy.cutIn;
  node.proxy.reset();
  return { write, answer, cut };
}

/** How many bytes one write takes. */
async function extentOf(node: FaultyNode, side: Side): Promise<number> {
  const write = await stand.newWrite();
  node.proxy.reset();
  await node.api.post(path, write.body, { key: write.key });
  return node.proxy.passed[side];
}

describe.each(sides)(`a connection cut %s (${extent})`, (side) => {
  test('at any byte of a write: what was only read is 503, what was begun is done', {
    timeout,
  }, async () => {
    const node = await stand.node();
    // Twice: the first one opens the connections.
    await extentOf(node, side);
    const last = await extentOf(node, side);
    for (const bytes of sampled(last, 25)) {
      const { write, answer, cut } = await send(node, side, bytes);
      const what = `${bytes} of ${last} bytes ${side}, in ${cut?.exchange}`;
      // Who has got all of an answer does not need its connection any more.
      const isAnswered = side === 'toService' && cut?.isWhole === true;
      const isLost = cut?.exchange === 'find_credentials' && !isAnswered;
      expect([what, summaryOf(answer)]).toEqual([what, isLost ? away : '201']);
      if (isLost) expect([what, await stand.effects(write)]).toEqual([what, 0]);
      else expect([what, isReplay(answer)]).toEqual([what, false]);
      await stand.mustSettle(write, what, answer);
      // The connections are whole again for the next one.
      await extentOf(node, side);
    }
    await node.stop();
  });

  test('at any byte of a write that opens its connections: 503 or done', {
    timeout,
  }, async () => {
    const fresh = await stand.node();
    const last = await extentOf(fresh, side);
    await fresh.stop();
    for (const bytes of sampled(last, 10)) {
      const node = await stand.node();
      const { write, answer, cut } = await send(node, side, bytes);
      await node.stop();
      const what = `${bytes} of ${last} bytes ${side}, in ${cut?.exchange}`;
      const isEarly = cut?.exchange === 'connect' || cut?.exchange === 'find_credentials';
      const isAnswered = side === 'toService' && cut?.isWhole === true;
      if (isAnswered) expect(['201', away]).toContain(summaryOf(answer));
      else expect([what, summaryOf(answer)]).toEqual([what, isEarly ? away : '201']);
      await stand.mustSettle(write, what, answer);
    }
  });

  test('at any byte of a replay is 503 at most, and changes nothing', {
    timeout,
  }, async () => {
    const node = await stand.node();
    const write = await stand.newWrite();
    const replay = async (bytes?: number) => {
      node.proxy.reset();
      if (bytes !== undefined) node.proxy.cutAfter = { side, bytes };
      return node.api.post(path, write.body, { key: write.key });
    };
    const first = await replay();
    await replay();
    await replay();
    const last = node.proxy.passed[side];
    for (const bytes of sampled(last, 10)) {
      const answer = await replay(bytes);
      const what = `${bytes} of ${last} bytes ${side}, in ${node.proxy.cutIn?.exchange}`;
      const isAnswered = side === 'toService' && node.proxy.cutIn?.isWhole === true;
      expect([what, summaryOf(answer)]).toEqual([what, isAnswered ? '201' : away]);
      await replay();
    }
    await stand.mustSettle(write, side, first);
    await node.stop();
  });
});

test('after all of this the ledger adds up, and no key has two operations', () => stand.verify());
