import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Fault } from '../support/exchanges.ts';
import { batch, first, lost, overtaken, repeated, type Way } from './scenarios.ts';
import { path, Stand, summaryOf } from './stand.ts';

// What takes longer than it may. All at once, each on a node of its own: most of them end with the
// deadline of the request, after 10 s.

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.open();
});
afterAll(() => stand.close());

const sleep: Fault = { kind: 'sleep' };
const withhold: Fault = { kind: 'withhold' };
const silentBefore: Fault = { kind: 'silence', when: 'before' };
const silentAfter: Fault = { kind: 'silence', when: 'after' };

type Case = readonly [exchange: string, fault: Fault, answer: string];

const away = '503 service_unavailable';
const inProgress = '503 operation_in_progress';
const late = '504 timeout';

/** Nothing can have happened yet; and nothing is held for long. */
const ofReads = (exchange: string): Case[] => [
  [exchange, sleep, late],
  [exchange, withhold, away],
  [exchange, silentBefore, away],
  [exchange, silentAfter, away],
];

const ofBatches = batch.flatMap((exchange): Case[] => [
  [exchange, sleep, inProgress],
  // The database ends a transaction that waits for its service, which hears of it and goes on; but
  // before BEGIN there is none.
  [exchange, withhold, exchange === 'begin' ? late : '201'],
  [exchange, silentBefore, late],
  [exchange, silentAfter, late],
]);

const ofFinding: Case[] = [
  ['find_keys', sleep, inProgress],
  // Given up after 4 s, and asked again.
  ['find_keys', silentBefore, '201'],
  ['find_keys', silentAfter, '201'],
  ...ofReads('find_adjustments'),
];

const plans: readonly (readonly [Way, readonly Case[]])[] = [
  [first, [...ofReads('find_credentials'), ...ofBatches]],
  [repeated, ofReads('find_adjustments')],
  [overtaken, ofFinding],
  [lost, ofFinding],
];

test('whatever is slow or silent, the answer is right and the key settles', {
  timeout: 120_000,
}, async () => {
  const begun: Promise<void>[] = [];
  for (const [way, cases] of plans) {
    for (const one of cases) {
      // Its connections are there before it counts how long anything takes.
      const node = await stand.node();
      const warm = await stand.newWrite();
      for (let n = 0; n < 2; n += 1) await node.api.post(path, warm.body, { key: warm.key });
      begun.push(run(way, one, node));
    }
  }
  await Promise.all(begun);
  await stand.verify();
});

test('a connection that cannot be had in time is 503', async () => {
  for (const nth of [1, 2]) {
    const node = await stand.node();
    const write = await stand.newWrite();
    let met = 0;
    node.proxy.onExchange = (name) => {
      met += name === 'connect' ? 1 : 0;
      return name === 'connect' && met === nth ? withhold : undefined;
    };
    const answer = await node.api.post(path, write.body, { key: write.key });
    expect([nth, summaryOf(answer)]).toEqual([nth, away]);
    expect([nth, await stand.effects(write)]).toEqual([nth, 0]);
    await stand.mustSettle(write, `connection ${nth}`, answer);
    await node.stop();
  }
});

async function run(
  way: Way,
  [exchange, fault, expected]: Case,
  node: Awaited<ReturnType<Stand['node']>>,
): Promise<void> {
  const what = `${way.name}, ${JSON.stringify(fault)} at ${exchange}`;
  const write = await stand.newWrite();
  await way.prepare(stand, write);
  const steer = way.steer(stand, write);
  let isMet = false;
  node.proxy.onExchange = (name) => {
    if (name !== exchange || isMet) return steer(name);
    isMet = true;
    return fault;
  };
  const answer = await node.api.post(path, write.body, { key: write.key });
  expect([what, summaryOf(answer)]).toEqual([what, expected]);
  await stand.mustSettle(write, what, answer);
  await node.stop();
}
