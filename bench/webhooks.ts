// `npm run deliveries`: how soon receivers of webhooks hear of a commit, what writes lose beside
// 500 deliveries a second, and what receivers that hang cost the others. It prints figures and
// judges them: the exit code is 1 when a bar is missed.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  addProducts,
  createMerchants,
  type ManyRowsMerchant,
  settle,
} from '../test/kit/many-rows.ts';
import { thisCheckout } from '../test/kit/program.ts';
import { familyProcessorMs, processorMs } from '../test/kit/usage.ts';
import { adjustment, planOf } from './cases.ts';
import { Load } from './load.ts';
import { median } from './measure.ts';
import { Ending, runToEnd, startPostgres, startService, temporaryDirectory } from './servers.ts';

const bars = { idleP99Ms: 250, perSecond: 500, writesShare: 0.9, hangingRatio: 2 };
const rounds = 3;
const seconds = 6;
const connections = 64;
const merchantsOfMany = 10;
const webhooksOfEach = 100;
const hangingOfEach = 10;

const ending = new Ending();
let missed = 0;

function say(what: string, figure: string, isMet = true): void {
  if (!isMet) missed += 1;
  console.log(`${isMet ? '    ' : 'MISS'}  ${what.padEnd(58)} ${figure}`);
}

/** Each call that came: of which event, when. */
interface Heard {
  readonly event: string;
  readonly at: number;
}

interface Listener {
  readonly url: string;
  readonly heard: Heard[];
  answer: (response: ServerResponse) => void;
}

async function listen(): Promise<Listener> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  server.keepAliveTimeout = 60_000;
  ending.add(async () => {
    server.closeAllConnections();
    server.close();
  });
  const listener: Listener = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    heard: [],
    answer: (response) => response.writeHead(204).end(),
  };
  server.on('request', (request, response) => {
    listener.heard.push({ event: String(request.headers['webhook-id']), at: performance.now() });
    request.resume();
    request.once('end', () => listener.answer(response));
  });
  return listener;
}

let keys = 0;

class Client {
  readonly #origin: string;
  readonly #merchant: ManyRowsMerchant;

  constructor(origin: string, merchant: ManyRowsMerchant) {
    this.#origin = origin;
    this.#merchant = merchant;
  }

  async send(method: 'POST' | 'PATCH', path: string, body: object) {
    keys += 1;
    const response = await fetch(`${this.#origin}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#merchant.token}`,
        'content-type': 'application/json',
        'idempotency-key': `deliveries-bench-${keys}`,
      },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as {
      readonly data: { readonly id: string };
      readonly meta: { readonly operation_id: string };
    };
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return { id: answer.data.id, event: answer.meta.operation_id.replace(/^op_/, 'evt_') };
  }

  async hook(url: string, more: object = {}): Promise<string> {
    return (await this.send('POST', '/webhooks', { url, ...more })).id;
  }

  /** Resolves with the event and when it was acknowledged. */
  async customer(): Promise<Heard> {
    const { event } = await this.send('POST', '/customers', {
      ...{ name: 'Ada', email: `bench.${keys}@example.com` },
    });
    return { event, at: performance.now() };
  }
}

