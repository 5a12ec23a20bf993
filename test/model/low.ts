// What runs out: the levels of which a write took what is available from above what is low to that
// or below, and those of which no more is available now.

import type { JsonObject } from '../../src/contract/json.ts';
import { available, placeOf } from './ledger.ts';
import { type Merchant, quantityOf, unitsOf, type Write } from './world.ts';

/** What is available of each level. */
export const availables = (merchant: Merchant): ReadonlyMap<string, bigint> =>
  new Map([...merchant.levels.keys()].map((place) => [place, available(merchant, place)]));

/** In the order of the lines, each of which names another product. */
export function madeLow(
  merchant: Merchant,
  { body }: Write,
  before: ReadonlyMap<string, bigint>,
): JsonObject[] {
  const lines = (body.lines ?? [body]) as unknown as readonly JsonObject[];
  return lines.flatMap(({ product_id = null }) =>
    [...merchant.levels].flatMap(([place, level]) => {
      const low = lowAt(merchant, level);
      if (level.product_id !== product_id || low === undefined) return [];
      const now = available(merchant, place);
      if ((before.get(place) ?? 0n) <= low || now > low) return [];
      const { location_id = null } = level;
      const quantities = { available_quantity: quantityOf(now), low_stock_at: quantityOf(low) };
      return [{ product_id, location_id, ...quantities }];
    }),
  );
}

/** Whether a list of what is low has a level. */
export function isLow(merchant: Merchant, level: JsonObject): boolean {
  const { status, inventory_tracked } = merchant.products.get(String(level.product_id)) ?? {};
  const low = lowAt(merchant, level);
  const isKept = status === 'active' && inventory_tracked === true;
  const place = placeOf(level.product_id, level.location_id);
  return isKept && low !== undefined && available(merchant, place) <= low;
}

function lowAt({ products }: Merchant, { product_id }: JsonObject): bigint | undefined {
  const low = products.get(String(product_id))?.low_stock_at;
  return typeof low === 'string' ? unitsOf(low) : undefined;
}
