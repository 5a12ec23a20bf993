// A merchant with three records of everything, created through the interface itself.

import { resources } from '../../src/resources.ts';
import type { Api } from './api.ts';
import type { Environment } from './environment.ts';
import { examples, firstOf } from './examples.ts';

/** Three of each, so that a page of one is followed by others. */
export interface TestMerchant {
  readonly merchant: string;
  /** With all scopes and all locations. */
  readonly api: Api;
  readonly token: string;
  readonly customers: readonly string[];
  readonly products: readonly string[];
  readonly locations: readonly string[];
  readonly movements: readonly string[];
  readonly operations: readonly string[];
  /** The ID of its journal. */
  readonly journal: string;
  /** Those of every other resource, by its noun. */
  readonly others: Readonly<Record<string, readonly string[]>>;
}

/** Creates three records of everything: all products at the first location, one of them at all. */
export async function createTestMerchant(
  service: Pick<Environment, 'api' | 'given'>,
  name = 'Corner Shop',
): Promise<TestMerchant> {
  const merchant = await service.given.merchant(name);
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const operations: string[] = [];
  let journal = '';
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await api.post(path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    operations.push(answer.body.meta.operation_id);
    journal = answer.body.meta.journal ?? journal;
    return answer.body.data.id;
  };
  const three = (make: (n: number) => Promise<string>) => Promise.all([1, 2, 3].map(make));
  const customers = await three((n) =>
    create('/customers', {
      name: `Customer ${n}`,
      email: `customer.${n}@example.com`,
      external_id: `customer-${n}`,
    }),
  );
  const products = await three((n) =>
    create('/products', { name: `Product ${n}`, external_id: `product-${n}` }),
  );
  const locations = await three((n) =>
    create('/locations', { name: `Location ${n}`, external_id: `location-${n}` }),
  );
  const pairs = [
    ...products.map((product_id) => ({ product_id, location_id: firstOf(locations) })),
    ...locations.slice(1).map((location_id) => ({ product_id: firstOf(products), location_id })),
  ];
  const movements = await Promise.all(
    pairs.map((pair) =>
      create('/inventory/adjustments', { ...pair, target_quantity: '5', reason: 'correction' }),
    ),
  );
  const known = ['customer', 'product', 'location', 'inventory_movement', 'batch'];
  const records = { customers, products, locations, movements, operations };
  const shop = { merchant, api, token, journal, ...records };
  const others: Record<string, readonly string[]> = {};
  for (const { noun, path, operationTypes } of resources) {
    const { body } = examples[operationTypes[0] ?? ''] ?? {};
    if (body === undefined || known.includes(noun)) continue;
    const list = path.replace('/{id}', '');
    others[noun] = await three((n) => create(list, body({ ...shop, others }, 10 - n)));
  }
  return { ...shop, others };
}
