// The statements of products beside those of every record. Lock order: products by ID, fully where
// adjustments must wait, then levels as adjustments do.

import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import type { SetStatement, Statement } from '../core/statement.ts';

/** What a write asks of a product that adjustments are judged on; undefined: nothing. */
export interface Conditions {
  readonly id: string;
  readonly external_id: string | undefined;
  readonly status: string | undefined;
  readonly inventory_tracked: boolean | undefined;
  readonly unit_code: string | undefined;
  readonly unit_precision: number | undefined;
  /** Whether it says at what quantity the product is low: null is a value. */
  readonly sets_low_stock: boolean;
  readonly low_stock_at: string | null | undefined;
}

/**
 * The products that are asked to differ from what they are: a nightly list that changes nothing
 * waits for no adjustment. They are locked already, so they stay what they are here.
 */
const toChange = (by: 'id' | 'external_id') => `
  json_to_recordset($1) as a (merchant_id text, ${by} text, status text,
    inventory_tracked boolean, unit_code text, unit_precision integer, sets_low_stock boolean,
    low_stock_at numeric)
  join products p on p.merchant_id = a.merchant_id and p.${by} = a.${by}
    and (p.status <> a.status or p.inventory_tracked <> a.inventory_tracked
      or p.unit_code <> a.unit_code or p.unit_precision <> a.unit_precision
      or (a.sets_low_stock and p.low_stock_at is distinct from a.low_stock_at))`;

/** Also keeps new levels from being made, which share a lock on the product's key. */
export function lockProductsFully(
  asked: readonly Conditions[],
  by: 'id' | 'external_id',
): SetStatement {
  return {
    name: `lock_products_fully_by_${by}`,
    text: `
      select p.merchant_id from ${toChange(by)}
      order by p.merchant_id, p.id
      for update of p`,
    records: asked,
  };
}

/**
 * Locks the levels of products and says which products have moved. An adjustment that comes after
 * waits here and then reads the product anew; one that came before has committed.
 */
export function lockLevels(
  asked: readonly Conditions[],
  by: 'id' | 'external_id',
): SetStatement<{ product_id: string }> {
  return {
    name: `lock_levels_of_products_by_${by}`,
    text: `
      with locked as (
        select v.merchant_id, v.product_id, v.sequence from inventory_levels v
        where (v.merchant_id, v.product_id) in (select p.merchant_id, p.id from ${toChange(by)})
        order by v.merchant_id, v.product_id, v.location_id
        for no key update of v)
      select distinct merchant_id, product_id from locked where sequence > 0`,
    records: asked,
  };
}

export function productExists(merchant: MerchantId, id: string): Statement<{ id: string }> {
  return {
    name: 'product_exists',
    text: 'select id from products where merchant_id = $1 and id = $2',
    values: [merchant, lookupId(id)],
  };
}
