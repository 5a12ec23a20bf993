// The endpoints of products: which contract, which functions.

import type {
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  WriteEndpoint,
} from '../core/endpoint.ts';
import { fetchSize, readLarge, takePage } from '../core/page.ts';
import { draftsOf, type Edit, type Holder, saveLast } from '../core/revision.ts';
import * as contract from './contract.ts';
import {
  concernsInventory,
  decideCreate,
  decideUpdate,
  type ProductDrafts,
  type ProductFields,
  type ProductPatch,
  type ProductRow,
} from './edit.ts';
import { priceFaults } from './price.ts';
import * as store from './store.ts';

type ProductWrite<Body> = WriteEndpoint<Body, ProductDrafts, Edit<ProductRow>, ProductRow>;

const createProduct: ProductWrite<ProductFields> = {
  contract: contract.createProduct,
  check: (body) => priceFaults(body.price),
  load: (commands) => ({
    statements: [store.findHolders(commands)],
    state: ([holders = []]) => ({ ...draftsOf([], holders as Holder[]), moved: new Set() }),
  }),
  decide: decideCreate,
  save: (edits) => saveLast(edits, store.insertProducts),
  row: (edit) => edit.row,
  find: store.findProducts,
  present: presentProduct,
};

const updateProduct: ProductWrite<ProductPatch> = {
  contract: contract.updateProduct,
  check: (body) => priceFaults(body.price),
  load(commands) {
    const crossing = commands.filter(concernsInventory);
    return {
      statements: [
        store.lockProducts(commands),
        store.lockProductsFully(crossing),
        store.lockLevels(crossing),
        store.findHolders(commands),
      ],
      state: ([rows = [], , moved = [], holders = []]) => ({
        ...draftsOf(rows as ProductRow[], holders as Holder[]),
        moved: new Set((moved as { product_id: string }[]).map((level) => level.product_id)),
      }),
    };
  },
  decide: decideUpdate,
  save: (edits) => saveLast(edits, store.updateProducts),
  row: (edit) => edit.row,
  find: store.findProducts,
  present: presentProduct,
};

const getProduct: MemberEndpoint = {
  contract: contract.getProduct,
  async run(reads, { merchant }, id) {
    const row = await reads.find((ids) => store.findProducts(merchant, ids), id);
    return row === undefined ? undefined : presentProduct(row);
  },
};

const listProducts: CollectionEndpoint<typeof contract.listProducts> = {
  contract: contract.listProducts,
  async run(reader, { principal, query, page }) {
    const answer = await readLarge(
      reader,
      store.listProducts({
        merchant: principal.merchant,
        sku: query.sku,
        barcode: query.barcode,
        externalId: query.external_id,
        status: query.status,
        updatedAfter: query.updated_after,
        q: query.q,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    return takePage(store.productsOf(answer), page, (row) => row.id, presentProduct);
  },
};

export const productEndpoints: readonly Endpoint[] = [
  createProduct,
  updateProduct,
  listProducts,
  getProduct,
];

function presentProduct(row: ProductRow): object {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    sku: row.sku,
    barcode: row.barcode,
    status: row.status,
    inventory_tracked: row.inventory_tracked,
    unit: row.unit,
    price: row.price,
    external_id: row.external_id,
    metadata: row.metadata,
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
