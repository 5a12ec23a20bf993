// The list of products with what is on hand, those among them that never moved.

import { rowsOf } from '../contract/columns.ts';
import type { DataOf } from '../contract/contract.ts';
import type { CollectionEndpoint } from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { Problem } from '../core/problem.ts';
import { listStock as contract } from './contract.ts';
import { listStock, type StockKey, type StockRow } from './list-store.ts';

type Item = DataOf<typeof contract>;

export const stockEndpoint: CollectionEndpoint<typeof contract> = {
  contract,
  async run(reader, { principal: { merchant, scopes }, location, query, page }) {
    if (location === undefined) throw new Problem('location_not_granted');
    // Names are those of products: for whoever may not read these, there are none.
    if (!scopes.has('products.read')) return { items: [], next: undefined };
    const { q, sort = 'name', status = 'active' } = query;
    const after = page.after === undefined ? undefined : keyOf(page.after);
    const rows = rowsOf(
      await reader.query(
        listStock({ merchant, location, status, sort, q, after, limit: fetchSize(page) }),
      ),
    );
    const cursorOf = ({ product_id, key }: StockRow) => `${product_id}.${key}`;
    return takePage(rows, page, cursorOf, (row) => present(row, location, status));
  },
};

function keyOf(cursor: string): StockKey {
  const [product = '', ...key] = cursor.split('.');
  return { product, key: key.join('.') };
}

function present(row: StockRow, location_id: string, status: Item['status']): Item {
  return {
    product_id: row.product_id,
    location_id,
    name: row.name,
    sku: row.sku,
    barcode: row.barcode,
    status,
    unit: { code: row.unit_code, precision: row.unit_precision },
    quantity: canonicalQuantity(row.quantity),
    updated_at: row.updated_at,
  };
}
