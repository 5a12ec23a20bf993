// The statements of products. Writes work on records of several merchants at once. Lock order:
// products by ID, fully where adjustments must not cross, then levels as adjustments do.

import type { Command } from '../core/endpoint.ts';
import { searchQuery, searchText } from '../core/format.ts';
import { idFloor, lookupId } from '../core/id.ts';
import { type ByColumn, bytesOf, type LargePage, largePages, rowsOf } from '../core/page.ts';
import type { MerchantId } from '../core/principal.ts';
import { type Holder, pathIds, wantedValues } from '../core/revision.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import type { ProductPatch, ProductRow } from './edit.ts';

const columns = `p.id, p.name, p.description, p.sku, p.barcode, p.status, p.inventory_tracked,
  json_build_object('code', p.unit_code, 'precision', p.unit_precision) as unit,
  case when p.price_amount is not null then json_build_object(
    'amount', p.price_amount::text, 'currency', p.price_currency) end as price,
  p.external_id, p.metadata, p.version, p.created_at, p.updated_at`;

/** What a page is made of: nothing that the database would have to build for each row. */
const listed = [
  ...['id', 'name', 'sku', 'barcode', 'status', 'inventory_tracked', 'unit_code'],
  ...['unit_precision', 'price_amount', 'price_currency', 'external_id', 'version'],
  ...['created_at', 'updated_at'],
];

const large = ['description', 'metadata'];

const listedColumns = `p.id, p.name, p.description, p.sku, p.barcode, p.status,
  p.inventory_tracked, p.unit_code, p.unit_precision, p.price_amount::text as price_amount,
  p.price_currency, p.external_id, p.metadata, p.version, p.created_at, p.updated_at,
  ${bytesOf('p.metadata', 'p.description')} as bytes`;

/** Who holds the SKUs and external IDs that the commands want. */
export function findHolders(commands: readonly Command<ProductPatch>[]): SetStatement<Holder> {
  return {
    name: 'find_product_holders',
    text: `
      with asked as (
        select * from json_to_recordset($1) as a (merchant_id text, sku text, external_id text))
      select p.merchant_id, 'sku' as field, p.sku as value, p.id
      from asked a join products p on p.merchant_id = a.merchant_id and p.sku = a.sku
      union all
      select p.merchant_id, 'external_id', p.external_id, p.id
      from asked a
      join products p on p.merchant_id = a.merchant_id and p.external_id = a.external_id`,
    records: wantedValues(commands, ['sku', 'external_id']),
  };
}

const asked = `(
  select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text))`;

/** Locks the products, in the order of IDs, and reads them as they are once locked. */
export function lockProducts(commands: readonly Command[]): SetStatement<ProductRow> {
  return {
    name: 'lock_products',
    text: `
      select p.merchant_id, ${columns} from products p
      where (p.merchant_id, p.id) in ${asked}
      order by p.merchant_id, p.id
      for no key update of p`,
    records: pathIds(commands),
  };
}

/** Also keeps new levels from being made, which share a lock on the product's key. */
export function lockProductsFully(commands: readonly Command[]): SetStatement {
  return {
    name: 'lock_products_fully',
    text: `
      select p.merchant_id from products p where (p.merchant_id, p.id) in ${asked}
      order by p.merchant_id, p.id
      for update of p`,
    records: pathIds(commands),
  };
}

/**
 * Locks the levels of products and says which products have moved. An adjustment that comes after
 * waits here and then reads the product anew; one that came before has committed.
 */
export function lockLevels(commands: readonly Command[]): SetStatement<{ product_id: string }> {
  return {
    name: 'lock_levels_of_products',
    text: `
      with locked as (
        select v.merchant_id, v.product_id, v.sequence from inventory_levels v
        where (v.merchant_id, v.product_id) in ${asked}
        order by v.merchant_id, v.product_id, v.location_id
        for no key update of v)
      select distinct merchant_id, product_id from locked where sequence > 0`,
    records: pathIds(commands),
  };
}

/**
 * In the order of SKUs, so that two imports of the same list wait for each other in one order. Two
 * that order SKUs and external IDs differently may still deadlock: the batch is run again then.
 */
export function insertProducts(rows: readonly ProductRow[]): SetStatement {
  return {
    name: 'insert_products',
    text: `
      insert into products (merchant_id, id, name, description, sku, barcode, status,
        inventory_tracked, unit_code, unit_precision, price_amount, price_currency, external_id,
        metadata, version, created_at, updated_at, search)
      select merchant_id, id, name, description, sku, barcode, status,
        inventory_tracked, unit_code, unit_precision, price_amount, price_currency, external_id,
        metadata, version, created_at, updated_at, search
      from json_populate_recordset(null::products, $1)
      order by merchant_id, sku, external_id`,
    records: rows.map(columnsOf),
  };
}

