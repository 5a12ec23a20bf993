// The endpoints of products. The unit is fixed by the first movement, because the quantities in the
// ledger count that unit, and what is low has no more decimals than it. A PATCH of what adjustments
// are judged on waits for them, and they wait for it.

import type { Write } from '../contract/endpoint.ts';
import { lookupId } from '../core/id.ts';
import type { Detail } from '../core/problem.ts';
import { recordEndpoints } from '../records/endpoints.ts';
import type { Row } from '../records/record.ts';
import { isSame } from '../records/revision.ts';
import * as contract from './contract.ts';
import { lowStockFaults, productFaults, unitOf } from './faults.ts';
import { type Conditions, lockLevels, lockProductsFully } from './store.ts';

type Product = Row<typeof contract.products>;

export const productEndpoints = recordEndpoints(contract.products, contract, {
  check: productFaults,
  locks(writes, by) {
    const concerned = writes.filter(concernsInventory).map(conditionsOf);
    return [lockProductsFully(concerned, by), lockLevels(concerned, by)];
  },
  faults: (before, after, [, moved = []]) => [
    ...unitFaults(before, after, moved),
    ...lowStockFaults(after.unit, after.low_stock_at),
  ],
});

function concernsInventory({ body }: Write<Partial<Product>>): boolean {
  const { status, inventory_tracked: tracked, unit, low_stock_at } = body;
  return [status, tracked, unit, low_stock_at].some((value) => value !== undefined);
}

function conditionsOf({ id, externalId, body }: Write<Partial<Product>>): Conditions {
  const { status, inventory_tracked: tracked, unit, low_stock_at } = body;
  const { defaults } = contract.products;
  const asked = unit === undefined ? undefined : unitOf(unit);
  return {
    id: lookupId(id),
    external_id: externalId,
    status,
    inventory_tracked: tracked === null ? Boolean(defaults.inventory_tracked) : tracked,
    unit_code: asked?.code,
    unit_precision: asked?.precision,
    sets_low_stock: low_stock_at !== undefined,
    low_stock_at,
  };
}

/** `moved` are the products with a movement, among those whose levels were locked. */
function unitFaults(before: Product, after: Product, moved: readonly unknown[]): Detail[] {
  if (isSame(before.unit, after.unit)) return [];
  const products = moved as readonly { readonly product_id: string }[];
  if (!products.some(({ product_id: id }) => id === before.id)) return [];
  const message = 'cannot change once the product has a movement';
  return [{ field: 'unit', code: 'value_not_allowed', message }];
}
