// What `verify` costs in a long ledger of one merchant: as much for a part of it as in a short one.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import { walkOperations } from './verify-store.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

test('the planner expects an operation to have few movements, in a long ledger, too', async () => {
  const given = new Given(db);
  const merchant = await given.merchant();
  const owner = await given.credential(merchant);
  const location = await given.location(merchant);
  await addLedger(db, owner, location, { levels: 20, movements: 500 });
  const operations = 100;
  const { text, values } = walkOperations(merchant, '', operations);
  const session = await db.session();
  const { rows } = await session.query<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(
    `explain (format json) ${text}`,
    [...values],
  );
  await session.end();
  // Where it expects a part of all, it walks the whole table for each operation of 5 million.
  expect(rows[0]?.['QUERY PLAN'][0].Plan['Total Cost']).toBeLessThan(50 * operations);
});
