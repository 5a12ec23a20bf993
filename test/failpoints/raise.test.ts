import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asked } from '../kit/again.ts';
import type { Answer } from '../kit/api.ts';
import { type Fault, isOfOpening, opening } from '../kit/exchanges.ts';
import { extentName, sampleOf, timeout } from '../kit/extent.ts';
import {
  FaultEnvironment,
  type FaultyNode,
  isReplay,
  summaryOf,
  unlessBusy,
} from './environment.ts';
import { adjustment, type Kind, kinds, type Write } from './kinds.ts';
import {
  answerTo,
  answerToRepeated,
  duplicateFirst,
  faults,
  first,
  type Scenario,
  scenariosOf,
} from './scenarios.ts';

let environment: FaultEnvironment;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
});
afterAll(() => environment.stop());

/**
 * A node for the tests of one group, which come one after the other. It has heard of the caller's
 * cell: that is asked once.
 */
function ownNode(): { readonly node: FaultyNode } {
  const own = {} as { node: FaultyNode };
  beforeAll(async () => {
    own.node = await environment.node();
    await environment.learn(own.node);
  });
  afterAll(() => own.node.stop());
  return own;
}

/** A fault for exchanges of one name: from the `nth` on, `times` times. */
function at(exchange: string, fault: Fault, { nth = 1, times = 1 } = {}) {
  let met = 0;
  return (name: string) => {
    if (name !== exchange) return undefined;
    met += 1;
    return met >= nth && met < nth + times ? fault : undefined;
  };
}

interface Sent {
  readonly write: Write;
  readonly answer: Answer;
}

async function send(
  scenario: Scenario,
  by: FaultyNode,
  fault: ReturnType<typeof at>,
): Promise<Sent> {
  const write = await environment.newWrite(scenario.kind);
  await scenario.prepare(environment, write);
  const { proxy, api } = by;
  proxy.reset();
  const faultOf = scenario.faultOf(environment, write);
  proxy.onExchange = (exchange) => fault(exchange) ?? faultOf(exchange);
  const answer = await environment.send(api, write);
  proxy.onExchange = () => undefined;
  return { write, answer };
}

async function mustFit({ write, answer }: Sent, scenario: Scenario, what: string): Promise<void> {
  const isDone = answer.status === scenario.kind.status;
  if (isDone) expect([what, isReplay(answer)]).toEqual([what, scenario.isReplay]);
  else expect([what, answer.body.error.retryable]).toEqual([what, true]);
  await environment.mustSettle(write, what, answer);
}

type Named = readonly [name: string, fault: Fault];

const all: readonly Named[] = Object.entries(faults);

/** Where everything is decided, all of them are tried in every run. */
function chosenAt(kind: Kind, exchange: string): readonly Named[] {
  if (kind === adjustment && exchange.startsWith('bind_keys')) return all;
  return sampleOf(all, 1);
}

/** The others end it the first time. */
function passingAt(kind: Kind, exchange: string): readonly Named[] {
  const isPassed = ([name]: Named) => answerTo(kind, exchange, name) === `${kind.status}`;
  return sampleOf(all.filter(isPassed), 1);
}

interface Point {
  readonly exchange: string;
  readonly chosen: readonly Named[];
}

/** Of other kinds than the first a part: of each scenario some. */
function pointsOf(scenario: Scenario, choose: typeof chosenAt, part: number): Point[] {
  const points = scenario.own
    .map((exchange) => ({ exchange, chosen: choose(scenario.kind, exchange) }))
    .filter(({ chosen }) => chosen.length > 0);
  const some = Math.ceil(points.length * part);
  return scenario.kind === adjustment ? points : sampleOf(points, some);
}

// Groups at the same time, a few: most of each is waiting.
describe.each(kinds)('$name', (kind) => {
  describe.concurrent.each(scenariosOf(kind))(`$name (${extentName})`, (scenario) => {
    const own = ownNode();

    test.sequential('waits for these exchanges and no others', async () => {
      const { write, answer } = await unlessBusy(`${kind.status}`, () =>
        send(scenario, own.node, () => undefined),
      );
      expect([answer.status, isReplay(answer)]).toEqual([kind.status, scenario.isReplay]);
      const used = own.node.proxy.seen.filter((name) => !isOfOpening(name));
      expect(used).toEqual(scenario.exchanges);
      await environment.mustSettle(write, scenario.name, answer);
    });

    test.sequential.each(pointsOf(scenario, chosenAt, 1 / 3))(
      'is answered rightly whatever happens once at $exchange',
      {
        timeout,
      },
      async ({ exchange, chosen }) => {
        for (const [name, fault] of chosen) {
          const expected = answerTo(kind, exchange, name);
          const sent = await unlessBusy(expected, () =>
            send(scenario, own.node, at(exchange, fault)),
          );
          expect([name, summaryOf(sent.answer)]).toEqual([name, expected]);
          await mustFit(sent, scenario, name);
        }
      },
    );

    const repeatable = pointsOf(scenario, passingAt, 1 / 6);

    if (repeatable.length === 0) return;

    test.sequential('is answered rightly whatever happens each time', {
      timeout,
    }, async () => {
      for (const { exchange, chosen } of repeatable) {
        for (const [name, fault] of chosen) {
          const what = `${name} at ${exchange}`;
          const expected = answerToRepeated(kind, exchange, name);
          const sent = await unlessBusy(expected, () =>
            send(scenario, own.node, at(exchange, fault, { times: 100 })),
          );
          expect([what, summaryOf(sent.answer)]).toEqual([what, expected]);
          await mustFit(sent, scenario, what);
        }
      }
    });
  });
});

