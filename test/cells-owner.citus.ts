// What a cell's owner does by its views, past Citus: nobody writes where the cell has left, a move
// waits for who writes, and what every server has is not changed at one.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addressOf, hideCells, pathAtOwner, type ServerRow, urlAt } from '../src/database/citus.ts';
import { moveCell } from '../src/database/cluster.ts';
import { newKey } from './kit/api.ts';
import { placesOf } from './kit/citus.ts';
import { createTestDatabase, type TestDatabase, withoutLimits } from './kit/database.ts';
import { startNode } from './kit/environment.ts';
import { openShop, type Shop } from './kit/load.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { verifyLedger } from './kit/program.ts';
import { sqlAt, withClient } from './kit/sql.ts';

const cell = 'cell_1';
/** Longer than a statement or a lock of the service's role may take. */
const settled = 5_000;

let db: TestDatabase;
let node: ServiceProcess;
let shop: Shop;
/** The worker with the cell, and the one without it. */
let own: ServerRow;
let other: ServerRow;

beforeAll(async () => {
  db = await createTestDatabase();
  await withoutLimits(db);
  node = await startProcess(db);
  shop = await openShop(db, 2, cell);
  expect((await create('First')).status).toBe(201);
});
beforeEach(find);
afterAll(async () => {
  await node?.end();
  await db?.drop();
});

async function find(): Promise<void> {
  const { here, there } = await placesOf(db.ownerUrl, cell);
  [own, other] = [here, there];
}

const create = (name: string) => node.api.as(shop.token).post('/products', { name });

/** As the service's sessions at an owner are. */
const pathOf = `-c search_path=${pathAtOwner(cell).replaceAll(' ', '')}`;
const at = (server: ServerRow, url = db.serviceUrl) => ({
  connectionString: urlAt(url, server),
  options: `${pathOf} -c default_transaction_read_only=off`,
});

const views = (server: ServerRow) =>
  sqlAt<{ name: string }>(
    at(server, db.ownerUrl),
    `select viewname as name from pg_views where schemaname = 'here_${cell}' order by 1`,
  );

test('the owner has a view of each table, and Citus plans nothing of it', async () => {
  const tables = await sqlAt<{ name: string }>(
    db.ownerUrl,
    `select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
     where p.repmodel = 't' or c.relnamespace = '${cell}'::regnamespace order by 1`,
  );
  expect(await views(own)).toEqual(tables);
  expect(await views(other)).toEqual([]);
  const plan = await sqlAt(at(own), 'explain (costs off) update products set name = name');
  expect(JSON.stringify(plan)).toMatch(/Update on products_\d+/);
  expect(JSON.stringify(plan)).not.toContain('Citus');
});

test('what every server has cannot be changed by the view of one', async () => {
  for (const change of [
    'update merchants set name = name',
    'delete from credential_tokens',
    "insert into applications (id) values ('app_1')",
  ]) {
    await expect(sqlAt(at(own, db.ownerUrl), change)).rejects.toThrow(
      /are never changed or removed/,
    );
  }
});

test('the service has by the views the rights that it has on the tables', async () => {
  for (const change of [
    'update operations set position = position',
    'delete from inventory_movements',
    'truncate inventory_movements',
    'update products set merchant_id = merchant_id',
  ]) {
    await expect(sqlAt(at(own), change)).rejects.toThrow(/permission denied|not a table/);
  }
});

test('a move waits for what is being written, and takes it along', async () => {
  const id = shop.products[0];
  let isMoved = false;
  const writer = new pg.Client(at(own));
  await writer.connect();
  let moving: Promise<void>;
  try {
    await writer.query(`begin; set local idle_in_transaction_session_timeout = 0;
      select hold_cell('${cell}')`);
    await writer.query('update products set version = version + 41 where id = $1', [id]);
    moving = moveCell(db.ownerUrl, cell, addressOf(other), async () => undefined).finally(() => {
      isMoved = true;
    });
    await sleep(settled);
    expect(isMoved).toBe(false);
    await writer.query('commit');
  } finally {
    await writer.end();
  }
  await moving;
  await find();
  const product = await node.api.as(shop.token).get(`/products/${id}`);
  expect(product.headers.get('etag')).toContain('42');
});

