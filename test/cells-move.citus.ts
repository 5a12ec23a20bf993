// Cells on a cluster under load, while they move and while servers are killed: nothing that was
// acknowledged is lost, nothing is done twice, and the merchants of other cells notice nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressOf, type ServerRow } from '../src/database/citus.ts';
import { moveCell } from '../src/database/cluster.ts';
import { addCells } from './kit/cells.ts';
import { clusterUrl, placesOf } from './kit/citus.ts';
import { ClusterServer } from './kit/citus-servers.ts';
import { createTestDatabase, type TestDatabase, withoutLimits } from './kit/database.ts';
import { Given } from './kit/given.ts';
import { Load, openShop } from './kit/load.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { verifyLedger } from './kit/program.ts';
import { Receiver } from './kit/receiver.ts';
import { Shop } from './kit/shop.ts';
import { sqlAt } from './kit/sql.ts';

const rounds = Number(process.env.TALLYBOOK_TEST_ROUNDS ?? 3);
const clients = 4;

let db: TestDatabase;
let node: ServiceProcess;
let servers: ClusterServer[];

beforeAll(async () => {
  servers = await ClusterServer.all(clusterUrl ?? '');
  db = await createTestDatabase();
  await withoutLimits(db);
  await addCells(db.ownerUrl, ['cell_2']);
  node = await startProcess(db, { TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1' });
});
afterAll(async () => {
  await node?.end();
  await db?.drop();
});

/** SQL as the owner, in one cell. */
function booksOf(cell: string): Pick<TestDatabase, 'sql'> {
  const place = { connectionString: db.ownerUrl, options: `-c search_path=${cell},public` };
  return { sql: (text, values) => sqlAt(place, text, values) };
}

const serverAt = (place: ServerRow): ClusterServer => {
  const found = servers.find(({ address }) => address === addressOf(place));
  if (found === undefined) throw new Error(`there is no server ${addressOf(place)}`);
  return found;
};

/** The worker that has a cell. */
const ownerOf = async (cell: string): Promise<ClusterServer> =>
  serverAt((await placesOf(db.ownerUrl, cell)).here);

interface Loads {
  readonly moved: Load;
  readonly quiet: Load;
}

/** Runs something while clients write to both cells, and judges what they were answered. */
async function underLoad(body: (loads: Loads) => Promise<void>): Promise<Loads> {
  const start = async (cell: string) =>
    new Load(node.api, await openShop(booksOf(cell), 8, cell), clients);
  const loads = { moved: await start('cell_1'), quiet: await start('cell_2') };
  try {
    await body(loads);
  } finally {
    for (const server of servers) await server.start();
    await Promise.all([loads.moved.stop(), loads.quiet.stop()]);
  }
  await loads.moved.expectWhole(booksOf('cell_1'), node.api);
  await loads.quiet.expectWhole(booksOf('cell_2'), node.api);
  expect(await verifyLedger(db.serviceUrl)).toMatchObject({ ok: true });
  return loads;
}

/** The longest time (ms) between two answers. */
function longest({ sent }: Load): number {
  const times = sent.map(({ at }) => at).sort((a, b) => a - b);
  return Math.round(Math.max(0, ...times.slice(1).map((time, n) => time - (times[n] ?? 0))));
}

test(`a cell moves ${rounds} times while it is used`, async () => {
  const { moved, quiet } = await underLoad(async (loads) => {
    for (let round = 0; round < rounds; round += 1) {
      await loads.moved.more(10);
      const to = await moveOn();
      expect(await ownerOf('cell_1')).toBe(to);
      await Promise.all([loads.moved.more(10), loads.quiet.more(10)]);
    }
  });
  console.log(
    `${rounds} moves: ${moved.sent.length} writes there (${moved.answers}), ` +
      `at most ${longest(moved)} ms between two; ` +
      `${quiet.sent.length} beside it (${quiet.answers}), at most ${longest(quiet)} ms`,
  );
  // No request fails: writes wait.
  for (const { statuses } of [moved, quiet])
    expect([...statuses.keys()].sort()).toEqual([200, 201]);
}, 3_600_000);

test('webhooks go on where their cell has moved', async () => {
  const receiver = await Receiver.listen();
  const shop = await Shop.open({ db, api: node.api, given: new Given(db) });
  const hook = await shop.hook(receiver);
  const called = async () => {
    const position = await shop.customer();
    await receiver.until(({ calls }) => calls.some((one) => one.position === position), 60_000);
  };
  await called();
  await moveOn();
  await called();
  expect(await shop.webhook(hook)).toMatchObject({ status: 'active' });
  receiver.close();
});

test(`a worker is killed ${rounds} times, and only its cell waits`, async () => {
  await apart();
  const { moved, quiet } = await underLoad(async (loads) => {
    for (let round = 0; round < rounds; round += 1) {
      const victim = await ownerOf('cell_1');
      await Promise.all([loads.moved.more(10), loads.quiet.more(10)]);
      await victim.kill();
      await sleep(1_000);
      await victim.start();
      await Promise.all([loads.moved.more(10), loads.quiet.more(10)]);
    }
  });
  console.log(
    `${rounds} kills: ${moved.sent.length} writes there (${moved.answers}); ` +
      `${quiet.sent.length} beside it (${quiet.answers}), at most ${longest(quiet)} ms`,
  );
  expect([...quiet.statuses.keys()].sort()).toEqual([200, 201]);
}, 3_600_000);

test(`the coordinator is killed ${rounds} times, and all cells go on`, async () => {
  const { moved, quiet } = await underLoad(async (loads) => {
    for (let round = 0; round < rounds; round += 1) {
      const [coordinator] = servers;
      await coordinator?.kill();
      await Promise.all([loads.moved.more(20), loads.quiet.more(20)]);
      await coordinator?.start();
      await Promise.all([loads.moved.more(10), loads.quiet.more(10)]);
    }
  });
  console.log(`${rounds} kills of the coordinator: ${moved.answers}; ${quiet.answers}`);
  for (const { statuses } of [moved, quiet])
    expect([...statuses.keys()].sort()).toEqual([200, 201]);
}, 3_600_000);

/** The two cells on two workers. */
async function apart(): Promise<void> {
  const [own, other] = await Promise.all([ownerOf('cell_1'), ownerOf('cell_2')]);
  if (own === other) await moveOn();
}

/** Moves the first cell to the other worker. @returns that one. */
async function moveOn(): Promise<ClusterServer> {
  const to = serverAt((await placesOf(db.ownerUrl, 'cell_1')).there);
  await moveCell(db.ownerUrl, 'cell_1', to.address, async () => undefined);
  return to;
}
