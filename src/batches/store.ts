// A batch has no row but its operation.

import type { MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

export function findBatches(
  merchant: MerchantId,
  ids: readonly string[],
): Statement<{ readonly id: string }> {
  return {
    name: 'find_batches',
    text: `
      select o.id from operations o
      where o.merchant_id = $1 and o.id = any ($2) and o.type = 'batches.submit'`,
    values: [merchant, ids],
  };
}
