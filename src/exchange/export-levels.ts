// Levels with the names of their products and locations. All of them are of one moment. Levels of
// a location are in the order of product IDs, and so are products: both are read side by side.

import type { InventoryLevel, Product, Tallybook } from '@tallybook/client';
import { limits } from '../core/limits.ts';
import type { Column } from './columns.ts';

export interface LevelQuery {
  readonly asOf: string | undefined;
  readonly location: string | undefined;
}

const named = (name: string, isFree = false): Column => ({
  ...{ name, path: [name], kind: 'text' },
  isFree,
});

/** What a level is called, beside what it says itself. */
export const levelNames: readonly Column[] = [
  ...['location_code', 'external_id', 'sku'].map((name) => named(name)),
  named('name', true),
];

interface Moment {
  readonly as_of_position: string;
  readonly journal: string;
}

export async function* levelPages(
  tb: Tallybook,
  { asOf = 'now', location }: LevelQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[]> {
  let moment: Moment | undefined;
  for await (const { id, code } of tb.locations.list({ limit }, { signal })) {
    if (location !== undefined && id !== location) continue;
    const at: object = moment ?? { as_of: asOf };
    const levels = tb.inventory.levels.list({ location_id: id, ...at, limit }, { signal });
    const products = tb.products.list({ limit }, { signal })[Symbol.asyncIterator]();
    const product = following(products);
    for await (const { data, meta } of levels.pages()) {
      const { as_of_position, journal } = meta;
      if (as_of_position !== undefined && journal !== undefined) {
        moment ??= { as_of_position, journal };
      }
      const page: object[] = [];
      for (const level of data) page.push(nameLevel(level, code, await product(level.product_id)));
      yield page;
    }
    await products.return?.();
  }
}

const limit = limits.pageSizeMax;

/** Asked for in the order of IDs. */
function following(products: AsyncIterator<Product>) {
  let current: Product | undefined;
  return async (id: string): Promise<Product | undefined> => {
    while (current === undefined || current.id < id) {
      const { done, value } = await products.next();
      if (done === true) return undefined;
      current = value;
    }
    return current.id === id ? current : undefined;
  };
}

function nameLevel(level: InventoryLevel, code: string | null, product: Product | undefined) {
  const { external_id = null, sku = null, name = null } = product ?? {};
  return { location_code: code, external_id, sku, name, ...level };
}
