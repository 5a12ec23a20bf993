// What JSON Schema cannot say of a price: the currency exists, and the amount has exactly its
// decimals. Nothing is rounded or padded, so what comes out is what was sent.

import type { Static } from 'typebox';
import { quantityFault } from '../core/decimal.ts';
import type { Detail } from '../core/problem.ts';
import type { Price } from './contract.ts';
import { currencyDecimals } from './currency.ts';

export function priceFaults(price: Static<typeof Price> | null | undefined): readonly Detail[] {
  if (price === null || price === undefined) return [];
  const decimals = currencyDecimals(price.currency);
  const amount = amountFault(price.amount, decimals);
  const faults: Detail[] = amount === undefined ? [] : [{ field: 'price.amount', ...amount }];
  if (decimals === undefined) {
    const message = 'must be an ISO 4217 currency in use, such as "EUR"';
    faults.push({ field: 'price.currency', code: 'unknown_value', message });
  }
  return faults;
}

/** A quantity's grammar and bounds, and then the currency's decimals, trailing zeros counted. */
function amountFault(amount: string, decimals: number | undefined) {
  const fault = quantityFault(amount);
  if (fault !== undefined || decimals === undefined) return fault;
  const places = amount.split('.')[1]?.length ?? 0;
  if (places === decimals) return undefined;
  return {
    code: places > decimals ? 'too_many_decimal_places' : 'invalid_format',
    message: `must have exactly ${decimals} decimal places, as its currency has`,
  } as const;
}
