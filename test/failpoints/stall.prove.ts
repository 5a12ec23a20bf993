import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type Fault, opening } from '../kit/exchanges.ts';
import { extentName, sampleOf } from '../kit/extent.ts';
import { away, FaultEnvironment, summaryOf, unlessBusy } from './environment.ts';
import { adjustment, changeOfCustomer, kinds } from './kinds.ts';
import { answerLost, duplicateFirst, first, repeated, type Scenario } from './scenarios.ts';

// Exchanges that take too long. All run at once, each on a node of its own, because most of them
// end with the deadline of the request, after 10 s.

let environment: FaultEnvironment;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
});
afterAll(() => environment.stop());

const sleep: Fault = { kind: 'sleep' };
const withhold: Fault = { kind: 'withhold' };
const silentBefore: Fault = { kind: 'silence', when: 'before' };
const silentAfter: Fault = { kind: 'silence', when: 'after' };

/** `within`: the one limit that ends the wait. */
interface Case {
  readonly scenario: Scenario;
  readonly exchange: string;
  readonly fault: Fault;
  readonly answer: string;
  readonly within: number;
}

/**
 * Dozens of nodes share one process with the test, on a machine that may have other work. Whatever
 * waits for a limit of its own still ends before the deadline of the request.
 */
const slack = 4_000;

const inProgress = '503 operation_in_progress';
const late = '504 timeout';

const { statementTimeout, connectionSilenceTimeout, requestDeadline } = limits;

/** Nothing can have happened yet; and nothing is held for long. */
const ofRead = (scenario: Scenario, exchange: string): Case[] => [
  { scenario, exchange, fault: sleep, answer: late, within: statementTimeout },
  ...[withhold, silentBefore, silentAfter].map((fault) => {
    return { scenario, exchange, fault, answer: away, within: connectionSilenceTimeout };
  }),
];

const ofBatch = (scenario: Scenario): Case[] =>
  scenario.kind.batch.flatMap((exchange) => {
    const lateIn = (fault: Fault): Case => {
      return { scenario, exchange, fault, answer: late, within: requestDeadline };
    };
    const done = `${scenario.kind.status}`;
    return [
      { scenario, exchange, fault: sleep, answer: inProgress, within: statementTimeout },
      // The database ends a transaction that waits for its service, and the service tries again.
      // Before BEGIN there is no transaction.
      exchange === 'begin'
        ? lateIn(withhold)
        : { ...lateIn(withhold), answer: done, within: limits.idleInTransactionTimeout },
      lateIn(silentBefore),
      lateIn(silentAfter),
    ];
  });

const ofFinding = (scenario: Scenario): Case[] => [
  { scenario, exchange: 'find_keys', fault: sleep, answer: inProgress, within: statementTimeout },
  // Given up after 4 s, and asked again.
  ...[silentBefore, silentAfter].map((fault) => {
    const answer = `${scenario.kind.status}`;
    return { scenario, exchange: 'find_keys', fault, answer, within: requestDeadline };
  }),
  ...ofRead(scenario, scenario.kind.find),
];

const ofFirst = (scenario: Scenario): Case[] => [
  ...scenario.kind.before.flatMap((exchange) => ofRead(scenario, exchange)),
  ...ofBatch(scenario),
];

const others = kinds.flatMap((kind) => [
  ...(kind === adjustment ? [] : ofFirst(first(kind))),
  ...ofRead(repeated(kind), kind.find),
  ...[duplicateFirst, answerLost].flatMap((scenario) => ofFinding(scenario(kind))),
]);

const cases = [...ofFirst(first(adjustment)), ...sampleOf(others, 14)];

/** A case of people or tokens has two nodes: seven of the 300 connections of the server. */
const atATime = 25;

describe(`what takes too long (${extentName})`, () => {
  test('whatever is slow or silent, the answer is right and in time', {
    timeout: 600_000,
  }, async () => {
    for (let from = 0; from < cases.length; from += atATime) {
      const ready = [];
      for (const one of cases.slice(from, from + atATime)) {
        ready.push({ one, attempts: [await prepared(one)] });
      }
      await Promise.all(
        ready.map(async ({ one, attempts }) => {
          const attempt = async () => (attempts.pop() ?? (await prepared(one)))();
          const { judge } = await unlessBusy(one.answer, attempt);
          await judge();
        }),
      );
    }
    await environment.verify();
  });
});

test('a write that waits for a lock, or for its duplicate, is answered in 2 s', async () => {
  const node = await environment.node();
  const held = await environment.newWrite(changeOfCustomer);
  const session = await environment.db.session();
  await session.query('begin');
  await session.query('select from customers where id = $1 for update', [held.subject]);
  const stuck = await environment.newWrite();
  node.proxy.onExchange = (name) => (name.startsWith('bind_keys') ? silentBefore : undefined);
  const begun = environment.send(node.api, stuck);
  await expect.poll(() => node.proxy.seen.some((name) => name.startsWith('bind_keys'))).toBe(true);
  const asked = performance.now();
  for (const answer of await Promise.all([
    environment.send(node.api, held),
    environment.send(node.api, stuck),
  ])) {
    expect(summaryOf(answer)).toBe(inProgress);
    expect(answer.headers.get('retry-after')).toMatch(/^[123]$/);
  }
  expect(performance.now() - asked).toBeLessThan(limits.lockTimeout + slack);
  await session.query('rollback');
  node.proxy.onExchange = () => undefined;
  expect(summaryOf(await begun)).toBe(late);
  for (const write of [held, stuck]) await environment.mustSettle(write, 'after the wait');
  await node.stop();
});

test.each(opening)('a connection that cannot be had in time is 503: %s', async (exchange) => {
  for (const nth of [1, 2]) {
    const node = await environment.node();
    const write = await environment.newWrite();
    let met = 0;
    node.proxy.onExchange = (name) => {
      met += name === exchange ? 1 : 0;
      return name === exchange && met === nth ? withhold : undefined;
    };
    const answer = await environment.send(node.api, write);
    expect([nth, summaryOf(answer)]).toEqual([nth, away]);
    expect([nth, await environment.effects(write)]).toEqual([nth, { done: 0, operations: 0 }]);
    await environment.mustSettle(write, `connection ${nth}`, answer);
    await node.stop();
  }
});

/** A node whose connections are there before it counts how long anything takes, and what to do. */
async function prepared({ scenario, exchange, fault, answer, within }: Case) {
  const what = `${scenario.name}, ${JSON.stringify(fault)} at ${exchange}`;
  // A stuck write of people or tokens holds the audit trail, which all merchants share.
  const isOfAccess = scenario.kind.isOfAccess === true;
  const place = isOfAccess ? await FaultEnvironment.start() : await environment.elsewhere();
  const node = await place.node();
  const warm = await place.newWrite();
  for (let n = 0; n < 2; n += 1) await place.send(node.api, warm);
  const write = await place.newWrite(scenario.kind);
  await scenario.prepare(place, write);
  return async () => {
    const faultOf = scenario.faultOf(place, write);
    let isMet = false;
    node.proxy.onExchange = (name) => {
      if (name !== exchange || isMet) return faultOf(name);
      isMet = true;
      return fault;
    };
    const asked = performance.now();
    const got = await place.send(node.api, write);
    const took = performance.now() - asked;
    await node.stop();
    const judge = async () => {
      expect([what, summaryOf(got)]).toEqual([what, answer]);
      expect(took, what).toBeLessThan(within + slack);
      await place.mustSettle(write, what, got);
      if (isOfAccess) await place.verify().then(() => place.stop());
    };
    return { answer: got, judge };
  };
}
