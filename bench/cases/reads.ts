// The reads that are measured, each with its raw twin: the service's own statement. Of optional
// conditions that a request leaves out, the raw statement has the null written into it.

import type { GrantedLocationId } from '../../src/core/principal.ts';
import {
  findMovements,
  listLevels,
  listMovements,
  type MovementFilter,
} from '../../src/inventory/read-store.ts';
import { findProducts, listProducts } from '../../src/products/store.ts';
import type { RequestTemplate } from '../load/template.ts';
import { productDigits } from '../load/template.ts';
import { anyMovement, anyProduct, fromStore } from '../raw/statement.ts';
import { hotProduct, type MerchantGroup, single } from '../setup/merchants.ts';
import type { Part } from './case.ts';

const pageSize = 50;
const filters = 100;
/** One more than the page, to know whether another follows. */
const fetched = (size: number) => size + 1;
/** Before every ID; pgbench takes no empty text. */
const start = '!';

function get(path: string): RequestTemplate {
  return { method: 'GET', path: `/api/v1${path}`, answer: 'other' };
}

export function listOfProducts(raw: MerchantGroup): Part {
  const { whole } = listProducts({
    merchant: single(raw).id,
    sku: undefined,
    barcode: undefined,
    externalId: undefined,
    status: undefined,
    updatedAfter: undefined,
    q: undefined,
    after: start,
    limit: fetched(pageSize),
  });
  return { request: get(`/products?limit=${pageSize}`), raw: fromStore(whole) };
}

export function listOfLevels(raw: MerchantGroup): Part {
  return {
    request: get(`/inventory/levels?location_id={location}&limit=${pageSize}`),
    raw: fromStore(levelsOf(raw, undefined, pageSize)),
  };
}

/** A hundred products, others in each request. */
export function listOfFilteredLevels(raw: MerchantGroup): Part {
  const products = '&product_id={prefix}{product}'.repeat(filters);
  const drawn = `array(select :prefix || lpad((1 + floor(random() * :products::int))::text,
    ${productDigits}, '0') from generate_series(1, ${filters}))`;
  return {
    request: get(`/inventory/levels?location_id={location}&limit=${filters}${products}`),
    raw: fromStore(
      levelsOf(raw, [hotProduct(raw)], filters),
      { 6: drawn },
      { constants: { prefix: raw.productPrefix, products: String(raw.products) } },
    ),
  };
}

function levelsOf(raw: MerchantGroup, products: readonly string[] | undefined, limit: number) {
  const { id, location } = single(raw);
  return listLevels({
    merchant: id,
    location: location as GrantedLocationId,
    products,
    updatedAfter: undefined,
    after: start,
    limit: fetched(limit),
  });
}

const newestFirst: Omit<MovementFilter, 'merchant' | 'limit'> = {
  locations: null,
  products: undefined,
  reason: undefined,
  operation: undefined,
  recordedAfter: undefined,
  recordedBefore: undefined,
  order: 'desc',
  after: undefined,
};

export function listOfMovements(raw: MerchantGroup): Part {
  const merchant = single(raw).id;
  const statement = listMovements({ ...newestFirst, merchant, limit: fetched(pageSize) });
  return {
    request: get(`/inventory/movements?limit=${pageSize}`),
    raw: fromStore(statement),
  };
}

export function getProduct(raw: MerchantGroup): Part {
  return {
    request: get('/products/{prefix}{product}'),
    raw: fromStore(
      findProducts(single(raw).id, [hotProduct(raw)]),
      { 2: `array[${anyProduct}]` },
      { constants: { prefix: raw.productPrefix }, numbers: { n: raw.products } },
    ),
  };
}

/** @param served whose movements the request names: its digits follow the prefix. */
export function getMovement(served: MerchantGroup, raw: MerchantGroup): Part {
  return {
    request: get(`/inventory/movements/${served.movementPrefix}{movement}`),
    raw: fromStore(
      findMovements(single(raw).id, [], null),
      { 2: `array[${anyMovement}]` },
      { constants: { prefix: raw.movementPrefix }, numbers: { v: raw.movements } },
    ),
  };
}
