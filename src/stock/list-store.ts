// The statements that list products with what is on hand at a location: by name or SKU, now or as
// of a moment. Products are walked in their order; what is there of each is sought by its key.

import { type ByColumn, byColumn } from '../contract/columns.ts';
import { searchQuery } from '../contract/format.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';
import type { SeenJournal } from '../inventory/as-of.ts';
import { momentAt, movementAtMoment } from '../inventory/as-of-store.ts';
import { countsBy, type LookedTo, now, type PageCounts } from '../inventory/read-store.ts';
import { reservedNow } from '../inventory/store.ts';

/** What lists are sorted by, then by ID: each is a column of an index. No SKU comes last. */
const sortKeys = {
  name: 'r.name_key',
  sku: `coalesce('0' || r.sku, '1')`,
} as const;

export interface StockRow {
  readonly product_id: string;
  /** What it is sorted by. */
  readonly key: string;
  readonly name: string;
  readonly sku: string | null;
  readonly barcode: string | null;
  readonly unit_code: string;
  readonly unit_precision: number;
  readonly low_stock_at: string | null;
  readonly quantity: string;
  /** Null: it never moved there. */
  readonly updated_at: string | null;
}

/** What is put aside of it: null when nothing is. */
export interface ReservedRow extends StockRow {
  readonly reserved: string | null;
}

const productNames = [
  ...['product_id', 'key', 'name', 'sku', 'barcode', 'unit_code', 'unit_precision'],
  'low_stock_at',
];
export const stockNames = [...productNames, 'quantity', 'updated_at'];

/** Where a page goes on: behind this product. */
export interface StockKey {
  readonly product: string;
  readonly key: string;
}

export interface StockWalk {
  readonly merchant: MerchantId;
  readonly location: GrantedLocationId;
  readonly status: string;
  readonly sort: keyof typeof sortKeys;
  readonly q: string | undefined;
  /** Only what has run out. */
  readonly isLow: boolean;
  readonly after: StockKey | undefined;
  readonly limit: number;
}

/** The level of each product that was found, if it has moved there. */
export const levelOf = (condition: string) => `
  select v.merchant_id, v.product_id, v.location_id, v.quantity, v.updated_at
  from inventory_levels v
  where v.merchant_id = $1 and v.product_id = r.id and v.location_id = $3 and ${condition}
  limit 1`;

/** With a filter a page is planned anew: only its values show how many products it finds. */
const nameOf = (walk: StockWalk, list: string) =>
  isFiltered(walk) ? '' : `${list}_by_${walk.sort}_${walk.limit}`;

const isFiltered = ({ q, isLow }: Pick<StockWalk, 'q' | 'isLow'>) => q !== undefined || isLow;

const valuesOf = (walk: StockWalk) => [
  ...[walk.merchant, walk.status, walk.location],
  ...[walk.after?.key ?? '', walk.after?.product ?? ''],
];

const wordsOf = ({ q }: StockWalk) => (q === undefined ? [] : [searchQuery(q)]);

export function listStock(
  walk: StockWalk,
): Statement<ByColumn<ReservedRow> & PageCounts & LookedTo> {
  return {
    name: nameOf(walk, 'list_stock'),
    text: `
      with ${now}, ${found(walk, '$6')}
      select ${byColumn([...stockNames, 'reserved'])},
        ${countsBy('product_id', 'c.location_id = $3')},
        (select looked_to from looked) as looked_to
      from (
        select ${shownOf('r')}, coalesce(v.quantity, 0)::text as quantity, v.updated_at,
          ${reservedOf('r')} as reserved
        from found r
        left join lateral (${levelOf('v.sequence > 0')}) v on true
        order by r.key, r.id) v`,
    values: [...valuesOf(walk), ...wordsOf(walk)],
  };
}

/** Products are those of now, and what is on hand is what the movements up to a position leave. */
export function listStockAsOf(
  walk: StockWalk & { readonly position: string | undefined },
): Statement<ByColumn<StockRow> & SeenJournal> {
  return {
    name: nameOf(walk, 'list_stock_as_of'),
    text: `
      with ${momentAt('$6')}, ${found(walk, '$7')}
      select ${stockNames.map((name) => `shown.${name}`).join(', ')},
        journal.id as journal, journal.last, (select looked_to from looked) as looked_to
      from journal, (
        select ${byColumn(stockNames)} from (
          select ${shownOf('r')}, coalesce(m.quantity_after, v.quantity, 0)::text as quantity,
            coalesce(m.recorded_at, v.updated_at) as updated_at
          from found r
          left join lateral (
            ${levelOf('v.first_position <= (select position from moment)')}) v on true
          left join lateral ${movementAtMoment} m on true
          order by r.key, r.id) page) shown`,
    values: [...valuesOf(walk), walk.position ?? null, ...wordsOf(walk)],
  };
}

