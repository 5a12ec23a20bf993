// That `tallybook verify` sees what is wrong with reservations.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { mirrorOf } from '../../test/kit/mirror.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { verifyLedger } from '../inventory/verify.ts';

let service: Environment;
let database: Database;

beforeAll(async () => {
  service = await startEnvironment();
  database = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

/** Breaks rows past every trigger. */
async function damage(sql: string, values: readonly string[]): Promise<void> {
  const session = await service.db.session();
  await session.query("set session_replication_role = 'replica'");
  await session.query(sql, [...values]);
  await session.end();
}

const verify = async (merchant: string, rangeSize = 10_000) =>
  (await verifyLedger(database, { merchant, rangeSize })).differences;

async function givenReservations() {
  const { given } = service;
  const merchant = await given.merchant();
  const location_id = await given.location(merchant);
  const api = service.api.as((await given.credential(merchant)).token);
  const products = [await given.product(merchant), await given.product(merchant)];
  const lines = products.map((product_id) => ({ product_id, quantity: '9' }));
  await api.post('/inventory/transfers', { to_location_id: location_id, reason: 'receipt', lines });
  const some = products.map((product_id) => ({ product_id, quantity: '2' }));
  const reserve = async (): Promise<string> =>
    (await api.post('/inventory/reservations', { location_id, lines: some })).body.data.id;
  const [active, fulfilled, released] = [await reserve(), await reserve(), await reserve()];
  await api.post(`/inventory/reservations/${fulfilled}/fulfil`, { reason: 'sale' });
  await api.post(`/inventory/reservations/${released}/release`, {});
  return { merchant, active, fulfilled };
}

const ofOne = 'merchant_id = $1 and reservation_id = $2 and line = 1';

test.each([
  [
    'more reserved than the active lines hold',
    'reserved_not_sum',
    `update inventory_reserved set quantity = quantity + 1 where merchant_id = $1
       and product_id = (select product_id from inventory_reservation_lines where ${ofOne})`,
  ],
  [
    'nothing reserved of an active line',
    'reserved_not_sum',
    `delete from inventory_reserved where merchant_id = $1
       and product_id = (select product_id from inventory_reservation_lines where ${ofOne})`,
  ],
  [
    'a line that is not active as its reservation is',
    'reservation_line_differs',
    `update inventory_reservation_lines set is_active = not is_active where ${ofOne}`,
  ],
  [
    'a line that ends at another time',
    'reservation_line_differs',
    `update inventory_reservation_lines set expires_at = now() where ${ofOne}`,
  ],
  [
    'a reservation without lines',
    'reservation_without_lines',
    'delete from inventory_reservation_lines where merchant_id = $1 and reservation_id = $2',
  ],
  [
    'a reservation that no write made',
    'reservation_without_operation',
    "update inventory_reservations set operation_id = 'op_x' where merchant_id = $1 and id = $2",
  ],
  [
    'a write whose reservation is missing',
    'resource_missing',
    'delete from inventory_reservations where merchant_id = $1 and id = $2',
  ],
])('%s: it is named', async (_, kind, sql) => {
  const { merchant, active } = await givenReservations();
  const mirror = await mirrorOf(service.db, merchant);
  expect(await verify(merchant)).toEqual([]);
  const whole = await verify(mirror.merchant);
  await damage(sql, [merchant, active]);
  for (const size of [2, 10_000]) {
    expect((await verify(merchant, size)).map((one) => one.kind)).toContain(kind);
  }
  expect(await verify(mirror.merchant)).toEqual(whole);
});

test.each([
  [
    'a movement of another quantity than the line',
    'reservation_movement_differs',
    `update inventory_reservation_lines set quantity = quantity + 1 where ${ofOne}`,
  ],
  [
    'a movement that is not named',
    'reservation_movements_differ',
    `update inventory_reservations set movement_ids = movement_ids[1:1]
       where merchant_id = $1 and id = $2`,
  ],
  [
    'a movement that only another merchant has',
    'reservation_movement_differs',
    `delete from inventory_movements where merchant_id = $1 and id = any (
       select unnest(movement_ids) from inventory_reservations where merchant_id = $1 and id = $2)`,
  ],
  [
    'a write that only another merchant has',
    'reservation_without_operation',
    `delete from operations where merchant_id = $1 and resource_id = $2
       and type = 'inventory.reserve'`,
  ],
  [
    'an end that only another merchant has',
    'reservation_without_operation',
    `delete from operations where merchant_id = $1 and resource_id = $2
       and type = 'inventory.fulfil'`,
  ],
])('of one that is fulfilled, %s: it is named', async (_, kind, sql) => {
  const { merchant, fulfilled } = await givenReservations();
  await mirrorOf(service.db, merchant);
  expect(await verify(merchant)).toEqual([]);
  await damage(sql, [merchant, fulfilled]);
  for (const size of [2, 10_000]) {
    expect((await verify(merchant, size)).map((one) => one.kind)).toContain(kind);
  }
});
