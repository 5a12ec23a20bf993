// What `verify` says of counts: nothing while they are whole, and what of them was damaged. Damage
// is planted by the owner, with the constraints switched off.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { mirrorOf } from '../../test/kit/mirror.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { verifyLedger } from '../inventory/verify.ts';

let service: Environment;
let database: Database;

beforeAll(async () => {
  service = await startEnvironment();
  database = connectDatabase({ url: service.db.serviceUrl, writers: 2 });
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

async function differences(merchant: string, rangeSize: number) {
  const found = await verifyLedger(database, { merchant, rangeSize });
  return found.differences;
}

async function count(api: Api, location_id: string, quantities: Record<string, string>) {
  const lines = Object.entries(quantities).map(([product_id, counted_quantity]) => ({
    ...{ product_id, counted_quantity },
  }));
  const answer = await api.post('/inventory/counts', { location_id, lines }, { key: newKey() });
  expect(answer.status).toBe(201);
  return answer.body;
}

async function damage(sql: string, values: readonly unknown[]): Promise<void> {
  const session = await service.db.session();
  await session.query('set session_replication_role = replica');
  const { rowCount } = await session.query(sql, [...values]);
  expect(rowCount).toBeGreaterThan(0);
}

const counted = 'update inventory_counts set lines = replace(lines::text,';
const itself = 'where merchant_id = $1 and operation_id = $2';
const last = 'inventory_last_counts';
const ofItself =
  'where merchant_id = $1 and position = ' +
  '(select position from operations where merchant_id = $1 and id = $2)';

test.each([
  ['a line of another level', 'count_line_differs', `${counted} '"12"', '"13"')::json ${itself}`],
  [
    'a movement of another product',
    'count_line_differs',
    `update inventory_movements set product_id = 'prod_x' ${itself}`,
  ],
  [
    'a line whose movement only another merchant has',
    'count_line_differs',
    `with gone as (delete from inventory_movements ${itself} returning *), same as (
       update inventory_movements m set quantity_before = gone.quantity_before,
         quantity_delta = gone.quantity_delta, quantity_after = gone.quantity_after
       from gone where m.id = gone.id and m.merchant_id <> $1)
     select from gone`,
  ],
  [
    'a line that names no movement',
    'count_movements_differ',
    `${counted} 'movement_id', 'movement')::json ${itself}`,
  ],
  [
    'a count that says another number of lines',
    'count_lines_differ',
    `update inventory_counts set line_count = line_count + 1 ${itself}`,
  ],
  [
    'a count without its operation',
    'count_without_operation',
    'delete from operations where merchant_id = $1 and id = $2',
  ],
  [
    'an operation whose count is missing',
    'resource_missing',
    `delete from inventory_counts ${itself}`,
  ],
  ['a last count that is not kept', 'last_count_differs', `delete from ${last} ${ofItself}`],
  [
    'a last count of another time',
    'last_count_differs',
    `update ${last} set counted_at = now() ${ofItself}`,
  ],
  [
    'a last count that is no count',
    'last_count_of_none',
    `update ${last} set count_id = 'ict_x' ${ofItself}`,
  ],
  [
    'a last count whose count is missing',
    'last_count_of_none',
    `delete from inventory_counts ${itself}`,
  ],
  [
    'a last count of what was not counted',
    'last_count_of_none',
    `insert into ${last} select merchant_id, location_id, 'prod_x', count_id, credential_id,
      position, counted_at from ${last} ${ofItself} limit 1`,
  ],
])('%s is named', async (_, kind, sql) => {
  const merchant = await service.given.merchant();
  const [shop, store] = [
    await service.given.location(merchant),
    await service.given.location(merchant),
  ];
  const api = service.api.as((await service.given.credential(merchant)).token);
  const [flour, milk] = [
    await service.given.product(merchant),
    await service.given.product(merchant),
  ];
  await count(api, shop, { [flour]: '5', [milk]: '0' });
  const { meta } = await count(api, shop, { [flour]: '12', [milk]: '3' });
  await count(api, store, { [milk]: '9' });
  await count(api, shop, { [milk]: '3' });
  // Of the same IDs: it has what is missing here.
  await mirrorOf(service.db, merchant);
  for (const rangeSize of [2, 3, 10_000]) {
    expect(await differences(merchant, rangeSize)).toEqual([]);
  }
  await damage(sql, [merchant, meta.operation_id]);
  for (const rangeSize of [2, 3, 10_000]) {
    const kinds = (await differences(merchant, rangeSize)).map((one) => one.kind);
    expect(kinds).toContain(kind);
  }
});
