// `npm run bench-workers`: what a request costs a node of two workers beside a node of one process,
// in alternation: processor time of the service, memory, requests per second. It judges the
// processor time: the exit code is 1 when a bar is missed.

import { loadavg } from 'node:os';
import { thisCheckout } from '../test/kit/program.ts';
import { childrenOf, residentBytes } from '../test/kit/usage.ts';
import { fill, measureBeside, ratio, show } from './beside.ts';
import { Load } from './load.ts';
import { Ending, runToEnd, startPostgres, startService, temporaryDirectory } from './servers.ts';

/** Processor time of two workers ÷ that of one process, at 64 connections. */
const bar = 1.1;
const pace = { rounds: 5, seconds: 6 };
const workersOf = { one: '1', two: '2' } as const;

type Name = keyof typeof workersOf;

const ending = new Ending();
let missed = 0;

async function main(): Promise<void> {
  console.log(`the machine was busy before: load ${loadavg().map((one) => one.toFixed(1))}`);
  const directory = await temporaryDirectory(ending);
  const postgres = await ending.started(startPostgres(directory));
  const { owner, serviceUrl } = await postgres.database(thisCheckout, 'workers');
  const group = await fill(owner);
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
  const place = { load: new Load(directory), group };
  for (const [title, request, connections] of [
    ['list 50 products', 'list', 64],
    ['adjust a level', 'adjust', 64],
    ['adjust, few at once', 'adjust', 4],
  ] as const) {
    const found = await measureBeside(services, request, place, { ...pace, connections });
    show(title, found);
    const isMissed = connections === 64 && found.two.msEach / found.one.msEach > bar;
    if (isMissed) missed += 1;
    console.log(`${isMissed ? 'MISS' : 'ok'}: ${ratio(found.two, found.one)}`);
  }
  for (const { name, pid, log } of services) {
    const bytes = [pid, ...childrenOf(pid)].map((one) => Math.round(residentBytes(one) / 1e6));
    console.log(`${name.padEnd(4)} resident at the end: ${bytes.join(' + ')} MB`);
    const words = log();
    if (words !== '') console.log(`its log:\n${words}`);
  }
}

await runToEnd(ending, main);
process.exit(missed > 0 ? 1 : 0);
