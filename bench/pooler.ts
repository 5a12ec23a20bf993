// `npm run bench-pooler`: what a request costs a node behind PgBouncer, set up as in deploy/,
// beside a node that reaches the server itself, in alternation.

import { loadavg } from 'node:os';
import { poolerFor } from '../test/kit/pgbouncer.ts';
import { thisCheckout } from '../test/kit/program.ts';
import { fill, measureBeside, ratio, show } from './beside.ts';
import { Load } from './load.ts';
import { Ending, runToEnd, startPostgres, startService, temporaryDirectory } from './servers.ts';

const pace = { connections: 64, rounds: 5, seconds: 6 };
const ending = new Ending();

async function main(): Promise<void> {
  console.log(`the machine was busy before: load ${loadavg().map((one) => one.toFixed(1))}`);
  const directory = await temporaryDirectory(ending);
  const postgres = await ending.started(startPostgres(directory));
  const { owner, ownerUrl, serviceUrl } = await postgres.database(thisCheckout, 'pooler');
  const group = await fill(owner);
  const pooler = await ending.started(poolerFor([ownerUrl, serviceUrl]));
  const start = async <Name extends string>(name: Name, databaseUrl: string) => ({
    ...(await ending.started(startService({ directory, databaseUrl }))),
    name,
  });
  const services = [
    await start('direct', serviceUrl),
    await start('behind', pooler.through(serviceUrl)),
  ];
  const place = { load: new Load(directory), group };
  for (const [title, request] of [
    ['list 50 products', 'list'],
    ['adjust a level', 'adjust'],
  ] as const) {
    const found = await measureBeside(services, request, place, pace);
    show(title, found);
    console.log(`behind a pooler: ${ratio(found.behind, found.direct)}`);
  }
  for (const { name, log } of services) {
    const words = log();
    if (words !== '') console.log(`the log of ${name}:\n${words}`);
  }
}

await runToEnd(ending, main);
process.exit(0);
