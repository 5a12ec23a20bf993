// What writes of many lines have in common: each line names a product, and how much of it.

import { type Quantity, zero } from '../core/decimal.ts';
import type { Detail } from '../core/problem.ts';
import { precisionFault, productFault, type Stock } from './ledger.ts';

export interface Line {
  readonly product_id: string;
  readonly quantity: Quantity;
}

/** Each product once, and something of it. */
export function lineFaults(lines: readonly Line[]): Detail[] {
  const seen = new Set<string>();
  return lines.flatMap(({ product_id, quantity }, index) => {
    const details: Detail[] = [];
    if (seen.has(product_id)) {
      const message = 'is named by another line';
      details.push({ field: `lines.${index}.product_id`, code: 'repeated', message });
    }
    if (quantity === zero) {
      const message = 'must be more than 0';
      details.push({ field: `lines.${index}.quantity`, code: 'must_be_positive', message });
    }
    seen.add(product_id);
    return details;
  });
}

/** Lines whose products cannot move, or not by so much. */
export function productFaults({ products }: Stock, lines: readonly Line[]): Detail[] {
  return lines.flatMap(({ product_id, quantity }, index) => {
    const product = products.get(product_id);
    const found = productFault(product, `lines.${index}.product_id`);
    if (product === undefined || found !== undefined) return found ?? [];
    return precisionFault(product, quantity, `lines.${index}.quantity`) ?? [];
  });
}
