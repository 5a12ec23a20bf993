// Tests the checks of stock: what the service has done passes, and each damage to it is found.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../kit/environment.ts';
import { checkStock } from './stock.ts';

let service: Environment;

beforeAll(async () => {
  service = await startEnvironment();
  const { given } = service;
  const merchant = await given.merchant();
  const location_id = await given.location(merchant);
  const product_id = await given.product(merchant);
  const api = service.api.as((await given.credential(merchant)).token);
  const lines = (quantity: string) => [{ product_id, quantity }];
  const write = async (path: string, body: object) => {
    const { status, body: answer } = await api.post(path, body);
    expect(status, JSON.stringify(answer)).toBeLessThan(300);
    return answer;
  };
  const move = (members: object, quantity: string) =>
    write('/inventory/transfers', { ...members, lines: lines(quantity) });
  const reserve = (quantity: string) =>
    write('/inventory/reservations', { location_id, lines: lines(quantity) });
  const { meta } = await move({ to_location_id: location_id, reason: 'receipt' }, '10');
  const held = await reserve('4');
  await reserve('3');
  await move({ from_location_id: location_id, reason: 'sale' }, '2');
  await write(`/inventory/reservations/${held.data.id}/fulfil`, { reason: 'sale' });
  await write('/inventory/counts', {
    ...{ location_id, counted_at_position: meta.position, journal: meta.journal },
    lines: [{ product_id, counted_quantity: '11' }],
  });
});
afterAll(() => service.stop());

const reservedIsOff = 'reserved quantities that are not the sum of active lines';
const tooMuch = 'more put aside or taken than was available';
const countIsOff = 'counts that are not what was counted and has moved since';

async function found(): Promise<string[]> {
  const database = {
    serviceUrl: service.db.serviceUrl,
    query: <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
      service.db.sql<Row>(text, values),
  };
  const findings = await checkStock(database);
  return findings.filter(({ faults }) => faults.length > 0).map(({ what }) => what);
}

test.each([
  ['nothing', 'select', 'select', []],
  [
    'a sum that is too large',
    'update inventory_reserved set quantity = quantity + 1',
    'update inventory_reserved set quantity = quantity - 1',
    [reservedIsOff],
  ],
  [
    'a line that is active behind its end',
    'update inventory_reservation_lines set is_active = true where quantity = 4',
    'update inventory_reservation_lines set is_active = false where quantity = 4',
    [reservedIsOff],
  ],
  [
    'a reservation of more than was there',
    'update inventory_reservation_lines set quantity = 7 where quantity = 4',
    'update inventory_reservation_lines set quantity = 4 where quantity = 7',
    [tooMuch],
  ],
  [
    'a sale of what was put aside',
    `update inventory_movements set quantity_after = 6, quantity_delta = -4
      where type = 'transfer_out'`,
    `update inventory_movements set quantity_after = 8, quantity_delta = -2
      where type = 'transfer_out'`,
    [tooMuch],
  ],
  [
    'a count that overwrote a sale',
    `update inventory_counts set lines = replace(lines::text, '"quantity_after":"5"',
      '"quantity_after":"11"')::json`,
    `update inventory_counts set lines = replace(lines::text, '"quantity_after":"11"',
      '"quantity_after":"5"')::json`,
    [countIsOff],
  ],
])('%s is found, and nothing else', async (_, damage, repair, findings) => {
  const run = (sql: string) =>
    service.db.sql(`begin; set local session_replication_role = 'replica'; ${sql}; commit`);
  await run(damage);
  const what = await found();
  await run(repair);
  expect(what).toEqual(findings);
});
