// `npm run floods`: what a shop's own requests take while others idle, dawdle, flood, or come back
// all at once. It prints figures and judges them: the exit code is 1 when a bar is missed.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type LoadGenerator, startLoad } from '../load/generator.ts';
import type { LoadPlan } from '../load/template.ts';
import { perSecond } from '../measure.ts';
import { addProducts, settle } from '../setup/data.ts';
import { startDatabase } from '../setup/database.ts';
import { createMerchants, type MerchantGroup } from '../setup/merchants.ts';
import { type BenchService, startService, verifyLedger } from '../setup/service.ts';
import { peakBytes } from '../setup/usage.ts';
import { Ending } from '../stage.ts';
import { idleCrowd, slowCrowd } from './crowd.ts';
import { adjustments, mixed } from './plans.ts';
import { type Observed, steady } from './steady.ts';
import { storm } from './storm.ts';

const tills = 100;
const seconds = 5;
const connections = 64;
const excess = 5;
const spending = 10;
const bars = { p99Ratio: 2, goodput: 0.8, megabytes: 512, recoverySeconds: 5, stormMs: 5_000 };

const ending = new Ending();
let missed = 0;

function say(what: string, figure: string, isMet = true): void {
  if (!isMet) missed += 1;
  console.log(`${isMet ? '    ' : 'MISS'}  ${what.padEnd(58)} ${figure}`);
}

function sayObserved(what: string, found: Observed, baseline?: Observed): void {
  const { accepted, refused, broken, p50Ms, p99Ms } = found;
  const ratio = baseline === undefined ? 0 : p99Ms / baseline.p99Ms;
  const figure = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
  const compared = baseline === undefined ? '' : `, ${ratio.toFixed(2)} times`;
  const others = `, ${accepted} accepted, ${refused} refused, ${broken.length} broken`;
  say(what, figure + compared + others, broken.length === 0 && ratio <= bars.p99Ratio);
  if (broken.length > 0) console.log(`      ${broken[0]}`);
}

interface Flood {
  readonly owner: pg.Client;
  readonly service: BenchService;
  readonly load: LoadGenerator;
  /** Ten shops without limits; one, and ten, that have the limits of everybody. */
  readonly shops: MerchantGroup;
  readonly noisy: MerchantGroup;
  readonly crowd: MerchantGroup;
  restart(): Promise<BenchService>;
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-floods-'));
  ending.add(() => rm(directory, { recursive: true, force: true }));
  const { owner, serviceUrl } = await ending.started(startDatabase(directory, {}));
  const shops = await addProducts(owner, await createMerchants(owner, 10), 500);
  const noisy = await addProducts(owner, await createMerchants(owner, 1), 500);
  const crowd = await addProducts(owner, await createMerchants(owner, 10), 500);
  for (const group of [noisy, crowd]) await giveUsualLimits(owner, group);
  await settle(owner);
  const load = startLoad(directory, undefined);
  ending.add(() => load.stop());
  const fixed = { databaseUrl: serviceUrl, directory, isLogged: true, nodeFlags: [] };
  const service = await ending.started(startService(fixed));
  const port = Number(new URL(service.origin).port);
  const restart = () => ending.started(startService({ ...fixed, port }));
  const flood: Flood = { owner, service, load, shops, noisy, crowd, restart };
  const calm = await crowds(flood);
  await excessive(flood, calm);
  const megabytes = Math.round((peakBytes(service.pid) ?? 0) / 1_024 ** 2);
  say('most memory of the service in all of this', `${megabytes} MB`, megabytes <= bars.megabytes);
  await comeBack(flood);
  const { ok, levels, movements } = await verifyLedger(serviceUrl);
  say('the ledger', `${levels} levels, ${movements} movements, ${ok ? 'proven' : 'WRONG'}`, ok);
}

async function giveUsualLimits(owner: pg.Client, { merchants }: MerchantGroup): Promise<void> {
  const ids = [merchants.map(({ id }) => id)];
  const usual = 'set requests_per_minute = null';
  await owner.query(`update merchants ${usual} where id = any ($1)`, ids);
  await owner.query(`update credentials ${usual} where merchant_id = any ($1)`, ids);
}

