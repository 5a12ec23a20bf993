import { afterAll, beforeAll, expect, test } from 'vitest';
import { served } from '../kit/again.ts';
import { ExchangeProxy, type Fault } from '../kit/exchanges.ts';
import { extentName, sampleOf, timeout } from '../kit/extent.ts';
import { type ServiceProcess, startProcess } from '../kit/process.ts';
import { FaultEnvironment, isReplay } from './environment.ts';
import { adjustment, create, kinds } from './kinds.ts';
import { first, repeated, type Scenario } from './scenarios.ts';

// The service is killed at every exchange that a write waits for, before it reaches the
// database and after the database has answered, and started again.

let environment: FaultEnvironment;
let proxy: ExchangeProxy;
/** One that serves, and one that is about to take its place. */
let serving: ServiceProcess;
let starting: Promise<ServiceProcess>;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
  proxy = new ExchangeProxy(environment.db.serviceUrl);
  await proxy.listen();
  serving = await start();
  starting = start();
});
afterAll(async () => {
  for (const service of [serving, await starting]) await service.end('SIGKILL');
  await proxy.close();
  await environment.stop();
});

function start(): Promise<ServiceProcess> {
  return startProcess({ ...environment.db, serviceUrl: proxy.url });
}

type When = 'before' | 'after';

const pointsOf = (scenario: Scenario) =>
  scenario.own.flatMap((exchange) =>
    (['before', 'after'] as const).map((when) => ({ scenario, exchange, when })),
  );

/** Around the commit in every run: a client without an answer must be able to ask again. */
const always = [adjustment, create]
  .flatMap((kind) => pointsOf(first(kind)))
  .filter(({ exchange }) => exchange === 'commit');
const others = kinds.flatMap((kind) => [first(kind), repeated(kind)]).flatMap(pointsOf);
const chosen = [...sampleOf(always, 2), ...sampleOf(others, 2, 100)];

test(`a service killed at any moment of a write leaves all of it or nothing (${extentName})`, {
  timeout,
}, async () => {
  for (const { scenario, exchange, when } of chosen) await kill(scenario, exchange, when);
  await environment.verify();
});

async function kill(scenario: Scenario, exchange: string, when: When): Promise<void> {
  const what = `${scenario.name}, killed ${when} ${exchange}`;
  const write = await environment.newWrite(scenario.kind);
  await scenario.prepare(environment, write);
  // Only now: starting has exchanges of its own.
  const next = await starting;
  const fault: Fault = { kind: 'run', when, work: () => serving.child.kill('SIGKILL') };
  let isMet = false;
  // COMMIT follows the last statement, but another process may not have sent it yet when that
  // statement is answered. Whether it passed is known here.
  let isDone = scenario.isReplay;
  proxy.onExchange = (name) => {
    const isHit = !isMet && name === exchange;
    if (name === 'commit' && !(isHit && when === 'before')) isDone = true;
    if (!isHit) return undefined;
    isMet = true;
    return fault;
  };
  const ask = () => environment.send(serving.api.as(environment.token), write);
  const unanswered = await ask().catch((error: NodeJS.ErrnoException) => error.code);
  expect([what, unanswered]).toEqual([what, 'ECONNRESET']);
  await serving.end('SIGKILL');
  serving = next;
  starting = start();
  proxy.onExchange = () => undefined;
  if (exchange === 'commit') expect([what, isDone]).toEqual([what, when === 'after']);
  const answer = await served(ask);
  expect([what, answer.status]).toEqual([what, scenario.kind.status]);
  expect([what, isReplay(answer)]).toEqual([what, isDone]);
  await environment.mustSettle(write, what, answer);
}
