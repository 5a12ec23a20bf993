import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../kit/again.ts';
import type { Fault } from '../kit/exchanges.ts';
import { extentName, sampleOf } from '../kit/extent.ts';
import { FaultEnvironment, type FaultyNode, summaryOf } from './environment.ts';
import { faults } from './scenarios.ts';

// A read has a fault at each exchange it waits for. The service repeats nothing: it answers at once
// that the request may be sent again.

let environment: FaultEnvironment;
let node: FaultyNode;
let customer = '';

beforeAll(async () => {
  environment = await FaultEnvironment.start();
  node = await environment.node();
  const made = await environment.api.post('/customers', { name: 'Ada', email: 'ada@example.com' });
  customer = made.body.data.id;
});
afterAll(async () => {
  await node.stop();
  await environment.stop();
});

const raised = (...sqlstates: string[]): [string, Fault][] =>
  sqlstates.map((sqlstate) => [sqlstate, { kind: 'raise', sqlstate }]);

/** One of each SQLSTATE class that is about the server, beside those of writes. */
const all: readonly (readonly [string, Fault])[] = [
  ...Object.entries(faults),
  ...raised('08006', '25006', '25P03', '28000', '53300', '53200', '55P03', '57P03', '58030'),
  ...raised('XX001 data_corrupted', 'XX002 index_corrupted').map(([name, fault]) => {
    return [name, { ...fault, sqlstate: name.slice(0, 5) } as Fault] as const;
  }),
  // What only a bug of ours can cause.
  ...raised('22P02', '42501', '42P01'),
];

function answerTo(name: string): string {
  if (/^(57014|55P03)/.test(name)) return '504 timeout';
  return /^(22|42|XX000)/.test(name) ? '500 internal_error' : '503 service_unavailable';
}

describe.each([
  { name: 'a list', path: () => '/products', own: 'list_products_51' },
  { name: 'a record', path: () => `/customers/${customer}`, own: 'find_customers' },
])(`$name (${extentName})`, ({ path, own }) => {
  const chosen = sampleOf(all, 8);

  test.each(['find_credentials', own])(
    'is answered with the time to wait, whatever happens at %s',
    async (exchange) => {
      for (const [name, fault] of chosen) {
        node.proxy.reset();
        let isMet = false;
        node.proxy.onExchange = (met) => {
          if (isMet || met !== exchange) return undefined;
          isMet = true;
          return fault;
        };
        const answer = await node.api.get(path());
        expect([name, isMet, summaryOf(answer)]).toEqual([name, true, answerTo(name)]);
        expect([name, answer.body.error.retryable]).toEqual([name, true]);
        const isOurs = answer.status === 500;
        expect([name, answer.headers.has('retry-after')]).toEqual([name, !isOurs]);
        node.proxy.reset();
        expect([name, (await served(() => node.api.get(path()))).status]).toEqual([name, 200]);
      }
    },
  );
});
