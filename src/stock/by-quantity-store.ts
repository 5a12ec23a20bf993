// The statement that lists products by what is on hand at a location. No index has that order: to
// keep one up costs every write more than it may (docs/decisions/0022). So the levels of one
// location are read and sorted for each page, and there may be so many of them and no more.

import { type ByColumn, byColumn } from '../contract/columns.ts';
import { searchQuery } from '../contract/format.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';
import { countsBy, type LookedTo, now, type PageCounts } from '../inventory/read-store.ts';
import {
  filtersOf,
  levelOf,
  type ReservedRow,
  reservedOf,
  type StockKey,
  stockNames,
} from './list-store.ts';

export interface QuantityWalk {
  readonly merchant: MerchantId;
  readonly location: GrantedLocationId;
  readonly status: string;
  readonly q: string | undefined;
  readonly isLow: boolean;
  /** The quantity and the product that the page begins behind. */
  readonly after: StockKey | undefined;
  readonly limit: number;
}

/** A page, and what else it came to. */
export interface QuantityPage extends ByColumn<ReservedRow>, PageCounts, LookedTo {
  /** There is more to sort than may be; no row is shown. */
  readonly is_too_large: boolean;
}

const max = limits.stockSortedMax;

export function listByQuantity(walk: QuantityWalk): Statement<QuantityPage> {
  const { q, limit, after } = walk;
  const isFiltered = q !== undefined || walk.isLow;
  return {
    // Planned anew with a filter: only its values show how many products it finds.
    name: isFiltered ? '' : `list_stock_by_quantity_${limit}`,
    text: `
      with ${now}, ${isFiltered ? rowsOfFilter(walk) : rowsOfLocation(limit)},
        page as materialized (
          select * from shown where not (select is_too_large from size)
          order by quantity, id limit ${limit})
      select ${byColumn([...stockNames, 'reserved'])},
        ${countsBy('product_id', 'c.location_id = $3')},
        (select is_too_large from size) as is_too_large,
        (select looked_to from looked) as looked_to
      from (
        select r.id as product_id, r.quantity::text as key, r.name, r.sku, r.barcode, r.unit_code,
          r.unit_precision, r.low_stock_at::text as low_stock_at,
          r.quantity::text as quantity, r.updated_at,
          ${reservedOf('r')} as reserved
        from page r
        order by r.quantity, r.id) v`,
    values: [
      ...[walk.merchant, walk.status, walk.location, after?.key ?? '0', after?.product ?? ''],
      ...(q === undefined ? [] : [searchQuery(q)]),
    ],
  };
}

const columns = `r.merchant_id, r.status, r.id, r.name, r.sku, r.barcode, r.unit_code,
  r.unit_precision, r.low_stock_at`;

/**
 * First what is not there: products in the order of their IDs, those that never moved among them.
 * They are sought as rows behind a row, whatever the planner believes of a merchant. Behind them
 * the levels with a quantity, each with its product.
 */
const rowsOfLocation = (limit: number) => `
    here as materialized (
      select v.product_id, v.quantity, v.updated_at from inventory_levels v
      where v.merchant_id = $1 and v.location_id = $3
      order by v.product_id limit ${max + 1}),
    size as materialized (select count(*) > ${max} as is_too_large from here),
    absent as materialized (
      select ${columns}, 0::numeric as quantity, v.updated_at from (
        select * from (${productsBehind} limit ${max}) r
        where r.merchant_id = $1 and r.status = $2) r
      left join lateral (${levelOf('true')}) v on true
      where $4::numeric = 0 and not (select is_too_large from size)
        and coalesce(v.quantity, 0) = 0 and r.inventory_tracked
      order by r.merchant_id, r.status, r.id limit ${limit}),
    looked as materialized (
      select case when $4::numeric = 0 and not (select is_too_large from size)
          and (select count(*) from absent) < ${limit}
        then (
          select id || '.0' from (${productsBehind} offset ${max - 1} limit 1) r
          where r.merchant_id = $1 and r.status = $2) end as looked_to),
    present as materialized (
      select ${columns}, h.quantity, h.updated_at from (
        select * from here where quantity > 0 and (quantity, product_id) > ($4::numeric, $5)
        order by quantity, product_id) h
      cross join lateral (
        select * from products r
        where r.merchant_id = $1 and r.id = h.product_id and r.status = $2
          and r.inventory_tracked
        limit 1) r
      where not (select is_too_large from size) and (select looked_to from looked) is null
        and (select count(*) from absent) < ${limit}
      limit ${limit}),
    shown as (select * from absent union all select * from present)`;

const productsBehind = `
  select * from products r where (r.merchant_id, r.status, r.id) > ($1, $2, $5)
  order by r.merchant_id, r.status, r.id`;

/** What a filter finds is sorted as a whole, those that never moved among the zeros. */
function rowsOfFilter(walk: QuantityWalk): string {
  const { ofProduct, ofLevel } = filtersOf(walk, '$6', 'v.quantity');
  return `
    found as materialized (
      select ${columns} from products r
      where r.merchant_id = $1 and r.status = $2 and ${ofProduct}
      limit ${max + 1}),
    size as materialized (select count(*) > ${max} as is_too_large from found),
    looked as (select null::text as looked_to),
    shown as (
      select * from (
        select r.*, coalesce(v.quantity, 0) as quantity, v.updated_at from found r
        left join lateral (${levelOf('true')}) v on true
        where ${ofLevel}) r
      where (r.quantity, r.id) > ($4::numeric, $5))`;
}