export function updateProducts(rows: readonly ProductRow[]): SetStatement {
  return {
    name: 'update_products',
    text: `
      update products p
      set name = s.name, description = s.description, sku = s.sku, barcode = s.barcode,
        status = s.status, inventory_tracked = s.inventory_tracked, unit_code = s.unit_code,
        unit_precision = s.unit_precision, price_amount = s.price_amount,
        price_currency = s.price_currency, external_id = s.external_id, metadata = s.metadata,
        version = s.version, updated_at = s.updated_at, search = s.search
      from json_populate_recordset(null::products, $1) s
      where p.merchant_id = s.merchant_id and p.id = s.id`,
    records: rows.map(columnsOf),
  };
}

/** A numeric keeps the decimals it is given, so an amount comes out as it was sent. */
function columnsOf(row: ProductRow) {
  return {
    ...row,
    unit_code: row.unit.code,
    unit_precision: row.unit.precision,
    price_amount: row.price?.amount ?? null,
    price_currency: row.price?.currency ?? null,
    search: searchText(row.name, row.sku),
  };
}

export function productExists(merchant: MerchantId, id: string): Statement<{ id: string }> {
  return {
    name: 'product_exists',
    text: 'select id from products where merchant_id = $1 and id = $2',
    values: [merchant, lookupId(id)],
  };
}

export function findProducts(merchant: MerchantId, ids: readonly string[]): Statement<ProductRow> {
  return {
    name: 'find_products',
    text: `select ${columns} from products p where p.merchant_id = $1 and p.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

export interface ProductFilter {
  readonly merchant: MerchantId;
  readonly sku: string | undefined;
  readonly barcode: string | undefined;
  readonly externalId: string | undefined;
  readonly status: string | undefined;
  readonly updatedAfter: string | undefined;
  readonly q: string | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}

/** The limit stands in the text: without it the database plans each page anew. */
const walk = (limit: number, conditions: string) => `
  select ${listedColumns} from products p
  where p.merchant_id = $1 and p.id > $2 ${conditions}
  order by p.id limit ${limit}`;

const filtered = `
    and ($3::text is null or p.status = $3)
    and ($4::text is null or p.sku = $4)
    and ($5::text is null or p.barcode = $5)
    and ($6::text is null or p.external_id = $6)
    and ($7::tsquery is null or p.search @@ $7)`;

/**
 * Rows changed since a time, in two walks: those created since, which lie together at the end of
 * the IDs, and older ones. In one walk the database takes them for evenly spread and may read all
 * that comes before them.
 */
const changed = (limit: number) => `
  select * from (
    (${walk(limit, `${filtered} and p.id < $9 and p.updated_at >= $8::timestamptz`)}) union all
    (${walk(limit, `${filtered} and p.id >= $9 and p.updated_at >= $8::timestamptz`)})) p
  order by p.id limit ${limit}`;

/** A product as a page reads it. */
interface ListedProduct extends Omit<ProductRow, 'unit' | 'price'> {
  readonly unit_code: string;
  readonly unit_precision: number;
  readonly price_amount: string | null;
  readonly price_currency: string | null;
}

/** The rows of a page as other statements return them. A copy of each row took 2 µs. */
export function productsOf(answer: readonly ByColumn<ListedProduct>[]): ProductRow[] {
  return rowsOf<ListedProduct>(answer).map((row) =>
    Object.assign(row, {
      unit: { code: row.unit_code, precision: row.unit_precision },
      price: priceOf(row),
    }),
  );
}

function priceOf({ price_amount: amount, price_currency: currency }: ListedProduct) {
  return amount === null || currency === null ? null : { amount, currency };
}

/**
 * A page of products. With filters it is planned anew each time: only their values tell whether an
 * index finds the rows or a walk along the IDs meets them sooner. A plan that is kept does neither.
 */
export function listProducts(filter: ProductFilter): LargePage<ListedProduct> {
  const { merchant, after, limit, status, sku, barcode, externalId, q, updatedAfter } = filter;
  const page = [merchant, after ?? ''];
  const words = q === undefined ? undefined : searchQuery(q);
  const filters = [status, sku, barcode, externalId, words].map((value) => value ?? null);
  if (updatedAfter !== undefined) {
    const values = [...page, ...filters, updatedAfter, idFloor('product', updatedAfter)];
    return paged('', changed(limit), values, limit);
  }
  return filters.every((value) => value === null)
    ? paged(`list_products_${limit}`, walk(limit, ''), page, limit)
    : paged('', walk(limit, filtered), [...page, ...filters], limit);
}

const paged = largePages<ListedProduct>(
  listed,
  large,
  (columns, rows) => `select ${columns} from ${rows} p`,
);
