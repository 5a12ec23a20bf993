// For every contract a request that is valid for a test merchant. The tests of all contracts are
// derived from these rows; an endpoint without one fails them.

import type { TestMerchant } from './merchant.ts';

export const firstOf = (ids: readonly string[] | undefined): string => ids?.[0] ?? '';

/** What a request to one endpoint needs in order to be valid. */
export interface Example {
  readonly id?: (shop: TestMerchant) => string;
  readonly query?: (shop: TestMerchant) => Readonly<Record<string, string>>;
  /** Valid for every `n`; bodies of different `n` are different requests. */
  readonly body?: (shop: TestMerchant, n: number) => Record<string, unknown>;
}

export const examples: Readonly<Record<string, Example>> = {
  'customers.create': {
    body: (_, n) => ({ name: `Ada ${n}`, email: `ada.${n}@example.com`, metadata: { n: `${n}` } }),
  },
  'customers.update': {
    id: (shop) => firstOf(shop.customers),
    body: (_, n) => ({ name: `Ada ${n}`, note: `Note ${n}` }),
  },
  'customers.list': {},
  'customers.get': { id: (shop) => firstOf(shop.customers) },
  'products.create': {
    body: (_, n) => ({
      name: `Flour ${n}`,
      sku: `FLOUR-${n}`,
      unit: { code: 'kg', precision: 3 },
      price: { amount: '1.29', currency: 'EUR' },
    }),
  },
  'products.update': {
    id: (shop) => firstOf(shop.products),
    body: (_, n) => ({ name: `Flour ${n}`, description: `Sack ${n}` }),
  },
  'products.list': {},
  'products.get': { id: (shop) => firstOf(shop.products) },
  'products.levels.list': { id: (shop) => firstOf(shop.products) },
  'locations.create': {
    body: (_, n) => ({ name: `Shop ${n}`, code: `S-${n}`, timezone: 'Europe/Berlin' }),
  },
  'locations.update': {
    id: (shop) => firstOf(shop.locations),
    body: (_, n) => ({ name: `Shop ${n}`, type: 'store' }),
  },
  'locations.list': {},
  'locations.get': { id: (shop) => firstOf(shop.locations) },
  'inventory.levels.list': { query: (shop) => ({ location_id: firstOf(shop.locations) }) },
  'inventory.movements.list': {},
  'inventory.movements.get': { id: (shop) => firstOf(shop.movements) },
  'inventory.adjust': {
    body: (shop, n) => ({
      product_id: firstOf(shop.products),
      location_id: firstOf(shop.locations),
      target_quantity: `${1_000 + n}`,
      reason: 'stock_count',
      note: `Count ${n}`,
    }),
  },
  'operations.list': {},
  'operations.get': { id: (shop) => firstOf(shop.operations) },
  'credential.get': {},
};
