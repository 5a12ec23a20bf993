// Each scan of the same product is one more of it.

import { Quantity } from '@tallybook/client';
import { quantityOf, quantityText } from '../format.ts';

export const oneMore = (typed: string): string =>
  quantityText(Quantity.add(quantityOf(typed) ?? '0', '1'));
