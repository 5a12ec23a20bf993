// `npm run rehearse-upgrade`: an upgrade as an operator does it, from an earlier version of the
// program, out of the history of this repository, to the present one. Nodes of both run side by
// side on one database while clients write through both and retry from one at the other.
// `--from COMMIT`, `--keys 1000`, `--movements 100000` (in the database before it begins).

import { parseArgs } from 'node:util';
import { Given } from '../kit/given.ts';
import { type ServiceProcess, serveProcess } from '../kit/process.ts';
import { type Ground, openGround } from './ground.ts';
import { longest, watchLocks } from './look.ts';
import { judge } from './oracle.ts';
import { fill } from './past.ts';
import { checkOut, commitBefore, type Program, presentProgram, tallybook } from './program.ts';
import { Node, openShops, Traffic } from './traffic.ts';

const { values: options } = parseArgs({
  options: {
    from: { type: 'string' },
    keys: { type: 'string', default: '1000' },
    movements: { type: 'string', default: '100000' },
  },
});
const keys = Number(options.keys);
const workers = 8;

interface Running {
  readonly node: Node;
  readonly service: ServiceProcess;
}

const ground = await openGround();
const old = await checkOut(options.from ?? (await commitBefore()));
const present = await presentProgram();
const running: Running[] = [];
let isSound = false;
try {
  isSound = await rehearse();
} finally {
  await Promise.all(running.map(({ service }) => service.end('SIGKILL')));
  await old.remove();
  await ground.close();
}
process.exit(isSound ? 0 : 1);

async function rehearse(): Promise<boolean> {
  say('from', `${old.commit} (version ${old.schema}) to version ${present.schema}`);
  await must(tallybook(old, ['migrate'], ground.env));
  await fillOld(Number(options.movements));
  const shops = await openShops(new Given(ground), 4);
  await switchLimitsOff(ground);
  const traffic = new Traffic(shops);
  const [a, b] = [await start(old, 'old-1'), await start(old, 'old-2')];
  await times(keys, () => traffic.insist(traffic.request(), [a.node, b.node]));
  say('bound by the old version alone', traffic.bound.size);
  const c = await upgradeUnderLoad(traffic, [a.node, b.node]);
  await switchLimitsOff(ground);
  await sideBySide(traffic, a.node, c.node);
  await roll(traffic, [a, b], c);
  const news = running.filter(({ node }) => node.isUp).map(({ node }) => node);
  await each([...traffic.bound.values()], (bound) => traffic.insist(bound, news));
  say('every key retried at the new version', traffic.bound.size);
  return report(traffic, news);
}

async function fillOld(movements: number): Promise<void> {
  if (movements === 0) return;
  const { client } = ground;
  await client.query('set session_replication_role = replica');
  await fill(client, { levels: Math.ceil(movements / 100), depth: 100 });
  await client.query('set session_replication_role = origin');
  await client.query('vacuum analyze');
  say('movements before', movements);
}

/** The first new node migrates while the old ones serve. */
async function upgradeUnderLoad(traffic: Traffic, olds: readonly Node[]): Promise<Running> {
  let isMigrating = true;
  const load = traffic.run(
    workers,
    () => olds,
    () => isMigrating,
  );
  traffic.slowest = 0;
  let started: Running | undefined;
  const locks = await watchLocks(ground.ownerUrl, async () => {
    started = await start(present, 'new-1');
  });
  isMigrating = false;
  await load;
  const { what, ms } = longest(locks);
  say('longest lock of the migrations', `${what}, ${ms} ms`);
  say('slowest write at an old node meanwhile', `${Math.round(traffic.slowest)} ms`);
  if (started === undefined) throw new Error('the new version did not start');
  return started;
}