const reasons = ['57014 query_canceled', 'XX000 internal_error', 'a reset before', 'a reset after'];

const openedBy = [
  { scenario: first(adjustment), connections: 2, chosen: sampleOf(reasons, 2) },
  { scenario: duplicateFirst(adjustment), connections: 4, chosen: sampleOf(reasons, 1) },
];
const openings = openedBy.flatMap((one) => opening.map((exchange) => ({ ...one, exchange })));

describe.concurrent.each(openings)(
  `a connection that $scenario.name (${extentName})`,
  ({ scenario, connections, chosen, exchange }) => {
    test.each(chosen)(
      `needs and cannot have is 503: %s at ${exchange}`,
      { timeout },
      async (name) => {
        const { [name]: fault } = faults;
        if (fault === undefined) throw new Error(`no fault ${name}`);
        for (let nth = 1; nth <= connections + 1; nth += 1) {
          let isMet = false;
          const expected = () => (isMet ? answerTo(scenario.kind, exchange, name) : '201');
          const sent = await unlessBusy(expected, async () => {
            isMet = false;
            const fresh = await environment.node();
            const faultAt = at(exchange, fault, { nth });
            const tried = await send(scenario, fresh, (met) => {
              const injected = faultAt(met);
              isMet ||= injected !== undefined;
              return injected;
            });
            await fresh.stop();
            return tried;
          });
          const what = `connection ${nth}`;
          expect([what, isMet]).toEqual([what, nth <= connections]);
          expect([what, summaryOf(sent.answer)]).toEqual([what, expected()]);
          await mustFit(sent, scenario, what);
        }
      },
    );
  },
);

/** Again, with a fault of its own, when a busy machine refuses one that it should not. */
const sendTwice = (
  { proxy, api }: FaultyNode,
  kind: Kind,
  fault: () => ReturnType<typeof at>,
  expected: readonly string[],
) =>
  asked(
    async () => {
      const write = await environment.newWrite(kind);
      proxy.reset();
      proxy.onExchange = fault();
      const answers = await Promise.all([1, 2].map(() => environment.send(api, write)));
      proxy.onExchange = () => undefined;
      return { write, answers };
    },
    ({ answers }) => {
      const summaries = answers.map(summaryOf).sort();
      const refused = (all: readonly string[]) => all.filter((one) => one.startsWith('503')).length;
      if (refused(summaries) <= refused(expected)) return undefined;
      return `${summaries} in place of ${expected}`;
    },
  );

describe.concurrent.each(kinds)(
  `two requests with one key at once: $name (${extentName})`,
  (kind) => {
    const own = ownNode();
    const exchanges = kind === adjustment ? kind.batch : sampleOf(kind.batch, 2);
    const points = exchanges.map((exchange) => ({ exchange, chosen: sampleOf(all, 1) }));

    test.sequential.each(points)(
      'are done once, whatever happens to the first at $exchange',
      {
        timeout,
      },
      async ({ exchange, chosen }) => {
        for (const [name, fault] of chosen) {
          const expected = [answerTo(kind, exchange, name), `${kind.status}`].sort();
          const { write, answers } = await sendTwice(
            own.node,
            kind,
            () => at(exchange, fault),
            expected,
          );
          expect([name, ...answers.map(summaryOf).sort()]).toEqual([name, ...expected]);
          const isFirst = (one: Answer) => one.status === kind.status && !isReplay(one);
          const firsts = answers.filter(isFirst);
          expect([name, firsts.length]).toEqual([name, 1]);
          await environment.mustSettle(write, name, firsts[0]);
        }
      },
    );
  },
);

test('after all of this the ledger adds up, and no key has two operations', () =>
  environment.verify());
