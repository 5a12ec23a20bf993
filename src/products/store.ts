// The statements of products.

import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

export function productExists(merchant: MerchantId, id: string): Statement<{ id: string }> {
  return {
    name: 'product_exists',
    text: 'select id from products where merchant_id = $1 and id = $2',
    values: [merchant, lookupId(id)],
  };
}
