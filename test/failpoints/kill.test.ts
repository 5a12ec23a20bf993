import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExchangeProxy, type Fault } from '../support/exchanges.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { extent, sampled, timeout } from './sample.ts';
import { first, repeated, type Way } from './scenarios.ts';
import { isReplay, path, Stand } from './stand.ts';

// The service is killed at every exchange that a write waits for, before the database hears of it
// and when it has answered, and started again.

let stand: Stand;
let proxy: ExchangeProxy;
/** One that serves, and one that is about to take its place. */
let serving: ServiceProcess;
let starting: Promise<ServiceProcess>;

beforeAll(async () => {
  stand = await Stand.open();
  proxy = new ExchangeProxy(stand.service.db.serviceUrl);
  await proxy.listen();
  serving = await start();
  starting = start();
});
afterAll(async () => {
  for (const service of [serving, await starting]) await service.end('SIGKILL');
  await proxy.close();
  await stand.close();
});

function start(): Promise<ServiceProcess> {
  return startProcess({ ...stand.service.db, serviceUrl: proxy.url });
}

type When = 'before' | 'after';

const points = [first, repeated].flatMap((way) =>
  way.own.flatMap((exchange) =>
    (['before', 'after'] as const).map((when) => ({ way, exchange, when })),
  ),
);

/** Around the commit in every run: a client that hears nothing must be able to ask again. */
const always = points.filter(({ exchange }) => exchange === 'commit');
const chosen = new Set([...always, ...sampled(points.length - 1, 4).map((n) => points[n])]);

test(`a service killed at any moment of a write leaves all of it or nothing (${extent})`, {
  timeout,
}, async () => {
  for (const point of chosen) {
    if (point !== undefined) await kill(point.way, point.exchange, point.when);
  }
  await stand.verify();
});

async function kill(way: Way, exchange: string, when: When): Promise<void> {
  const what = `${way.name}, killed ${when} ${exchange}`;
  const write = await stand.newWrite();
  await way.prepare(stand, write);
  // Only now: starting has exchanges of its own.
  const next = await starting;
  const fault: Fault = { kind: 'run', when, work: () => serving.child.kill('SIGKILL') };
  let isMet = false;
  proxy.onExchange = (name) => {
    if (isMet || name !== exchange) return undefined;
    isMet = true;
    return fault;
  };
  const ask = () => serving.api.as(stand.token).post(path, write.body, { key: write.key });
  const unanswered = await ask().catch((error: Error) => error.message);
  expect([what, unanswered]).toEqual([what, 'fetch failed']);
  await serving.end('SIGKILL');
  serving = next;
  starting = start();
  const answer = await ask();
  // COMMIT is on its way as soon as what it commits is.
  const isSaved = exchange === 'commit' || exchange.startsWith('bind_keys');
  const isDone = way === repeated || (isSaved && when === 'after');
  expect([what, answer.status, isReplay(answer)]).toEqual([what, 201, isDone]);
  await stand.mustSettle(write, what, answer);
}
