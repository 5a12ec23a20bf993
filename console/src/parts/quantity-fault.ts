// What is wrong with a quantity as somebody typed it, before anything is sent.

import type { StockItem } from '@tallybook/client';
import { quantityOf } from '../format.ts';
import { texts } from '../texts.ts';

export function quantityFault(typed: string, unit: StockItem['unit']): string | undefined {
  const value = quantityOf(typed);
  if (value === undefined) return texts.stock.notQuantity;
  const decimals = value.split('.')[1]?.replace(/0+$/, '').length ?? 0;
  return decimals > unit.precision ? texts.stock.decimals(unit.precision) : undefined;
}
