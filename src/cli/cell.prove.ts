// Cells by command, beside a service that began with one: it serves the merchants of those that
// come, and no merchant moves.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEmptyDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { runTallybook } from '../../test/kit/program.ts';
import { connectDatabase } from '../database/connect.ts';
import { migrate } from '../database/migrate.ts';
import { verifyLedger } from '../inventory/verify.ts';

let db: TestDatabase;
let service: Environment;

beforeAll(async () => {
  db = await createEmptyDatabase();
  await migrate({ owner: db.ownerUrl, service: db.serviceUrl });
  service = await startEnvironment({ db });
});
afterAll(() => service.stop());

async function json<Printed>(...args: readonly string[]): Promise<Printed> {
  const env = { DATABASE_URL: db.serviceUrl, TALLYBOOK_MIGRATE_URL: db.ownerUrl };
  return JSON.parse(await runTallybook(args, { env }));
}

interface Made {
  readonly id: string;
  readonly cell: string;
}

const create = (...more: readonly string[]) =>
  json<Made>('merchant', 'create', '--name', 'Corner Shop', ...more);

async function tokenOf({ id }: Made): Promise<string> {
  const args = ['--merchant', id, '--name', 'till', '--scopes', 'all', '--locations', 'all'];
  return (await json<{ token: string }>('token', 'create', ...args)).token;
}

/** Something of everything that a write touches. */
async function trade(token: string): Promise<string> {
  const api = service.api.as(token);
  const made = async (path: string, body: object) => {
    const answer = await api.post(path, body);
    expect(answer.status, path).toBe(201);
    return answer.body.data.id as string;
  };
  const product_id = await made('/products', { name: 'Flour' });
  const location_id = await made('/locations', { name: 'Main Street' });
  const count = { product_id, location_id, target_quantity: '4', reason: 'stock_count' };
  await made('/inventory/adjustments', count);
  const level = await api.get(`/inventory/levels?location_id=${location_id}`);
  expect(level.body.data).toMatchObject([{ product_id, quantity: '4' }]);
  return product_id;
}

test('merchants go where the fewest are, or where they are told to, and are served', async () => {
  const first = await create();
  expect(first.cell).toBe('cell_1');
  const early = await trade(await tokenOf(first));
  expect(await json('cell', 'add', 'cell_2')).toEqual({ name: 'cell_2' });
  const second = await create();
  expect(second.cell).toBe('cell_2');
  const third = await create('--cell', 'cell_1');
  expect(third.cell).toBe('cell_1');
  const token = await tokenOf(second);
  const late = await trade(token);
  await trade(await tokenOf(third));
  expect((await service.api.as(token).get(`/products/${early}`)).status).toBe(404);
  const where = await db.sql(
    `select 1 as cell, merchant_id from cell_1.products where id = $1
    union all select 2, merchant_id from cell_2.products where id = $2 order by 1`,
    [early, late],
  );
  expect(where).toEqual([
    { cell: 1, merchant_id: first.id },
    { cell: 2, merchant_id: second.id },
  ]);
  expect(await json('cell', 'list')).toMatchObject([
    { name: 'cell_1', merchants: 2 },
    { name: 'cell_2', merchants: 1 },
  ]);
  const lines = await json<{ action: string; cell?: string }[]>(
    'audit',
    'list',
    '--action',
    'cell.add',
  );
  expect(lines).toMatchObject([{ action: 'cell.add', cell: 'cell_2' }]);
  const verified = await json('verify');
  expect(verified).toMatchObject({ ok: true, levels: 3, movements: 3 });
  expect(await json('verify', '--merchant', second.id)).toMatchObject({ ok: true, movements: 1 });
});

test('rows of a merchant in another cell than its own are named', async () => {
  const { id } = await create('--cell', 'cell_2');
  const session = await db.session();
  await session.query("set session_replication_role = 'replica'");
  await session.query(
    `insert into cell_1.inventory_levels (merchant_id, product_id, location_id)
    values ($1, 'prod_1', 'loc_1')`,
    [id],
  );
  await session.end();
  const database = connectDatabase({ url: db.serviceUrl, writers: 1 });
  const { ok, differences } = await verifyLedger(database);
  await database.close();
  expect(ok).toBe(false);
  expect(differences).toMatchObject([
    {
      kind: 'merchant_elsewhere',
      merchant_id: id,
      message: 'these rows are in cell_1, and their merchant is in cell_2',
    },
  ]);
});

test.each([
  ['merchant create --name A --cell cell_7', 'there is no cell cell_7, but cell_1, cell_2'],
  ['cell add cell_2', 'there is cell_2 already'],
  ['cell add shops', 'a cell is called cell_'],
])('is refused: %s', async (command, reason) => {
  await expect(json(...command.split(' '))).rejects.toThrow(reason);
});

test.each([
  ['server list', 'the database is on one server, not on Citus'],
  ['cell move cell_1 --to 10.0.0.7:5432', 'cells move on a Citus cluster only'],
])('needs a cluster: %s', async (command, reason) => {
  await expect(json(...command.split(' '))).rejects.toThrow(reason);
});

test('only the owner of the schema adds one', async () => {
  const env = { DATABASE_URL: db.serviceUrl };
  await expect(runTallybook(['cell', 'add', 'cell_3'], { env })).rejects.toThrow(
    'set TALLYBOOK_MIGRATE_URL',
  );
});
