// What the members of a product say together, and a schema cannot.

import type { Static } from 'typebox';
import { placesFault } from '../core/decimal.ts';
import type { Detail } from '../core/problem.ts';
import { products } from './contract.ts';
import { priceFaults } from './price.ts';

type Product = Static<typeof products.answer>;

/** Of a body, whose members may be missing. */
export function productFaults({ price, unit, low_stock_at }: Partial<Product>): Detail[] {
  return [
    ...priceFaults(price),
    ...(unit === undefined ? [] : lowStockFaults(unitOf(unit), low_stock_at)),
  ];
}

/** Null in a PATCH is the default. */
export const unitOf = (unit: Product['unit'] | null): Product['unit'] =>
  unit ?? (products.defaults.unit as Product['unit']);

/** What runs out is counted as the product is. */
export function lowStockFaults(
  { precision }: Product['unit'],
  quantity: Product['low_stock_at'] | undefined,
): Detail[] {
  const fault = quantity ? placesFault(quantity, precision) : undefined;
  return fault === undefined ? [] : [{ field: 'low_stock_at', ...fault }];
}
