// Days with more movements than one page sums up.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import { pagesOf } from '../../test/kit/pages.ts';
import { limits } from '../core/limits.ts';

interface Day {
  readonly movements: number;
  readonly reasons: readonly object[];
}

let service: Environment;
beforeAll(async () => {
  service = await startEnvironment();
});
afterAll(() => service.stop());

test('days are summed up 50,000 movements a page, also within a day or operation', async () => {
  const { given } = service;
  const merchant = await given.merchant();
  const location = await given.location(merchant);
  const owner = await given.credential(merchant);
  const size = { levels: 1_201, movements: 100 };
  await addLedger(service.db, owner, location, size);
  const all = size.levels * size.movements;
  const session = await service.db.session();
  await session.query("begin; set local session_replication_role = 'replica'");
  // Of three lines each, and on two days.
  await session.query(
    `update inventory_movements set position = (position + 2) / 3, line = (position - 1) % 3 + 1
     where merchant_id = $1`,
    [merchant],
  );
  for (const [table, time] of [
    ['operations', 'created_at'],
    ['inventory_movements', 'recorded_at'],
  ]) {
    await session.query(
      `update ${table} set ${time} = case when position <= 1000 then '2026-01-30T12:00Z'
         else '2026-01-31T12:00Z' end::timestamptz where merchant_id = $1`,
      [merchant],
    );
  }
  await session.query('delete from operations where merchant_id = $1 and position > $2', [
    merchant,
    Math.ceil(all / 3),
  ]);
  await session.query('commit; analyze');
  await session.end();
  expect(all / limits.movementsSummedMax).toBeGreaterThan(2);
  const path = `/inventory/daily?location_id=${location}&from=2026-01-29&to=2026-02-01`;
  const pages = await pagesOf<Day>(service.api.as(owner.token), path);
  expect(pages.map((page) => page.map(({ movements }) => movements))).toEqual([
    [0, 3_000],
    [],
    [all - 3_000, 0],
  ]);
  const sums = [{ reason: 'stock_count', movements: all - 3_000, quantity_out: '0' }];
  expect(pages[2]?.[0]?.reasons).toMatchObject(sums);
  expect(pages[2]?.[0]?.reasons).toMatchObject([{ quantity_in: `${all - 3_000}` }]);
}, 120_000);
