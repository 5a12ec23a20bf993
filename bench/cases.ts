// What is measured: for each case the request that the service gets, and the same work as one
// statement for the raw figure. A new case is one more entry.

import { findProducts, listProducts } from '../src/products/store.ts';
import type { RequestTemplate } from './load/template.ts';
import { anyProduct, fromStore, type RawStatement } from './raw/statement.ts';
import type { BenchMerchant } from './setup/data.ts';

export interface Case {
  /** As it is named on the command line. */
  readonly name: string;
  readonly title: string;
  /** Whether its answers are movements, which must all be found in the ledger afterwards. */
  readonly isAdjustment: boolean;
  readonly request: RequestTemplate;
  readonly raw: RawStatement;
}

const pageSize = 50;

interface Setting {
  /** Whose records the service works on. */
  readonly served: BenchMerchant;
  /** Whose records the raw statements work on. */
  readonly raw: BenchMerchant;
  readonly products: number;
}

/** @throws Error when `names` holds a case that is not there. Empty: all. */
export function casesOf(setting: Setting, names: readonly string[]): readonly Case[] {
  const { served, raw, products } = setting;
  const anyServed = `${served.productPrefix}{product}`;
  const all: readonly Case[] = [
    {
      name: 'adjust-spread',
      title: `adjust, ${products.toLocaleString('en')} levels`,
      isAdjustment: true,
      request: adjustment(served, anyServed),
      raw: rawAdjustment(setting, anyProduct, { prefix: raw.productPrefix }),
    },
    {
      name: 'adjust-one',
      title: 'adjust, one level',
      isAdjustment: true,
      request: adjustment(served, served.hotProduct),
      raw: rawAdjustment(setting, ':product', { product: raw.hotProduct }),
    },
    {
      name: 'create-customer',
      title: 'create customer',
      isAdjustment: false,
      request: { method: 'POST', path: '/api/v1/customers', body: customer },
      raw: {
        text: 'select bench_create_customer(:merchant, :credential)',
        constants: { merchant: raw.id, credential: raw.credential },
        products,
      },
    },
    {
      name: 'list-products',
      title: `list ${pageSize} products`,
      isAdjustment: false,
      request: { method: 'GET', path: `/api/v1/products?limit=${pageSize}` },
      raw: fromStore(firstPage(raw), products),
    },
    {
      name: 'get-product',
      title: 'get product',
      isAdjustment: false,
      request: { method: 'GET', path: `/api/v1/products/${anyServed}` },
      raw: fromStore(
        findProducts(raw.id, [raw.hotProduct]),
        products,
        { 2: `array[${anyProduct}]` },
        { prefix: raw.productPrefix },
      ),
    },
  ];
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    const known = all.map(({ name }) => name).join(', ');
    throw new Error(`there is no case "${unknown}"; there are ${known}`);
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

/** The target grows from request to request, so it is never what the level is already. */
function adjustment({ location }: BenchMerchant, product: string): RequestTemplate {
  const body = JSON.stringify({
    product_id: product,
    location_id: location,
    target_quantity: '{count}',
    reason: 'stock_count',
  });
  return { method: 'POST', path: '/api/v1/inventory/adjustments', body };
}

const customer = JSON.stringify({
  name: 'Ada Bench {count}',
  email: 'c{count}@example.com',
  phone: '+493012345678',
});

function rawAdjustment(
  { raw, products }: Setting,
  product: string,
  constants: Readonly<Record<string, string>>,
): RawStatement {
  return {
    text: `select bench_adjust(:merchant, :credential, :location, ${product})`,
    constants: {
      merchant: raw.id,
      credential: raw.credential,
      location: raw.location,
      ...constants,
    },
    products,
  };
}

function firstPage({ id }: BenchMerchant) {
  return listProducts({
    merchant: id,
    sku: undefined,
    barcode: undefined,
    externalId: undefined,
    status: undefined,
    updatedAfter: undefined,
    q: undefined,
    // Before every ID; pgbench takes no empty text.
    after: '!',
    // One more than the page, to know whether another follows.
    limit: pageSize + 1,
  });
}
