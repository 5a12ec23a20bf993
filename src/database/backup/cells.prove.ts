// A backup of several cells: one file and one moment. It is restored into the same cells, or into
// another number of them, and every merchant is served as before.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf, restoreBackup, takeBackup } from '../../../test/kit/backup.ts';
import { addCells } from '../../../test/kit/cells.ts';
import { createEmptyDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { type Environment, startEnvironment } from '../../../test/kit/environment.ts';
import { createCredential } from '../../access/operator/credentials.ts';
import { createMerchant } from '../../access/operator/merchants.ts';
import { verifyLedger } from '../../inventory/verify.ts';
import { scopes } from '../../resources.ts';
import { connectDatabase, type Database } from '../connect.ts';
import { migrate } from '../migrate.ts';

const names = ['cell_1', 'cell_2', 'cell_3'];
/** More than one in a cell. */
const homes = [...names, 'cell_2', 'cell_3'];

let source: TestDatabase;
let service: Environment;
let database: Database;
let backup: Buffer;
const shops: { readonly token: string; readonly product: string }[] = [];

beforeAll(async () => {
  source = await createEmptyDatabase();
  await migrate({ owner: source.ownerUrl, service: source.serviceUrl });
  await addCells(source.ownerUrl, names.slice(1));
  service = await startEnvironment({ db: source });
  database = connectDatabase({ url: source.serviceUrl, writers: 1 });
  for (const cell of homes) shops.push(await openShop(cell));
  backup = await takeBackup(source);
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

async function openShop(cell: string) {
  const { id: merchant } = await createMerchant(database, `Of ${cell}`, cell);
  const grant = { name: 'till', scopes, locations: 'all', lifeSeconds: 3_600 } as const;
  const { token } = await createCredential(database, { merchant, ...grant });
  // No note of its use is due while the tests last.
  await source.sql('update credentials set last_used_at = now()');
  const api = service.api.as(token);
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await api.post(path, body);
    expect(answer.status, path).toBe(201);
    return answer.body.data.id;
  };
  const product = await made('/products', { name: 'Flour' });
  const location = await made('/locations', { name: 'Main Street' });
  await made('/customers', { name: 'Ada', email: 'ada@example.com' });
  for (const quantity of ['4', '7', '2']) {
    await made('/inventory/adjustments', {
      ...{ product_id: product, location_id: location },
      ...{ target_quantity: quantity, reason: 'stock_count' },
    });
  }
  await setClockBack(cell);
  // The movement of its first line has the later ID.
  const lines = [product, await made('/products', { name: 'Salt' })].map((product_id) => ({
    ...{ product_id, quantity: '1' },
  }));
  await made('/inventory/transfers', { to_location_id: location, reason: 'receipt', lines });
  return { token, product };
}

/** As if the node that made the last movement had had a clock that was ahead of the others'. */
async function setClockBack(cell: string): Promise<void> {
  const session = await source.session(cell);
  await session.query(`set session_replication_role = 'replica';
    set search_path = ${cell}, public;
    create temporary table late as
      select last_movement_id as id from inventory_levels where sequence = 3;
    update operations set resource_id = 'imv_02' || substr(resource_id, 7)
      where resource_id in (select id from late);
    update inventory_movements set id = 'imv_02' || substr(id, 7) where id in (select id from late);
    update inventory_levels set last_movement_id = 'imv_02' || substr(last_movement_id, 7)
      where last_movement_id in (select id from late)`);
  await session.end();
}

/** The rows of each table, wherever they are; merchants without their cells. */
async function rowsOf(db: TestDatabase): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const [table, found] of Object.entries(await contentOf(db))) {
    const name = table.slice(table.indexOf('.') + 1);
    const plain = (found as string[]).map((row) => row.replace(/,cell_\d,/, ','));
    rows[name] = [...(rows[name] ?? []), ...plain].sort();
  }
  return rows;
}

describe.each([
  [undefined, undefined, [1, 2, 2]],
  [undefined, 1, [1, 2, 2]],
  [1, 2, [5]],
  [2, undefined, [3, 2]],
  [2, 4, [3, 2]],
  [4, undefined, [2, 1, 1, 1]],
] as const)('restored into %s cells, by %s rows at once', (cells, rowsAtOnce, merchants) => {
  let db: TestDatabase;
  let restored: Environment;

  beforeAll(async () => {
    db = await createEmptyDatabase();
    await restoreBackup(db, backup, cells, rowsAtOnce);
    restored = await startEnvironment({ db });
  });
  afterAll(() => restored.stop());

  test('every row is there once, and the ledger is sound', async () => {
    expect(await rowsOf(db)).toEqual(await rowsOf(source));
    const found = await db.sql('select cell, count(*)::int from merchants group by 1 order by 1');
    expect(found.map(({ count }) => count)).toEqual(merchants);
    const other = connectDatabase({ url: db.serviceUrl, writers: 1 });
    const verification = await verifyLedger(other);
    await other.close();
    expect(verification).toEqual({ ok: true, levels: 10, movements: 25, differences: [] });
  });

  test('every merchant is served, and writes', async () => {
    for (const { token, product } of shops) {
      const api = restored.api.as(token);
      expect((await api.get(`/products/${product}`)).body.data).toMatchObject({ name: 'Flour' });
      expect((await api.post('/products', { name: 'Salt' })).status).toBe(201);
    }
  });
});

test('restored into the cells it had, it is the same, and is backed up the same', async () => {
  const db = await createEmptyDatabase();
  await restoreBackup(db, backup);
  expect(await contentOf(db)).toEqual(await contentOf(source));
  await db.drop();
});