const shownOf = (row: string) =>
  productNames.map((name) => {
    if (name === 'low_stock_at') return `${row}.${name}::text as ${name}`;
    return name === 'product_id' ? `${row}.id as ${name}` : `${row}.${name}`;
  });

/** A merchant who never reserves anything is spared the look for each. */
export const reservedOf = (row: string) => `
  case when exists (select from inventory_reserved o where o.merchant_id = $1) then (
    select ${reservedNow}
    from (values (${row}.merchant_id, ${row}.id, $3::text))
      a (merchant_id, product_id, location_id)) end`;

/**
 * What is said of products alone, and then of what is there of each: it has run out. `words`: their
 * parameter; `quantity`: an expression for what is on hand, null when it never moved.
 */
export const filtersOf = (
  { q, isLow }: Pick<StockWalk, 'q' | 'isLow'>,
  words: string,
  quantity: string,
) => ({
  ofProduct: [
    ...(q === undefined ? [] : [`r.search @@ ${words}::tsquery`]),
    ...(isLow ? [`r.low_stock_at is not null and r.status = 'active'`] : []),
  ].reduce((all, one) => `${all} and ${one}`, 'r.inventory_tracked'),
  ofLevel: isLow
    ? `coalesce(${quantity}, 0) - coalesce((${reservedOf('r')})::numeric, 0) <= r.low_stock_at`
    : 'true',
});

/** The products of a page, as parts of a statement: `found`, and `looked`. */
const found = (walk: StockWalk, words: string) =>
  isFiltered(walk)
    ? foundBy(walk, words)
    : `found as (${walked(walk, 'true', walk.limit)}), looked as (select null::text as looked_to)`;

const columns = (key: string) => `r.merchant_id, r.status, r.id, ${key} as key, r.name, r.sku,
  r.barcode, r.unit_code, r.unit_precision, r.low_stock_at, r.inventory_tracked, r.search`;

const behind = (key: string) => `products r
  where r.inventory_tracked and (r.merchant_id, r.status, ${key}, r.id) > ($1, $2, $4, $5)
  order by r.merchant_id, r.status, ${key}, r.id`;

/**
 * From a row of the index on, whatever follows: told that merchant and status are equal, the
 * planner sorts where it expects few products. What is of others is left out behind the limit.
 */
const walked = ({ sort }: StockWalk, condition: string, looks: number) => `
  select * from (
    select ${columns(sortKeys[sort])} from ${behind(sortKeys[sort])} limit ${looks}) r
  where r.merchant_id = $1 and r.status = $2 and ${condition}`;

/**
 * With a filter, first among the next products in order: words that many have fill the page there,
 * and so does a merchant who has few. Otherwise all products that the filter may find are sought,
 * and sorted if they are no more than may be. When they are more, the page is short, and goes on
 * behind those looked at. The planner cannot choose: it believes that words are as frequent as any,
 * and walked 300,000 products in 300 ms for a page that had eleven.
 */
function foundBy(walk: StockWalk, words: string): string {
  const key = sortKeys[walk.sort];
  const { limit } = walk;
  const onHand = `(select quantity from (${levelOf('true')}) v)`;
  const { ofProduct, ofLevel } = filtersOf(walk, words, onHand);
  const [looks, max] = [limits.levelsLookedAtMax, limits.stockSortedMax];
  return `
    near as materialized (
      ${walked(walk, `${ofProduct} and ${ofLevel}`, looks)}
      order by r.merchant_id, r.status, r.key, r.id limit ${limit}),
    far as materialized (
      select r.id || '.' || r.key as looked_to from (
        select r.merchant_id, r.status, r.id, ${key} as key
        from ${behind(key)} offset ${looks - 1} limit 1) r
      where r.merchant_id = $1 and r.status = $2 and (select count(*) from near) < ${limit}),
    sought as materialized (
      select ${columns(key)} from products r
      where exists (select from far) and r.merchant_id = $1 and r.status = $2
        and ${ofProduct} and (${key}, r.id) > ($4, $5)
      limit ${max + 1}),
    looked as materialized (
      select (select looked_to from far) as looked_to
      where (select count(*) from sought) > ${max}),
    found as (
      select * from near where not exists (select from far) or exists (select from looked)
      union all
      (select * from sought r
      where exists (select from far) and not exists (select from looked) and ${ofLevel}
      order by key, id limit ${limit}))`;
}