async function sideBySide(traffic: Traffic, oldNode: Node, newNode: Node): Promise<void> {
  await times(keys, async () => {
    const request = traffic.request();
    await traffic.insist(request, [oldNode]);
    await traffic.insist(request, [newNode]);
    await traffic.insist(request, [oldNode]);
  });
  say('sent to the old version, retried at the new one and back', keys);
  await times(keys, async () => {
    const request = traffic.request();
    await traffic.insist(request, [newNode]);
    await traffic.insist(request, [oldNode]);
    await traffic.insist(request, [newNode]);
  });
  say('sent to the new version, retried at the old one and back', keys);
  await times(keys, async () => {
    const request = traffic.request();
    await Promise.all([[oldNode], [newNode]].map((at) => traffic.insist(request, at)));
  });
  say('sent to both at once', keys);
}

/** Old nodes are replaced one by one while clients go on. */
async function roll(traffic: Traffic, olds: readonly Running[], first: Running): Promise<void> {
  let isRolling = true;
  const nodes = () => running.filter(({ node }) => node.isUp).map(({ node }) => node);
  const load = traffic.run(workers, nodes, () => isRolling);
  for (const [index, one] of olds.entries()) {
    const code = await one.service.end('SIGTERM');
    one.node.close();
    if (code !== 0) traffic.faults.push(`${one.node.name} ended with ${code}`);
    if (index > 0) await start(present, `new-${index + 1}`);
  }
  isRolling = false;
  await load;
  say('old nodes replaced one by one, under load', olds.length);
  if (!first.node.isUp) throw new Error('the first new node is gone');
}

async function report(traffic: Traffic, nodes: readonly Node[]): Promise<boolean> {
  const bound = [...traffic.bound.values()];
  const [node] = nodes;
  if (node === undefined) throw new Error('no node is left');
  let others = 0;
  await each(bound.slice(0, keys), async (one) => {
    // Such a body is refused for its fields where it is no product's: 409 all the same.
    if ((await traffic.conflict(one, node)) !== 409) others += 1;
  });
  const verdict = { ...(await judge(ground, bound)), changed_bodies_not_refused: others };
  const verified = await tallybook(present, ['verify', '--json'], ground.env);
  const refused = await Promise.all(
    ['serve', 'migrate'].map((command) => tallybook(old, [command], ground.env)),
  );
  say('keys, definitive answers', `${bound.length}, ${traffic.answers}`);
  say('attempts without one, by status', JSON.stringify([...traffic.retried]));
  say('conflicts and other answers', traffic.faults.length);
  for (const fault of traffic.faults.slice(0, 20)) say('fault', fault);
  for (const [what, count] of Object.entries(verdict)) say(what, count);
  say('tallybook verify', verified.stdout.trim().slice(0, 400) || verified.stderr);
  for (const { code, stderr } of refused)
    say('the old version on the new schema', `${code} ${stderr}`);
  return (
    traffic.faults.length === 0 &&
    Object.values(verdict).every((count) => count === 0) &&
    verified.code === 0 &&
    refused.every(({ code, stderr }) => code === 1 && stderr.includes('run a newer one'))
  );
}

async function start(program: Program, name: string): Promise<Running> {
  const service = await serveProcess([], ground.env, { bin: program.bin });
  const one = { service, node: new Node(name, new URL(service.greeting.base_url).origin) };
  running.push(one);
  return one;
}

/** Limits count for clients in life; here they would be a pause. They came with version 2. */
async function switchLimitsOff({ client }: Ground): Promise<void> {
  const { rowCount } = await client.query(`select from pg_attribute
    where attrelid = 'merchants'::regclass and attname = 'requests_per_minute'`);
  if (rowCount === 0) return;
  await client.query(`update merchants set requests_per_minute = 0;
    update credentials set requests_per_minute = 0`);
}

async function times(count: number, work: () => Promise<void>): Promise<void> {
  await each(Array.from({ length: count }), work);
}

/** Some at a time. */
async function each<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = [...list].values();
  const worker = async () => {
    for (const one of rest) await work(one);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

async function must(ran: ReturnType<typeof tallybook>): Promise<void> {
  const { code, stderr } = await ran;
  if (code !== 0) throw new Error(stderr);
}

function say(what: string, value: string | number): void {
  console.log(`${what}: ${value}`);
}
