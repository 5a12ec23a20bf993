// The endpoints of products. The unit is fixed by the first movement, because the quantities in the
// ledger count that unit. A PATCH of what adjustments are judged on waits for them, and they wait
// for it.

import type { Write } from '../contract/endpoint.ts';
import type { Detail } from '../core/problem.ts';
import { recordEndpoints } from '../records/endpoints.ts';
import type { Row } from '../records/record.ts';
import { isSame } from '../records/revision.ts';
import * as contract from './contract.ts';
import { priceFaults } from './price.ts';
import { lockLevels, lockProductsFully } from './store.ts';

type Product = Row<typeof contract.products>;

export const productEndpoints = recordEndpoints(contract.products, contract, {
  check: ({ price }) => priceFaults(price),
  locks(writes) {
    const concerned = writes.filter(concernsInventory);
    return [lockProductsFully(concerned), lockLevels(concerned)];
  },
  faults: (before, after, [, moved = []]) => unitFaults(before, after, moved),
});

function concernsInventory({ body }: Write<Partial<Product>>): boolean {
  return (
    body.status !== undefined || body.inventory_tracked !== undefined || body.unit !== undefined
  );
}

/** `moved` are the products with a movement, among those whose levels were locked. */
function unitFaults(before: Product, after: Product, moved: readonly unknown[]): Detail[] {
  if (isSame(before.unit, after.unit)) return [];
  const products = moved as readonly { readonly product_id: string }[];
  if (!products.some(({ product_id: id }) => id === before.id)) return [];
  const message = 'cannot change once the product has a movement';
  return [{ field: 'unit', code: 'value_not_allowed', message }];
}
