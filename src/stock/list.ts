// The list of products with what is on hand, those among them that never moved.

import type { DataOf } from '../contract/contract.ts';
import type { CollectionEndpoint } from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { Problem } from '../core/problem.ts';
import { isAsOf, momentFaults, pageAsOf, requireJournal } from '../inventory/as-of.ts';
import { shareOf } from '../inventory/endpoints.ts';
import type { LastCount } from '../inventory/ledger.ts';
import { countedRows } from '../inventory/read-store.ts';
import { listStock as contract } from './contract.ts';
import { listStock, listStockAsOf, type StockKey, type StockRow } from './list-store.ts';

type Item = DataOf<typeof contract>;

export const stockEndpoint: CollectionEndpoint<typeof contract> = {
  contract,
  check: momentFaults,
  async run(reader, { principal: { merchant, scopes }, location, query, page }) {
    if (location === undefined) throw new Problem('location_not_granted');
    // Names are those of products: for whoever may not read these, there are none.
    if (!scopes.has('products.read')) return { items: [], next: undefined };
    const { q, sort = 'name', status = 'active' } = query;
    const walk = { merchant, location, status, sort, q, limit: fetchSize(page) };
    const present = (row: ShownStock) => presentStock(row, location, status);
    if (isAsOf(query)) {
      return pageAsOf(
        reader,
        merchant,
        { query, page },
        ({ position, after }) => listStockAsOf({ ...walk, position, after: keyOf(after) }),
        { key: cursorOf, present },
      );
    }
    await requireJournal(reader, merchant, query);
    const answer = await reader.query(listStock({ ...walk, after: keyOf(page.after) }));
    const rows = countedRows(answer, (row) => row.product_id);
    return takePage(rows, page, cursorOf, present);
  },
};

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
    quantity,
    ...shareOf(quantity, row.reserved),
    updated_at: row.updated_at,
    counted_at: row.counted_at ?? null,
    counted_by: row.counted_by ?? null,
  };
}
