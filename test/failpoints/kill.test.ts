import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExchangeProxy, type Fault } from '../support/exchanges.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { adjustment, create, kinds } from './kinds.ts';
import { extent, sampleOf, timeout } from './sample.ts';
import { first, repeated, type Way } from './scenarios.ts';
import { isReplay, Stand } from './stand.ts';

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

const pointsOf = (way: Way) =>
  way.own.flatMap((exchange) =>
    (['before', 'after'] as const).map((when) => ({ way, exchange, when })),
  );

/** Around the commit in every run: a client that hears nothing must be able to ask again. */
const always = [adjustment, create]
  .flatMap((kind) => pointsOf(first(kind)))
  .filter(({ exchange }) => exchange === 'commit');
const others = kinds.flatMap((kind) => [first(kind), repeated(kind)]).flatMap(pointsOf);
const chosen = [...always, ...sampleOf(others, 4)];

test(`a service killed at any moment of a write leaves all of it or nothing (${extent})`, {
  timeout,
}, async () => {
  for (const { way, exchange, when } of chosen) await kill(way, exchange, when);
  await stand.verify();
});

async function kill(way: Way, exchange: string, when: When): Promise<void> {
  const what = `${way.name}, killed ${when} ${exchange}`;
  const write = await stand.newWrite(way.kind);
  await way.prepare(stand, write);
  // Only now: starting has exchanges of its own.
  const next = await starting;
  const fault: Fault = { kind: 'run', when, work: () => serving.child.kill('SIGKILL') };
  let isMet = false;
  // Behind the last statement COMMIT is on its way, but another process may not have sent it yet
  // when that statement is answered. Whether it passed is known here.
  let isDone = way.isReplay;
  proxy.onExchange = (name) => {
    const isHit = !isMet && name === exchange;
    if (name === 'commit' && !(isHit && when === 'before')) isDone = true;
    if (!isHit) return undefined;
    isMet = true;
    return fault;
  };
  const ask = () => stand.send(serving.api.as(stand.token), write);
  const unanswered = await ask().catch((error: Error) => error.message);
  expect([what, unanswered]).toEqual([what, 'fetch failed']);
  await serving.end('SIGKILL');
  serving = next;
  starting = start();
  proxy.onExchange = () => undefined;
  if (exchange === 'commit') expect([what, isDone]).toEqual([what, when === 'after']);
  const answer = await ask();
  expect([what, answer.status]).toEqual([what, way.kind.status]);
  expect([what, isReplay(answer)]).toEqual([what, isDone]);
  await stand.mustSettle(write, what, answer);
}
