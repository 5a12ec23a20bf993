// The statements of products beside those of every record. Lock order: products by ID, fully where
// adjustments must wait, then levels as adjustments do.

import type { Write } from '../contract/endpoint.ts';
import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import { pathIds } from '../records/revision.ts';

const asked = `(
  select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text))`;

/** Also keeps new levels from being made, which share a lock on the product's key. */
export function lockProductsFully(writes: readonly Write[]): SetStatement {
  return {
    name: 'lock_products_fully',
    text: `
      select p.merchant_id from products p where (p.merchant_id, p.id) in ${asked}
      order by p.merchant_id, p.id
      for update of p`,
    records: pathIds(writes),
  };
}

/**
 * Locks the levels of products and says which products have moved. An adjustment that comes after
 * waits here and then reads the product anew; one that came before has committed.
 */
export function lockLevels(writes: readonly Write[]): SetStatement<{ product_id: string }> {
  return {
    name: 'lock_levels_of_products',
    text: `
      with locked as (
        select v.merchant_id, v.product_id, v.sequence from inventory_levels v
        where (v.merchant_id, v.product_id) in ${asked}
        order by v.merchant_id, v.product_id, v.location_id
        for no key update of v)
      select distinct merchant_id, product_id from locked where sequence > 0`,
    records: pathIds(writes),
  };
}

export function productExists(merchant: MerchantId, id: string): Statement<{ id: string }> {
  return {
    name: 'product_exists',
    text: 'select id from products where merchant_id = $1 and id = $2',
    values: [merchant, lookupId(id)],
  };
}