const quantile = (numbers: readonly number[], share: number) =>
  numbers.toSorted((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? Number.NaN;

const shown = (ms: readonly number[]) =>
  `p50 ${quantile(ms, 0.5).toFixed(1)} ms, p99 ${quantile(ms, 0.99).toFixed(1)} ms`;

/** From the acknowledgement to the receipt, for each receipt. */
function delays(made: readonly Heard[], heard: readonly Heard[]): number[] {
  const times = new Map(made.map(({ event, at }) => [event, at]));
  return heard.flatMap(({ event, at }) => {
    const since = times.get(event);
    return since === undefined ? [] : [at - since];
  });
}

async function until(isSo: () => boolean, limitMs = 60_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!isSo() && performance.now() < end) await sleep(20);
}

async function idle(client: Client): Promise<void> {
  const listener = await listen();
  await client.hook(listener.url);
  await client.customer();
  await until(() => listener.heard.length > 0);
  const made: Heard[] = [];
  for (let count = 0; count < 300; count += 1) {
    made.push(await client.customer());
    await sleep(30);
  }
  await until(() => listener.heard.length > made.length);
  const found = delays(made, listener.heard);
  const isMet = quantile(found, 0.99) <= bars.idleP99Ms && found.length === made.length;
  say('from the acknowledgement to the receipt, one webhook', shown(found), isMet);
}

/** What a delivery costs, without anything else: the machine may be busy, this is the same. */
async function alone(
  backlog: Client,
  processes: { readonly service: number; readonly postmaster: number },
): Promise<void> {
  const listener = await listen();
  while (keys < 6_000) await Promise.all(Array.from({ length: 100 }, () => backlog.customer()));
  const used = () => [processorMs(processes.service), familyProcessorMs(processes.postmaster)];
  const [serviceMs = 0, databaseMs = 0] = used();
  const begun = performance.now();
  const id = await backlog.hook(listener.url, { from_position: '0' });
  await until(() => listener.heard.length >= 5_000);
  const tookMs = performance.now() - begun;
  const [laterMs = 0, laterDatabaseMs = 0] = used();
  const each = listener.heard.length;
  await backlog.send('PATCH', `/webhooks/${id}`, { status: 'paused' });
  const perSecond = (each * 1_000) / tookMs;
  const ofService = `service ${((laterMs - serviceMs) / each).toFixed(3)} ms`;
  const ofDatabase = `database ${((laterDatabaseMs - databaseMs) / each).toFixed(3)} ms each`;
  const figure = `${perSecond.toFixed(0)}/s, ${ofService}, ${ofDatabase}`;
  say('deliveries to one receiver, nothing else', figure, perSecond >= bars.perSecond);
}

async function besideWrites(
  clients: { readonly backlog: Client; readonly origin: string },
  run: () => Promise<{ readonly requests: number; readonly seconds: number }>,
): Promise<void> {
  const { backlog } = clients;
  const listener = await listen();
  let next = 0;
  // One answer every two milliseconds: more than 500 a second it does not take.
  listener.answer = (response) => {
    next = Math.max(next + 1_000 / bars.perSecond, performance.now());
    setTimeout(() => response.writeHead(204).end(), next - performance.now());
  };
  const hook = await backlog.hook(listener.url, { status: 'paused', from_position: '0' });
  const shares: number[] = [];
  const speeds: number[] = [];
  await run();
  for (let round = 0; round < rounds; round += 1) {
    const alone = await run();
    const again = { status: 'active', from_position: '0' };
    await backlog.send('PATCH', `/webhooks/${hook}`, again);
    await sleep(1_000);
    const before = listener.heard.length;
    const begun = performance.now();
    const beside = await run();
    const speed = ((listener.heard.length - before) * 1_000) / (performance.now() - begun);
    await backlog.send('PATCH', `/webhooks/${hook}`, { status: 'paused' });
    await sleep(1_000);
    const rate = (one: { requests: number; seconds: number }) => one.requests / one.seconds;
    say(
      `round ${round + 1}: adjustments/s alone, beside deliveries`,
      `${rate(alone).toFixed(0)}, ${rate(beside).toFixed(0)} with ${speed.toFixed(0)} deliveries/s`,
    );
    shares.push(rate(beside) / rate(alone));
    speeds.push(speed);
  }
  const [share, speed] = [median(shares), median(speeds)];
  say('deliveries a second beside writes', speed.toFixed(0), speed >= 0.9 * bars.perSecond);
  const writes = `${(100 * (1 - share)).toFixed(1)} % fewer writes`;
  say('what writes lose beside them', writes, share >= bars.writesShare);
}

async function besideHanging(clients: readonly Client[]): Promise<void> {
  const [good, bad] = [await listen(), await listen()];
  bad.answer = () => undefined;
  const hanging: (() => Promise<void>)[] = [];
  for (const client of clients) {
    for (let count = 0; count < webhooksOfEach; count += 1) {
      if (count >= hangingOfEach) await client.hook(good.url);
      else {
        const id = await client.hook(bad.url, { status: 'paused' });
        hanging.push(async () => {
          await client.send('PATCH', `/webhooks/${id}`, { status: 'active' });
        });
      }
    }
  }
  const measure = async () => {
    const made: Heard[] = [];
    const before = good.heard.length;
    for (let count = 0; count < 60; count += 1) {
      const client = clients[count % clients.length];
      if (client !== undefined) made.push(await client.customer());
      await sleep(400);
    }
    const each = webhooksOfEach - hangingOfEach;
    await until(() => good.heard.length - before >= made.length * each, 30_000);
    return delays(made, good.heard);
  };
  await measure();
  const alone = await measure();
  for (const activate of hanging) await activate();
  await sleep(12_000);
  const beside = await measure();
  const ratio = quantile(beside, 0.99) / quantile(alone, 0.99);
  say('900 webhooks that answer, without others', `${alone.length} calls, ${shown(alone)}`);
  const figure = `${beside.length} calls, ${shown(beside)}, ${ratio.toFixed(2)} times`;
  const isMet = ratio <= bars.hangingRatio && beside.length === alone.length;
  say(`beside 100 that hang (${bad.heard.length} calls)`, figure, isMet);
}

async function main(): Promise<void> {
  console.log(`the machine was busy before: load ${loadavg().map((one) => one.toFixed(1))}`);
  const directory = await temporaryDirectory(ending);
  const postgres = await ending.started(startPostgres(directory));
  const { owner, serviceUrl } = await postgres.database(thisCheckout, 'deliveries');
  const writers = await addProducts(owner, await createMerchants(owner, 10), 500);
  const few = await createMerchants(owner, 2);
  const many = await createMerchants(owner, merchantsOfMany);
  await settle(owner);
  const env = { TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1' };
  const service = await ending.started(startService({ directory, databaseUrl: serviceUrl, env }));
  const { origin } = service;
  const [one, backlog] = few.merchants.map((merchant) => new Client(origin, merchant));
  if (one === undefined || backlog === undefined) throw new Error('too few merchants');
  await idle(one);
  const load = new Load(directory);
  const request = adjustment('{prefix}{product}');
  const plan = planOf([{ weight: 1, request }], writers.merchants, writers);
  await alone(backlog, { service: service.pid, postmaster: postgres.postmaster });
  await besideWrites({ backlog, origin }, () => load.run(origin, plan, connections, seconds));
  await besideHanging(many.merchants.map((merchant) => new Client(origin, merchant)));
  const words = service.log();
  if (words !== '') say('the log of the service', words, false);
  console.log(`the machine at the end: load ${loadavg().map((each) => each.toFixed(1))}`);
}

await runToEnd(ending, main);
process.exit(missed > 0 ? 1 : 0);
