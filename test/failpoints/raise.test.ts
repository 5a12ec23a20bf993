import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../support/api.ts';
import type { Fault } from '../support/exchanges.ts';
import { sampled } from './sample.ts';
import {
  answerTo,
  answerToRepeated,
  batch,
  faults,
  first,
  overtaken,
  type Way,
  ways,
} from './scenarios.ts';
import { type FaultyNode, isReplay, path, Stand, summaryOf, type Write } from './stand.ts';

let stand: Stand;
let node: FaultyNode;

beforeAll(async () => {
  stand = await Stand.open();
  node = await stand.node();
});
afterAll(async () => {
  await node.stop();
  await stand.close();
});

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

async function send(way: Way, by: FaultyNode, fault: ReturnType<typeof at>): Promise<Sent> {
  const write = await stand.newWrite();
  await way.prepare(stand, write);
  const { proxy, api } = by;
  proxy.reset();
  const steer = way.steer(stand, write);
  proxy.onExchange = (exchange) => fault(exchange) ?? steer(exchange);
  const answer = await api.post(path, write.body, { key: write.key });
  proxy.onExchange = () => undefined;
  return { write, answer };
}

async function mustFit({ write, answer }: Sent, way: Way, what: string): Promise<void> {
  if (answer.status === 201) expect([what, isReplay(answer)]).toEqual([what, way.isReplay]);
  else expect([what, answer.body.error.retryable]).toEqual([what, true]);
  await stand.mustSettle(write, what, answer);
}

describe.each(ways)('$name', (way) => {
  test('waits for these exchanges and no others', async () => {
    const { write, answer } = await send(way, node, () => undefined);
    expect([answer.status, isReplay(answer)]).toEqual([201, way.isReplay]);
    expect(node.proxy.seen.filter((name) => name !== 'connect')).toEqual(way.exchanges);
    await stand.mustSettle(write, way.name, answer);
  });

  test.each(way.own)('is answered rightly whatever happens once at %s', async (exchange) => {
    for (const [name, fault] of Object.entries(faults)) {
      const sent = await send(way, node, at(exchange, fault));
      expect([name, summaryOf(sent.answer)]).toEqual([name, answerTo(exchange, name)]);
      await mustFit(sent, way, name);
    }
  });

  test.each(way.own)('is answered rightly whatever happens each time at %s', async (exchange) => {
    // The others end it the first time.
    const passing = Object.entries(faults).filter(([name]) => answerTo(exchange, name) === '201');
    const chosen = new Set(passing.length === 0 ? [] : sampled(passing.length - 1, 2));
    for (const [name, fault] of passing.filter((_, place) => chosen.has(place))) {
      const sent = await send(way, node, at(exchange, fault, { times: 100 }));
      expect([name, summaryOf(sent.answer)]).toEqual([name, answerToRepeated(exchange, name)]);
      await mustFit(sent, way, name);
    }
  });
});

describe.each([first, overtaken])('a connection that $name', (way) => {
  const reasons = ['57014 query_canceled', 'XX000 internal_error', 'a reset before'];

  test.each([...reasons, 'a reset after'])('needs and cannot have is 503: %s', async (name) => {
    const { [name]: fault } = faults;
    if (fault === undefined) throw new Error(`no fault ${name}`);
    for (let nth = 1; ; nth += 1) {
      const fresh = await stand.node();
      let isMet = false;
      const strike = at('connect', fault, { nth });
      const sent = await send(way, fresh, (exchange) => {
        const struck = strike(exchange);
        isMet ||= struck !== undefined;
        return struck;
      });
      await fresh.stop();
      const what = `connection ${nth}`;
      const expected = isMet ? answerTo('connect', name) : '201';
      expect([what, summaryOf(sent.answer)]).toEqual([what, expected]);
      await mustFit(sent, way, what);
      if (!isMet) return expect(nth).toBe(way === first ? 3 : 5);
    }
  });
});

describe('two requests with one key at the same time', () => {
  test.each(batch)('are done once, whatever happens to the first at %s', async (exchange) => {
    for (const [name, fault] of Object.entries(faults)) {
      const write = await stand.newWrite();
      node.proxy.reset();
      node.proxy.onExchange = at(exchange, fault);
      const both = [1, 2].map(() => node.api.post(path, write.body, { key: write.key }));
      const answers = await Promise.all(both);
      node.proxy.onExchange = () => undefined;
      const expected = [answerTo(exchange, name), '201'].sort();
      expect([name, ...answers.map(summaryOf).sort()]).toEqual([name, ...expected]);
      const firsts = answers.filter((answer) => answer.status === 201 && !isReplay(answer));
      expect([name, firsts.length]).toEqual([name, 1]);
      await stand.mustSettle(write, name, firsts[0]);
    }
  });
});

test('after all of this the ledger adds up, and no key has two operations', () => stand.verify());
