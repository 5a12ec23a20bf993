// `npm run batches`: what writes cost in one request, beside the same in requests of their own, and
// what the largest batches cost everybody else. It prints figures and judges them: the exit code is
// 1 when a bar is missed.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { addProducts, createMerchants, settle, single } from '../test/kit/many-rows.ts';
import { thisCheckout } from '../test/kit/program.ts';
import { Sender } from '../test/kit/sender.ts';
import { peakBytes, processorMs } from '../test/kit/usage.ts';
import { median } from './measure.ts';
import {
  Ending,
  endOnSignal,
  type HttpProcess,
  startPostgres,
  startService,
  temporaryDirectory,
} from './servers.ts';

const bars = { costShare: 0.25, holdMs: 50, megabytes: 512 };
const rounds = 5;
const writesOfRound = 4_000;
const itemsOfBatch = 100;
const connections = 64;
const largeBatches = 20;
const largeAtOnce = 40;

const ending = new Ending();
let missed = 0;

function say(what: string, figure: string, isMet = true): void {
  if (!isMet) missed += 1;
  console.log(`${isMet ? '    ' : 'MISS'}  ${what.padEnd(58)} ${figure}`);
}

interface Shop {
  readonly sender: Sender;
  readonly token: string;
  readonly location: string;
  readonly products: readonly string[];
}

let count = 1_000_000;

function adjustmentOf({ location, products }: Shop) {
  count += 1;
  return {
    product_id: products[count % products.length],
    location_id: location,
    target_quantity: String(count),
    reason: 'stock_count',
  };
}

async function post({ sender, token }: Shop, path: string, body: string, status: number) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  const reply = await sender.send('POST', `/api/v1${path}`, headers, body);
  if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
  return reply.text;
}

async function alone(shop: Shop, writes: number, connections: number): Promise<void> {
  let left = writes;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      await post(shop, '/inventory/adjustments', JSON.stringify(adjustmentOf(shop)), 201);
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
}

async function batched(shop: Shop, writes: number): Promise<void> {
  for (let sent = 0; sent < writes; sent += itemsOfBatch) {
    const operations = Array.from({ length: itemsOfBatch }, () => ({
      type: 'inventory.adjust',
      idempotency_key: randomUUID(),
      body: adjustmentOf(shop),
    }));
    const text = await post(shop, '/batches', JSON.stringify({ operations }), 200);
    const done = text.match(/"status":201/g)?.length;
    if (done !== itemsOfBatch) throw new Error(`of a batch ${done} were done`);
  }
}

/** Processor time of the service for each write, in milliseconds. */
async function costOf({ pid }: HttpProcess, work: () => Promise<void>): Promise<number> {
  const before = processorMs(pid);
  await work();
  return (processorMs(pid) - before) / writesOfRound;
}

async function compare(service: HttpProcess, shop: Shop): Promise<void> {
  const kinds = {
    one: () => alone(shop, writesOfRound, 1),
    all: () => alone(shop, writesOfRound, connections),
    batch: () => batched(shop, writesOfRound),
  };
  const costs = { one: [0], all: [0], batch: [0] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const kind of ['one', 'all', 'batch'] as const) {
      // The first one is for the compiler.
      if (round === 0) costs[kind] = [];
      const cost = await costOf(service, kinds[kind]);
      if (round > 0) costs[kind].push(cost);
    }
  }
  const one = median(costs.one);
  const all = median(costs.all);
  const batch = median(costs.batch);
  const text = (milliseconds: number) => `${(milliseconds * 1e3).toFixed(0)} µs`;
  say('processor time of an adjustment, one request after the other', text(one));
  say(`the same, ${connections} requests at a time`, text(all));
  const share = `${text(batch)}, ${(batch / one).toFixed(2)} and ${(batch / all).toFixed(2)} of it`;
  say(`in a batch of ${itemsOfBatch}`, share, batch <= bars.costShare * one);
}

/** Products with all that they may have. */
function largeBatch(): string {
  const metadata = Object.fromEntries(
    Array.from({ length: 50 }, (_, n) => [`key ${n}`, 'v'.repeat(40)]),
  );
  const operations = Array.from({ length: 200 }, (_, n) => ({
    type: 'products.create',
    idempotency_key: randomUUID(),
    body: { name: `Product ${n}`, description: 'd'.repeat(2_000), metadata },
  }));
  return JSON.stringify({ operations });
}

/** As many faults as a batch may have. */
function faultyBatch(): string {
  const metadata = Object.fromEntries(Array.from({ length: 110 }, (_, n) => [`k${n}`, 1]));
  const operations = Array.from({ length: 200 }, () => ({
    type: 'products.create',
    idempotency_key: randomUUID(),
    body: { metadata },
  }));
  return JSON.stringify({ operations });
}

/** The longest time that a request waits for which nothing is to be done. */
async function longestWait(service: HttpProcess, during: () => Promise<unknown>): Promise<number> {
  const sender = new Sender(service.origin, 1);
  let isOver = false;
  let longest = 0;
  const watching = (async () => {
    while (!isOver) {
      const since = performance.now();
      await sender.send('GET', '/healthz');
      longest = Math.max(longest, performance.now() - since);
      await sleep(1);
    }
  })();
  await during();
  isOver = true;
  await watching;
  sender.close();
  return longest;
}

async function beside(service: HttpProcess, shop: Shop): Promise<void> {
  const kinds = { 'of whole products': largeBatch, 'of nothing but faults': faultyBatch };
  for (const [what, textOf] of Object.entries(kinds)) {
    const texts = Array.from({ length: largeBatches }, textOf);
    const size = ((texts[0] ?? '').length / 1_024).toFixed(0);
    const waits: number[] = [];
    const answers: number[] = [];
    for (const text of texts) {
      const wait = await longestWait(service, async () => {
        answers.push((await post(shop, '/batches', text, 200)).length);
      });
      waits.push(wait);
    }
    const figure = `p50 ${median(waits).toFixed(0)} ms, most ${Math.max(...waits).toFixed(0)} ms`;
    say(`longest wait of others beside ${size} KiB ${what}`, figure, median(waits) <= bars.holdMs);
    say('its answer', `${(Math.max(...answers) / 1_024).toFixed(0)} KiB`);
  }
  const many = Array.from({ length: largeAtOnce }, () => post(shop, '/batches', largeBatch(), 200));
  const ended = await Promise.allSettled(many);
  const served = ended.filter(({ status }) => status === 'fulfilled').length;
  say(`of ${largeAtOnce} such batches at once, served`, `${served}`);
  const megabytes = Math.round(peakBytes(service.pid) / 1_024 ** 2);
  say('most memory of the service in all of this', `${megabytes} MB`, megabytes <= bars.megabytes);
}

async function main(): Promise<void> {
  const directory = await temporaryDirectory(ending);
  const postgres = await ending.started(startPostgres(directory));
  const { owner, serviceUrl } = await postgres.database(thisCheckout, 'batches');
  const group = await addProducts(owner, await createMerchants(owner, 1), 500);
  await settle(owner);
  const service = await ending.started(startService({ databaseUrl: serviceUrl, directory }));
  const { token, location, productPrefix } = single(group);
  const products = Array.from(
    { length: 500 },
    (_, n) => productPrefix + String(n + 1).padStart(6, '0'),
  );
  const shop = { sender: new Sender(service.origin, connections), token, location, products };
  await compare(service, shop);
  await beside(service, shop);
  shop.sender.close();
}

endOnSignal(ending);
try {
  await main();
} catch (error) {
  console.error(error);
  missed += 1;
} finally {
  await ending.end();
}
process.exit(missed === 0 ? 0 : 1);