test('roles that moves of another database have left keep no cell from moving', async () => {
  const [next] = await sqlAt<{ number: string }>(
    db.ownerUrl,
    'select last_value as number from pg_dist_operationid_seq',
  );
  // A role is the server's, and each database counts its moves by itself.
  const names = [0, 1, 2, 3].map(
    (more) => `citus_shard_move_subscription_role_10_${Number(next?.number) + more}`,
  );
  const roles = (verb: string) =>
    withClient(at(other, db.ownerUrl), async (client) => {
      await client.query('set citus.enable_ddl_propagation = off');
      for (const name of names) await client.query(`${verb} role ${name}`);
    });
  await roles('create');
  try {
    await moveCell(db.ownerUrl, cell, addressOf(other), async () => undefined);
  } finally {
    await roles('drop');
  }
  const moved = await placesOf(db.ownerUrl, cell);
  expect(addressOf(moved.here)).toBe(addressOf(other));
});

test('where a cell has left nothing is read or written, and the service goes on', async () => {
  await moveCell(db.ownerUrl, cell, addressOf(other), async () => undefined);
  // Citus drops some seconds later what is left of it.
  for (const statement of ['select from products', `select hold_cell('${cell}')`]) {
    await expect(sqlAt(at(own), statement)).rejects.toMatchObject({ code: '40001' });
  }
  expect((await create('Behind the move')).status).toBe(201);
  expect(await verifyLedger(db.serviceUrl)).toMatchObject({ ok: true });
});

test('without views what is read goes through Citus, and the next write makes them', async () => {
  const made = await views(own);
  await withClient(db.ownerUrl, (client) => hideCells(client));
  expect(await views(own)).toEqual([]);
  expect((await node.api.as(shop.token).get('/products')).status).toBe(200);
  expect((await create('As before')).status).toBe(201);
  expect(await views(own)).toEqual(made);
});

test('a start makes views anew of tables that have other columns', async () => {
  const column = (server: ServerRow) =>
    sqlAt(at(server, db.ownerUrl), 'select added from products limit 0');
  await sqlAt(db.ownerUrl, `alter table ${cell}.products add column added text`);
  await expect(column(own)).rejects.toThrow('column "added" does not exist');
  const second = await startProcess(db);
  try {
    const answer = await second.api.as(shop.token).get('/products');
    expect(answer.status).toBe(200);
  } finally {
    await second.end();
  }
  expect(await column(own)).toEqual([]);
});

test('sessions that find no views at one moment make them once', async () => {
  for (let round = 0; round < 20; round += 1) {
    const made = await views(own);
    await sqlAt(at(own, db.ownerUrl), 'select hide_cells()');
    const clients = Array.from({ length: 8 }, () => new pg.Client(at(own)));
    await Promise.all(clients.map((client) => client.connect()));
    // Each has looked, and knows that they are missing.
    await Promise.all(clients.map((client) => client.query('select count(*) from products')));
    await Promise.all(clients.map((client) => client.query(`select show_cell('${cell}')`)));
    await Promise.all(clients.map((client) => client.end()));
    expect(await views(own)).toEqual(made);
  }
});

test('a key that is taken is known by what Citus passes on, too', async () => {
  // By another name the server is not known as one of a cluster: all goes through Citus.
  const url = new URL(db.serviceUrl);
  url.hostname = 'localhost';
  const nodes = await Promise.all([startNode(url.href), startNode(url.href)]);
  for (let round = 0; round < 10; round += 1) {
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        nodes[index % 2]?.api.as(shop.token).post('/products', { name: 'Once' }, { key }),
      ),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(Array(20).fill(201));
    expect(new Set(answers.map((answer) => answer?.body.data.id)).size).toBe(1);
  }
  await Promise.all(nodes.map((one) => one.stop()));
});
