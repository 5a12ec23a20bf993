// What is asked for in a flood, and beside it: what a shop asks for all day.

import { numbersOf } from '../cases/case.ts';
import type { LoadPlan, RequestTemplate } from '../load/template.ts';
import type { MerchantGroup } from '../setup/merchants.ts';

const product = '{prefix}{product}';

const adjustment: RequestTemplate = {
  method: 'POST',
  path: '/api/v1/inventory/adjustments',
  key: 'flood-0000-0000-{count}',
  body: JSON.stringify({
    product_id: product,
    location_id: '{location}',
    target_quantity: '{count}',
    reason: 'stock_count',
  }),
  answer: 'movement',
};

const reads = [
  `/api/v1/products/${product}`,
  `/api/v1/inventory/levels?location_id={location}&product_id=${product}`,
].map((path): RequestTemplate => ({ method: 'GET', path, answer: 'other' }));

/** One write to two reads. */
export function mixed(group: MerchantGroup): LoadPlan {
  const requests = [...reads, adjustment].map((template) => ({ weight: 1, template }));
  return { requests, callers: group.merchants, numbers: numbersOf(group) };
}

export function adjustments(group: MerchantGroup): LoadPlan {
  return { ...mixed(group), requests: [{ weight: 1, template: adjustment }] };
}
