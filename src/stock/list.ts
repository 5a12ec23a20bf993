// The list of products with what is on hand, those among them that never moved.

import type { DataOf, QueryOf } from '../contract/contract.ts';
import type { CollectionEndpoint } from '../contract/endpoint.ts';
import { fetchSize, type Page, type PageRequest } from '../contract/page.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { limits } from '../core/limits.ts';
import { type Detail, Problem } from '../core/problem.ts';
import type { Reader } from '../core/statement.ts';
import { isAsOf, momentFaults, pageAsOf, requireJournal } from '../inventory/as-of.ts';
import { shareOf } from '../inventory/endpoints.ts';
import type { LastCount } from '../inventory/ledger.ts';
import { takeLooked } from '../inventory/read-store.ts';
import { listByQuantity, type QuantityWalk } from './by-quantity-store.ts';
import { listStock as contract } from './contract.ts';
import {
  listStock,
  listStockAsOf,
  type ReservedRow,
  type StockKey,
  type StockRow,
} from './list-store.ts';

type Query = QueryOf<typeof contract>;
type Item = DataOf<typeof contract>;

export const stockEndpoint: CollectionEndpoint<typeof contract> = {
  contract,
  check: (query) => [...momentFaults(query), ...orderFaults(query)],
  async run(reader, { principal: { merchant, scopes }, location, query, page }) {
    if (location === undefined) throw new Problem('location_not_granted');
    // Names are those of products: for whoever may not read these, there are none.
    if (!scopes.has('products.read')) return { items: [], next: undefined };
    const { q, sort = 'name', status = 'active' } = query;
    const isLow = query.low_stock !== undefined;
    const walk = { merchant, location, status, q, isLow, limit: fetchSize(page) };
    const present = (row: ShownStock) => presentStock(row, location, status);
    if (isAsOf(query) && sort !== 'quantity') {
      return pageAsOf(
        reader,
        merchant,
        { query, page },
        ({ position, after }) => listStockAsOf({ ...walk, sort, position, after: keyOf(after) }),
        { key: cursorOf, present },
      );
    }
    await requireJournal(reader, merchant, query);
    const after = keyOf(page.after);
    if (sort === 'quantity') return pageByQuantity(reader, { ...walk, after }, page, present);
    const answer = await reader.query(listStock({ ...walk, sort, after }));
    return takeLooked<ReservedRow, Item>(answer, page, cursorOf, present);
  },
};

/** What is on hand changes, and with it the order: there is none of a moment. */
function orderFaults(query: Query): Detail[] {
  if (query.sort !== 'quantity' || !isAsOf(query)) return [];
  const message = 'cannot be quantity with as_of or as_of_position';
  return [{ field: 'query.sort', code: 'value_not_allowed', message }];
}

/** @throws Problem invalid_parameter: there is too much to sort */
async function pageByQuantity(
  reader: Reader,
  walk: QuantityWalk,
  page: PageRequest,
  present: (row: ShownStock) => Item,
): Promise<Page<Item>> {
  const [answer] = await reader.query(listByQuantity(walk));
  if (answer === undefined) throw new Error('the page has no row');
  const { is_too_large, ...shown } = answer;
  if (is_too_large) {
    const isFiltered = walk.q !== undefined || walk.isLow;
    const what = isFiltered ? 'products found' : 'levels at the location';
    const most = limits.stockSortedMax.toLocaleString('en');
    const message = `cannot be quantity with more than ${most} ${what}`;
    throw new Problem('invalid_parameter', {
      details: [{ field: 'query.sort', code: 'value_not_allowed', message }],
    });
  }
  return takeLooked<ReservedRow, Item>([shown], page, cursorOf, present);
}

const cursorOf = ({ product_id, key }: StockRow) => `${product_id}.${key}`;

function keyOf(cursor: string | undefined): StockKey | undefined {
  if (cursor === undefined) return undefined;
  const [product = '', ...key] = cursor.split('.');
  return { product, key: key.join('.') };
}

/** As of a moment nothing says who had counted it by then, or what was reserved. */
type ShownStock = StockRow & { readonly reserved?: string | null } & Partial<LastCount>;

function presentStock(row: ShownStock, location_id: string, status: Item['status']): Item {
  const quantity = canonicalQuantity(row.quantity);
  return {
    product_id: row.product_id,
    location_id,
    name: row.name,
    sku: row.sku,
    barcode: row.barcode,
    status,
    unit: { code: row.unit_code, precision: row.unit_precision },
    low_stock_at: row.low_stock_at === null ? null : canonicalQuantity(row.low_stock_at),
    quantity,
    ...shareOf(quantity, row.reserved),
    updated_at: row.updated_at,
    counted_at: row.counted_at ?? null,
    counted_by: row.counted_by ?? null,
  };
}