/** @returns what the tills see while nothing else is there. */
async function crowds({ service: { origin }, shops }: Flood): Promise<Observed> {
  const plan = mixed(shops);
  await steady(origin, plan, tills, seconds);
  const calm = await steady(origin, plan, tills, seconds);
  sayObserved(`${tills} requests/s of ten shops, nothing else`, calm);
  const slow = await slowCrowd(origin, 1_000);
  sayObserved(
    'beside 1,000 clients that are slow in every way',
    await steady(origin, plan, tills, 20),
    calm,
  );
  slow.leave();
  say('how often one of those was cut off', `${slow.cutOff}`, slow.cutOff >= 1_000);
  const idle = await idleCrowd(origin, 10_000);
  sayObserved('beside 10,000 clients that idle', await steady(origin, plan, tills, seconds), calm);
  const lost = idle.failed + idle.cutOff;
  say('of those, turned away or cut off', `${lost}`, lost === 0);
  idle.leave();
  return calm;
}

/** Five times the clients that it takes to keep the service busy. */
async function excessive({ service: { origin }, load, ...groups }: Flood, calm: Observed) {
  const { shops, noisy, crowd } = groups;
  const plan = mixed(shops);
  const till = (length = seconds) => steady(origin, plan, tills, length);
  const flood = (by: LoadPlan, clients: number, before = 0) =>
    load.run(origin, by, clients, before + seconds + 2);
  const full = await load.run(origin, plan, connections, seconds);
  const capacity = perSecond(full);
  say(`capacity, by ${connections} clients`, `${capacity.toFixed(0)} requests/s`);
  const [busy] = await Promise.all([till(), flood(plan, connections)]);
  sayObserved('the tills at capacity', busy);
  const [besideOne] = await Promise.all([till(), flood(mixed(noisy), excess * connections)]);
  sayObserved(`beside ${excess} times the clients, of a shop over its limits`, besideOne, busy);
  // What a shop may ask at once is spent by then: ten times 1,000 requests.
  const spent = sleep(1_000 * spending).then(() => till());
  const [besideTen] = await Promise.all([
    spent,
    flood(mixed(crowd), excess * connections, spending),
  ]);
  sayObserved(
    `beside ${excess} times the clients, of ten shops over their limits`,
    besideTen,
    busy,
  );
  const [besideAll, flooded] = await Promise.all([till(), flood(plan, excess * connections)]);
  sayObserved(`beside ${excess} times the clients, of all shops, without limits`, besideAll, busy);
  const goodput = perSecond(flooded) / capacity;
  say('what is served of that, of the capacity', goodput.toFixed(2), goodput >= bars.goodput);
  const recovery = await recoverySeconds(till, calm);
  say('seconds until all is as before', `${recovery}`, recovery <= bars.recoverySeconds);
}

async function comeBack({ owner, service, shops, restart }: Flood): Promise<void> {
  const plan = adjustments(shops);
  const { clients, milliseconds, retries, wrong } = await storm(owner, plan, 300, service, restart);
  const figure = `${milliseconds.toFixed(0)} ms, ${retries} retries meanwhile`;
  say(`until ${clients} clients are served after a crash`, figure, milliseconds <= bars.stormMs);
  say('writes of theirs without exactly one movement', `${wrong}`, wrong === 0);
}

/** The first second in which the tills are as fast again, counted from 1. */
async function recoverySeconds(
  till: (seconds: number) => Promise<Observed>,
  calm: Observed,
): Promise<number> {
  for (let second = 1; second <= 30; second += 1) {
    const { p99Ms, refused } = await till(1);
    if (refused === 0 && p99Ms <= bars.p99Ratio * calm.p99Ms) return second;
  }
  return Number.POSITIVE_INFINITY;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void ending.end(console.error).then(() => process.exit(1)));
}
try {
  await main();
} catch (error) {
  console.error(error);
  missed += 1;
} finally {
  await ending.end(console.error);
}
process.exit(missed === 0 ? 0 : 1);
