// A merchant with a little of everything, made through the interface itself, and for every contract
// the request that is valid in it. The tests of all contracts are derived from these rows; an
// endpoint without one fails them.

import { endpoints } from '../../src/app.ts';
import type { CollectionContract, Contract, WriteContract } from '../../src/core/contract.ts';
import { type Answer, type Api, type Ask, newKey } from './api.ts';
import type { TestService } from './service.ts';

/** Three of each, so that a page of one is followed by others. */
export interface Shop {
  readonly merchant: string;
  /** With all scopes and all locations. */
  readonly api: Api;
  readonly token: string;
  readonly customers: readonly string[];
  readonly products: readonly string[];
  readonly locations: readonly string[];
  readonly movements: readonly string[];
  readonly operations: readonly string[];
}

/** What a request to one endpoint needs in order to be valid. */
export interface Example {
  readonly id?: (shop: Shop) => string;
  readonly query?: (shop: Shop) => Readonly<Record<string, string>>;
  /** Valid for every `n`; bodies of different `n` are different requests. */
  readonly body?: (shop: Shop, n: number) => Record<string, unknown>;
}

const first = (ids: readonly string[]): string => ids[0] ?? '';

export const examples: Readonly<Record<string, Example>> = {
  'customers.create': {
    body: (_, n) => ({ name: `Ada ${n}`, email: `ada.${n}@example.com`, metadata: { n: `${n}` } }),
  },
  'customers.update': {
    id: (shop) => first(shop.customers),
    body: (_, n) => ({ name: `Ada ${n}`, note: `Note ${n}` }),
  },
  'customers.list': {},
  'customers.get': { id: (shop) => first(shop.customers) },
  'products.create': {
    body: (_, n) => ({
      name: `Flour ${n}`,
      sku: `FLOUR-${n}`,
      unit: { code: 'kg', precision: 3 },
      price: { amount: '1.29', currency: 'EUR' },
    }),
  },
  'products.update': {
    id: (shop) => first(shop.products),
    body: (_, n) => ({ name: `Flour ${n}`, description: `Sack ${n}` }),
  },
  'products.list': {},
  'products.get': { id: (shop) => first(shop.products) },
  'products.levels.list': { id: (shop) => first(shop.products) },
  'locations.create': {
    body: (_, n) => ({ name: `Shop ${n}`, code: `S-${n}`, timezone: 'Europe/Berlin' }),
  },
  'locations.update': {
    id: (shop) => first(shop.locations),
    body: (_, n) => ({ name: `Shop ${n}`, type: 'store' }),
  },
  'locations.list': {},
  'locations.get': { id: (shop) => first(shop.locations) },
  'inventory.levels.list': { query: (shop) => ({ location_id: first(shop.locations) }) },
  'inventory.movements.list': {},
  'inventory.movements.get': { id: (shop) => first(shop.movements) },
  'inventory.adjust': {
    body: (shop, n) => ({
      product_id: first(shop.products),
      location_id: first(shop.locations),
      target_quantity: `${1_000 + n}`,
      reason: 'stock_count',
      note: `Count ${n}`,
    }),
  },
  'operations.list': {},
  'operations.get': { id: (shop) => first(shop.operations) },
  'credential.get': {},
};

/** Opens a shop with three of everything: products at the first location, one of them at all. */
export async function openShop(
  service: Pick<TestService, 'given' | 'api'>,
  name = 'Corner Shop',
): Promise<Shop> {
  const merchant = await service.given.merchant(name);
  const { token } = await service.given.credential(merchant);
  const api = service.api.as(token);
  const operations: string[] = [];
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await api.post(path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    operations.push(answer.body.meta.operation_id);
    return answer.body.data.id;
  };
  const three = (make: (n: number) => Promise<string>) => Promise.all([1, 2, 3].map(make));
  const customers = await three((n) =>
    create('/customers', { name: `Customer ${n}`, email: `customer.${n}@example.com` }),
  );
  const products = await three((n) => create('/products', { name: `Product ${n}` }));
  const locations = await three((n) => create('/locations', { name: `Location ${n}` }));
  const pairs = [
    ...products.map((product_id) => ({ product_id, location_id: first(locations) })),
    ...locations.slice(1).map((location_id) => ({ product_id: first(products), location_id })),
  ];
  const movements = await Promise.all(
    pairs.map((pair) =>
      create('/inventory/adjustments', { ...pair, target_quantity: '5', reason: 'correction' }),
    ),
  );
  return { merchant, api, token, customers, products, locations, movements, operations };
}

/** One endpoint with the request that is valid for it. */
export interface Case<C extends Contract = Contract> {
  readonly name: string;
  readonly contract: C;
  readonly example: Example;
  readonly method: string;
}

export const cases: readonly Case[] = endpoints.map(({ contract }) => ({
  name: contract.name,
  contract,
  example: examples[contract.name] ?? {},
  method: contract.kind === 'write' ? contract.method : 'GET',
}));

export const collections = cases.filter(
  (one): one is Case<CollectionContract> => one.contract.kind === 'collection',
);
export const writes = cases.filter(
  (one): one is Case<WriteContract> => one.contract.kind === 'write',
);

/** What a test changes about the valid request. */
export interface Change extends Ask {
  readonly id?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Appended to the query as it is. */
  readonly search?: string;
  readonly body?: unknown;
  /** The body as bytes, instead of `body`. */
  readonly text?: string | Uint8Array<ArrayBuffer>;
}

let counter = 0;

/** A valid body that no request before had. */
export function freshBody(one: Case, shop: Shop): Record<string, unknown> {
  counter += 1;
  return one.example.body?.(shop, counter) ?? {};
}

export function pathOf(one: Case, shop: Shop, change: Change = {}): string {
  const id = change.id ?? one.example.id?.(shop) ?? '';
  const query = new URLSearchParams({ ...one.example.query?.(shop), ...change.query }).toString();
  const search = [query, change.search ?? ''].filter((part) => part !== '').join('&');
  return one.contract.path.replace('{id}', id) + (search === '' ? '' : `?${search}`);
}

/** Sends the valid request of an endpoint, changed as told. */
export function send(one: Case, shop: Shop, api: Api, change: Change = {}): Promise<Answer> {
  const path = pathOf(one, shop, change);
  if (one.contract.kind !== 'write') return api.send('GET', path, undefined, change);
  const body = change.text ?? JSON.stringify(change.body ?? freshBody(one, shop));
  return api.send(one.method, path, body, { key: newKey(), ...change });
}

/** A body without what differs from one request to the next. */
export function withoutRequestId({ body }: Answer): unknown {
  const { request_id: _, ...meta } = body.meta;
  return { ...body, meta };
}
