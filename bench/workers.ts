// `npm run bench-workers`: what a request costs a node of two workers beside a node of one process,
// in alternation: processor time of the service, memory, requests per second. It judges the
// processor time: the exit code is 1 when a bar is missed.

import { loadavg } from 'node:os';
import { addProducts, createMerchants, settle } from '../test/kit/many-rows.ts';
import { thisCheckout } from '../test/kit/program.ts';
import { childrenOf, familyProcessorMs, residentBytes } from '../test/kit/usage.ts';
import { adjustment, get, planOf } from './cases.ts';
import { Load } from './load.ts';
import { median } from './measure.ts';
import { Ending, runToEnd, startPostgres, startService, temporaryDirectory } from './servers.ts';

/** Processor time of two workers ÷ that of one process. */
const bar = 1.1;
const rounds = 5;
const seconds = 6;
const connections = 64;
const workersOf = { one: '1', two: '2' } as const;

type Name = keyof typeof workersOf;

interface Figures {
  readonly perSecond: number[];
  readonly msEach: number[];
  readonly p99Ms: number[];
}

const ending = new Ending();
let missed = 0;

async function main(): Promise<void> {
  console.log(`the machine was busy before: load ${loadavg().map((one) => one.toFixed(1))}`);
  const directory = await temporaryDirectory(ending);
  const postgres = await ending.started(startPostgres(directory));
  const { owner, serviceUrl } = await postgres.database(thisCheckout, 'workers');
  const group = await addProducts(owner, await createMerchants(owner, 10), 500);
  await settle(owner);
  const start = async (name: Name) => {
    const env = { TALLYBOOK_WORKERS: workersOf[name] };
    const begun = performance.now();
    const service = await ending.started(startService({ directory, databaseUrl: serviceUrl, env }));
    return { ...service, name, startMs: performance.now() - begun };
  };
  const services = [await start('one'), await start('two')];
  for (const { name, startMs } of services) {
    console.log(`${name.padEnd(4)} ready after ${startMs.toFixed(0)} ms`);
  }
  const load = new Load(directory);
  for (const [title, request] of [
    ['list 50 products', get('/products?limit=50')],
    ['adjust a level', adjustment('{prefix}{product}')],
  ] as const) {
    const plan = planOf([{ weight: 1, request }], group.merchants, group);
    const figures: Record<Name, Figures> = { one: none(), two: none() };
    for (let round = -1; round < rounds; round += 1) {
      for (const { name, origin, pid } of services) {
        const before = familyProcessorMs(pid);
        const measured = await load.run(origin, plan, connections, seconds);
        if (measured.errors > 0) throw new Error(measured.firstError);
        if (round < 0) continue;
        figures[name].msEach.push((familyProcessorMs(pid) - before) / measured.total);
        figures[name].perSecond.push(measured.requests / measured.seconds);
        figures[name].p99Ms.push(measured.p99Ms);
      }
    }
    report(title, figures);
  }
  for (const { name, pid, log } of services) {
    const bytes = [pid, ...childrenOf(pid)].map((one) => Math.round(residentBytes(one) / 1e6));
    console.log(`${name.padEnd(4)} resident at the end: ${bytes.join(' + ')} MB`);
    const words = log();
    if (words !== '') console.log(`its log:\n${words}`);
  }
}

const none = (): Figures => ({ perSecond: [], msEach: [], p99Ms: [] });

function report(title: string, { one, two }: Record<Name, Figures>): void {
  const cost = median(two.msEach) / median(one.msEach);
  const speed = median(two.perSecond) / median(one.perSecond);
  for (const [name, { perSecond, msEach, p99Ms }] of Object.entries({ one, two })) {
    const each = `${median(msEach).toFixed(3)} ms of processor time`;
    const slowest = `p99 ${median(p99Ms).toFixed(0)} ms`;
    const whose = `${title.padEnd(18)} ${name.padEnd(4)}`;
    console.log(`${whose} ${median(perSecond).toFixed(0).padStart(6)}/s, ${each}, ${slowest}`);
  }
  if (cost > bar) missed += 1;
  const mark = cost > bar ? 'MISS' : 'ok';
  console.log(`${mark}: ${cost.toFixed(2)} × processor time, ${speed.toFixed(2)} × requests/s`);
}

await runToEnd(ending, main);
process.exit(missed > 0 ? 1 : 0);
