// Not in contract.ts, because inventory's endpoints are declared there as well.

import type { Resource } from '../contract/resource.ts';

export const stock = {
  name: 'stock',
  description: 'The products of a location, with what is on hand.',
  noun: 'stock_item',
  prefix: 'stk_',
  path: '/stock',
  scopes: [],
  operationTypes: [],
  tables: [],
  example: {
    sku: 'FLOUR-550',
    barcode: '4006381333931',
    name: 'Wheat flour 1 kg',
    quantity: '12.5',
  },
} as const satisfies Resource;
