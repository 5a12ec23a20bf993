// What writes of many lines have in common: each line names a product, and how much of it.

import { isLess, type Quantity, zero } from '../core/decimal.ts';
import type { Detail } from '../core/problem.ts';
import { insufficient, precisionFault, productFault, type Stock } from './ledger.ts';

export interface Line {
  readonly product_id: string;
  readonly quantity: Quantity;
}

/** Of each line: that an earlier one has its product. */
export function repetitions(lines: readonly Pick<Line, 'product_id'>[]): Detail[][] {
  const seen = new Set<string>();
  return lines.map(({ product_id }, index) => {
    const isNew = !seen.has(product_id);
    seen.add(product_id);
    const message = 'is named by another line';
    return isNew ? [] : [{ field: `lines.${index}.product_id`, code: 'repeated', message }];
  });
}

/** Each product once, and something of it. */
export function lineFaults(lines: readonly Line[]): Detail[] {
  const repeated = repetitions(lines);
  return lines.flatMap(({ quantity }, index) => {
    const details = repeated[index] ?? [];
    if (quantity !== zero) return details;
    const message = 'must be more than 0';
    return [...details, { field: `lines.${index}.quantity`, code: 'must_be_positive', message }];
  });
}

/** Lines that ask for more than is there of their product. */
export function lackingLines(
  lines: readonly Line[],
  thereOf: (product: string) => Quantity,
): Detail[] {
  return lines.flatMap(({ product_id, quantity }, index) => {
    const there = thereOf(product_id);
    const isThere = !isLess(there, quantity);
    return isThere ? [] : [insufficient(`lines.${index}.quantity`, product_id, there)];
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
