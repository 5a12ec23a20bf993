// What a page of movements costs in a long ledger: its own length, whoever asks for which.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksOf } from '../../test/kit/blocks.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { addLedger } from '../../test/kit/ledger.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { listMovements, type MovementFilter } from './read-store.ts';

const [levels, movements] = [100, 200];
const limit = 51;
const product = `prod_${'1'.padStart(26, '0')}`;

let db: TestDatabase;
let merchant: MerchantId;
/** All that moved is at the first. */
let locations: GrantedLocationId[];

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  merchant = (await given.merchant()) as MerchantId;
  const owner = await given.credential(merchant);
  const location = await given.location(merchant);
  await addLedger(db, owner, location, { levels, movements });
  const all = [location, await given.location(merchant), await given.location(merchant)];
  locations = all as GrantedLocationId[];
});
afterAll(() => db.drop());

describe.each([
  { of: 'all', locations: null, products: undefined },
  { of: 'a product', locations: null, products: [product] },
  { of: 'a location', locations: 1, products: undefined },
  { of: 'three locations', locations: 3, products: undefined },
  { of: 'a product at a location', locations: 1, products: [product] },
])('a page of the movements of $of', ({ locations: count, products }) => {
  const pages = (['asc', 'desc'] as const).flatMap((order) =>
    [undefined, `${(levels * movements) / 2}.1`].map((after) => ({ order, after })),
  );

  test.each(pages)('costs its length: $order, after $after', async ({ order, after }) => {
    const filter: MovementFilter = {
      ...{ merchant, products, order, after, limit },
      locations: count === null ? null : locations.slice(0, count),
      ...{ reason: undefined, operation: undefined, behind: 0, until: undefined },
    };
    // A block for each row, and those of three indexes. The table has more than 500.
    expect(await blocksOf(db, listMovements(filter))).toBeLessThan(limit + 30);
  });
});
