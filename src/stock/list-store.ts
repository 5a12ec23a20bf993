// The statement that lists products with what is on hand at a location.

import { type ByColumn, byColumn } from '../contract/columns.ts';
import { searchQuery } from '../contract/format.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

/** What lists are sorted by, then by ID: each is a column of an index. No SKU comes last. */
const sortKeys = {
  name: 'r.name_key',
  sku: `coalesce('0' || r.sku, '1')`,
} as const;

export type StockOrder = keyof typeof sortKeys;

export interface StockRow {
  readonly product_id: string;
  readonly key: string;
  readonly name: string;
  readonly sku: string | null;
  readonly barcode: string | null;
  readonly unit_code: string;
  readonly unit_precision: number;
  readonly quantity: string;
  /** Null: it never moved there. */
  readonly updated_at: string | null;
}

const names = [
  ...['product_id', 'key', 'name', 'sku', 'barcode', 'unit_code', 'unit_precision', 'quantity'],
  'updated_at',
];

/** Where a page goes on: behind this product. */
export interface StockKey {
  readonly product: string;
  readonly key: string;
}

export interface StockWalk {
  readonly merchant: MerchantId;
  readonly location: GrantedLocationId;
  readonly status: string;
  readonly sort: StockOrder;
  readonly q: string | undefined;
  readonly after: StockKey | undefined;
  readonly limit: number;
}

/**
 * Products are walked in their order, and the level of each is sought by its key: further columns
 * that a page shows of a product at a location are joined here, behind the limit. With words the
 * page is planned anew, because only they show whether to walk or to sort what they find.
 */
export function listStock(walk: StockWalk): Statement<ByColumn<StockRow>> {
  const { sort, q, limit, after } = walk;
  const found = q === undefined ? walked(sort, limit) : foundBy(sort, limit);
  return {
    name: q === undefined ? `list_stock_by_${sort}_${limit}` : '',
    text: `
      select ${byColumn(names)} from (
        select r.id as product_id, r.key, r.name, r.sku, r.barcode, r.unit_code, r.unit_precision,
          coalesce(v.quantity, 0)::text as quantity, v.updated_at
        from (${found}) r
        left join lateral (
          select v.quantity, v.updated_at from inventory_levels v
          where v.merchant_id = $1 and v.product_id = r.id and v.location_id = $3
          limit 1) v on true
        order by r.key, r.id) page`,
    values: [
      ...[walk.merchant, walk.status, walk.location, after?.key ?? '', after?.product ?? ''],
      ...(q === undefined ? [] : [searchQuery(q)]),
    ],
  };
}

const columns = (sort: StockOrder) => `r.merchant_id, r.status, r.id, ${sortKeys[sort]} as key,
  r.name, r.sku, r.barcode, r.unit_code, r.unit_precision`;

/**
 * From a row of the index on, whatever follows: told that merchant and status are equal, the
 * planner sorts where it expects few products. What is of others is left out behind the limit.
 */
const walked = (sort: StockOrder, limit: number) => `
  select * from (select ${columns(sort)} from products r
  where r.inventory_tracked
    and (r.merchant_id, r.status, ${sortKeys[sort]}, r.id) > ($1, $2, $4, $5)
  order by r.merchant_id, r.status, ${sortKeys[sort]}, r.id limit ${limit}) r
  where r.merchant_id = $1 and r.status = $2`;

const foundBy = (sort: StockOrder, limit: number) => `
  select ${columns(sort)} from products r
  where r.merchant_id = $1 and r.status = $2 and r.inventory_tracked
    and r.search @@ $6::tsquery and (${sortKeys[sort]}, r.id) > ($4, $5)
  order by ${sortKeys[sort]}, r.id limit ${limit}`;
