// Whether levels are what their movements say, checked twice: by the product's own verification,
// and by one statement that shares nothing with it.

import { connectDatabase } from '../../../src/database/connect.ts';
import { verifyLedger } from '../../../src/inventory/verify.ts';
import type { Finding } from './verdict.ts';

/** The database that is checked: as the service, and as its owner, in each cell by itself. */
export interface CheckedDatabase {
  readonly serviceUrl: string;
  query<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** Levels that are not what their movements say, either of which may be missing. One moment. */
export const offLedger = `
  with chain as (
    select merchant_id, product_id, location_id, id, sequence,
      quantity_before, quantity_delta, quantity_after,
      lag(quantity_after, 1, 0::numeric) over level as ended, row_number() over level as place
    from inventory_movements
    window level as (partition by merchant_id, product_id, location_id order by sequence, id)
  ), summed as (
    select merchant_id, product_id, location_id,
      count(*) as movements, sum(quantity_delta) as total, max(sequence) as last,
      (array_agg(id order by sequence desc))[1] as last_id,
      count(*) filter (where sequence <> place) as out_of_sequence,
      count(*) filter (where quantity_before <> ended) as out_of_chain,
      count(*) filter (where quantity_delta = 0
        or quantity_after <> quantity_before + quantity_delta) as wrong
    from chain group by merchant_id, product_id, location_id
  )
  select merchant_id, product_id, location_id, v.quantity, v.sequence, v.last_movement_id,
    s.movements, s.total, s.last, s.last_id, s.out_of_sequence, s.out_of_chain, s.wrong
  from inventory_levels v full join summed s using (merchant_id, product_id, location_id)
  where v.quantity is distinct from coalesce(s.total, 0)
    or v.sequence is distinct from coalesce(s.movements, 0)
    or v.sequence is distinct from coalesce(s.last, 0)
    or v.last_movement_id is distinct from s.last_id
    or s.out_of_sequence > 0 or s.out_of_chain > 0 or s.wrong > 0`;

export async function checkLedger(database: CheckedDatabase): Promise<Finding[]> {
  const levels = await database.query(offLedger);
  return [
    {
      what: 'levels that differ from their ledger',
      faults: levels.map((row) => JSON.stringify(row)),
    },
    {
      what: 'differences that the verification finds',
      faults: await differences(database.serviceUrl),
    },
  ];
}

async function differences(url: string): Promise<string[]> {
  const database = connectDatabase({ url, writers: 1 });
  try {
    const verification = await verifyLedger(database);
    return verification.differences.map((difference) => JSON.stringify(difference));
  } finally {
    await database.close();
  }
}
