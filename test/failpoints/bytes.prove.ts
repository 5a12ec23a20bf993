import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../kit/api.ts';
import { type ExchangeProxy, isOfOpening, type Side } from '../kit/exchanges.ts';
import { extentName, numbersTo, timeout } from '../kit/extent.ts';
import {
  away,
  FaultEnvironment,
  type FaultyNode,
  isReplay,
  summaryOf,
  unlessBusy,
} from './environment.ts';
import { adjustment, type Kind, kinds, looked, type Write } from './kinds.ts';

// The connection between service and database is cut after every number of bytes.

let environment: FaultEnvironment;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
});
afterAll(() => environment.stop());

const sides: readonly Side[] = ['toDatabase', 'toService'];

interface Cut {
  readonly side: Side;
  readonly bytes: number;
  /** A pooler says so, behind half a message. */
  readonly isTold?: boolean;
}

interface Sent {
  readonly write: Write;
  readonly answer: Answer;
  readonly cut: ExchangeProxy['cutIn'];
}

async function send(node: FaultyNode, cut: Cut, kind = adjustment): Promise<Sent> {
  const write = await environment.newWrite(kind);
  node.proxy.reset();
  node.proxy.cutAfter = cut;
  node.proxy.isTold = cut.isTold === true;
  const answer = await environment.send(node.api, write);
  const { cutIn } = node.proxy;
  node.proxy.reset();
  return { write, answer, cut: cutIn };
}

/** How many bytes one write takes. */
async function bytesOf(node: FaultyNode, side: Side, kind = adjustment): Promise<number> {
  await unlessBusy(`${kind.status}`, async () => {
    const write = await environment.newWrite(kind);
    node.proxy.reset();
    return { answer: await environment.send(node.api, write) };
  });
  return node.proxy.passed[side];
}

/** Nothing had begun: it was only read, or the connection was still to be opened. */
function isLost({ answer, cut }: Sent, side: Side, kind: Kind): boolean {
  // A service that has all of an answer does not need the connection any more.
  const isAnswered = side === 'toService' && cut?.isWhole === true;
  // A connection may have reached its maximum age, or could not be opened in time.
  const isFresh = cut === undefined || isOfOpening(cut.exchange);
  const isOpen = isFresh && answer.status !== kind.status;
  return isOpen || (kind.before.includes(cut?.exchange ?? '') && !isAnswered);
}

/** Of a write of this kind, at a node of its own. */
async function cutEverywhere(side: Side, kind: Kind, isTold = false): Promise<void> {
  const node = await environment.node();
  // Twice: the first one opens the connections.
  await bytesOf(node, side, kind);
  const last = await bytesOf(node, side, kind);
  for (const bytes of numbersTo(last, kind === adjustment ? 8 : 3)) {
    const expected = (sent: Sent) => (isLost(sent, side, kind) ? away : `${kind.status}`);
    const sent = await unlessBusy(expected, () => send(node, { side, bytes, isTold }, kind));
    const { write, answer, cut } = sent;
    const what = `${bytes} of ${last} bytes ${side}, in ${cut?.exchange}`;
    expect([what, summaryOf(answer)]).toEqual([what, expected(sent)]);
    const none = { done: 0, operations: 0 };
    if (isLost(sent, side, kind))
      expect([what, await environment.effects(write)]).toEqual([what, none]);
    else expect([what, isReplay(answer)]).toEqual([what, false]);
    await environment.mustSettle(write, what, answer);
    // The connections are whole again for the next one.
    await bytesOf(node, side, kind);
  }
  await node.stop();
}

test.concurrent(
  `at any byte, and told behind half a message, as by a pooler: 503 or done (${extentName})`,
  { timeout },
  () => cutEverywhere('toService', adjustment, true),
);

describe.each(sides)(`a connection cut %s (${extentName})`, (side) => {
  // At the same time: each has a node of its own, and most of it is waiting.
  test.concurrent.each(kinds)(
    'at any byte of $name: what was only read is 503, what was begun is done',
    { timeout },
    (kind) => cutEverywhere(side, kind),
  );

  test.concurrent('at any byte of a write that opens its connections: 503 or done', {
    timeout,
  }, async () => {
    const fresh = await environment.node();
    const last = await bytesOf(fresh, side);
    await fresh.stop();
    for (const bytes of numbersTo(last, 3)) {
      const isEarly = (exchange: string) => isOfOpening(exchange) || exchange === looked;
      const expected = ({ cut }: Sent) => (isEarly(cut?.exchange ?? '') ? away : '201');
      const sent = await unlessBusy(expected, async () => {
        const node = await environment.node();
        try {
          return await send(node, { side, bytes });
        } finally {
          await node.stop();
        }
      });
      const { write, answer, cut } = sent;
      const what = `${bytes} of ${last} bytes ${side}, in ${cut?.exchange}`;
      const isAnswered = side === 'toService' && cut?.isWhole === true;
      if (isAnswered || cut === undefined) expect(['201', away]).toContain(summaryOf(answer));
      else expect([what, summaryOf(answer)]).toEqual([what, expected(sent)]);
      await environment.mustSettle(write, what, answer);
    }
  });

  test.concurrent('at any byte of a replay is 503 at most, and changes nothing', {
    timeout,
  }, async () => {
    const node = await environment.node();
    const write = await environment.newWrite();
    const replay = async (bytes?: number) => {
      node.proxy.reset();
      if (bytes !== undefined) node.proxy.cutAfter = { side, bytes };
      return environment.send(node.api, write);
    };
    const first = await replay();
    await replay();
    await replay();
    const last = node.proxy.passed[side];
    for (const bytes of numbersTo(last, 3)) {
      const isAnswered = () => side === 'toService' && node.proxy.cutIn?.isWhole === true;
      // On a busy machine the measured one may have opened a connection, and have taken more bytes.
      const isWhole = () => isAnswered() || node.proxy.cutIn === undefined;
      const expected = () => (isWhole() ? '201' : away);
      const { answer } = await unlessBusy(expected, async () => ({ answer: await replay(bytes) }));
      const what = `${bytes} of ${last} bytes ${side}, in ${node.proxy.cutIn?.exchange}`;
      expect([what, summaryOf(answer)]).toEqual([what, expected()]);
      await replay();
    }
    await environment.mustSettle(write, side, first);
    await node.stop();
  });
});

test('after all of this the ledger adds up, and no key has two operations', () =>
  environment.verify());
