// For every contract a request that is valid for a test merchant. The tests of all contracts are
// derived from these rows; an endpoint without one fails them.

import { randomUUID } from 'node:crypto';
import { scopesOfRole } from '../../src/access/roles.ts';
import type { Scope } from '../../src/core/principal.ts';
import type { TestMerchant } from './merchant.ts';

export const firstOf = (ids: readonly string[] | undefined): string => ids?.[0] ?? '';

/** What a request to one endpoint needs in order to be valid. */
export interface Example {
  readonly id?: (shop: TestMerchant) => string;
  readonly query?: (shop: TestMerchant) => Readonly<Record<string, string>>;
  /** Valid for every `n`; bodies of different `n` are different requests. */
  readonly body?: (shop: TestMerchant, n: number) => Record<string, unknown>;
  /** The resource is one's own: whoever asks makes it first, by this request. */
  readonly own?: { readonly path: string; readonly body: Record<string, unknown> };
  /**
   * It can be done once: each request of its own is about a resource that was made for it, by the
   * shop, with the valid request of this name.
   */
  readonly once?: string;
  /** What it takes to see what somebody with all scopes has made, beside the scope of the route. */
  readonly reads?: readonly Scope[];
}

/** Whom webhooks call: nobody has this name. */
export const receiver = 'receiver.invalid';

const paused = { url: `https://${receiver}/hook`, status: 'paused' };
const ownWebhook = { path: '/webhooks', body: paused };
const someWebhook = (shop: TestMerchant) => firstOf(shop.others.webhook);
const somePerson = (shop: TestMerchant) => firstOf(shop.others.person);
/** Nobody gives what he does not hold. */
const ofViewer = scopesOfRole('viewer');
const allReads = ['customers.read', 'products.read', 'locations.read', 'inventory.read'] as const;

/** Some days: today is among them in every time zone. */
function lastDays(): { from: string; to: string } {
  const day = (n: number) => new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 10);
  return { from: day(-3), to: day(1) };
}

export const examples: Readonly<Record<string, Example>> = {
  'customers.create': {
    body: (_, n) => ({ name: `Ada ${n}`, email: `ada.${n}@example.com`, metadata: { n: `${n}` } }),
  },
  'customers.update': {
    id: (shop) => firstOf(shop.customers),
    body: (_, n) => ({ name: `Ada ${n}`, note: `Note ${n}` }),
  },
  'customers.upsert': {
    query: () => ({ external_id: 'customer-1' }),
    body: (_, n) => ({ name: `Ada ${n}`, email: 'ada@example.com', note: `Note ${n}` }),
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
  'products.upsert': {
    query: () => ({ external_id: 'product-1' }),
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
  'locations.upsert': {
    query: () => ({ external_id: 'location-1' }),
    body: (_, n) => ({ name: `Shop ${n}`, type: 'store' }),
  },
  'locations.list': {},
  'locations.get': { id: (shop) => firstOf(shop.locations) },
  'inventory.levels.list': { query: (shop) => ({ location_id: firstOf(shop.locations) }) },
  'inventory.movements.list': {},
  'inventory.movements.get': { id: (shop) => firstOf(shop.movements) },
  'stock.list': { query: (shop) => ({ location_id: firstOf(shop.locations) }) },
  'inventory.daily.list': {
    query: (shop) => ({ location_id: firstOf(shop.locations), ...lastDays() }),
  },
  'inventory.adjust': {
    body: (shop, n) => ({
      product_id: firstOf(shop.products),
      location_id: firstOf(shop.locations),
      target_quantity: `${1_000 + n}`,
      reason: 'stock_count',
      note: `Count ${n}`,
    }),
  },
  'inventory.transfer': {
    body: (shop, n) => ({
      to_location_id: firstOf(shop.locations),
      reason: 'receipt',
      lines: [{ product_id: firstOf(shop.products), quantity: `${n}` }],
      note: `Delivery ${n}`,
    }),
  },
  'inventory.count': {
    body: (shop, n) => ({
      location_id: firstOf(shop.locations),
      lines: [{ product_id: firstOf(shop.products), counted_quantity: `${1_000 + n}` }],
      note: `Shelf ${n}`,
    }),
  },
  'inventory.counts.list': {},
  'inventory.counts.get': { id: (shop) => firstOf(shop.others.inventory_count) },
  'inventory.transfers.list': {},
  'inventory.transfers.get': { id: (shop) => firstOf(shop.others.inventory_transfer) },
  'inventory.reserve': {
    body: (shop, n) => ({
      location_id: firstOf(shop.locations),
      lines: [{ product_id: firstOf(shop.products), quantity: '1' }],
      note: `Order ${n}`,
    }),
  },
  'inventory.release': {
    id: (shop) => shop.others.inventory_reservation?.[0] ?? '',
    once: 'inventory.reserve',
    body: (_, n) => ({ note: `Order ${n}` }),
  },
  'inventory.fulfil': {
    id: (shop) => shop.others.inventory_reservation?.[1] ?? '',
    once: 'inventory.reserve',
    body: (_, n) => ({ reason: 'sale', note: `Order ${n}` }),
  },
  'inventory.reservations.list': {},
  'inventory.reservations.get': { id: (shop) => firstOf(shop.others.inventory_reservation) },
  'webhooks.create': { body: (_, n) => ({ ...paused, description: `Webhook ${n}` }) },
  'webhooks.update': {
    id: someWebhook,
    own: ownWebhook,
    body: (_, n) => ({ description: `Webhook ${n}` }),
  },
  'webhooks.list': {},
  'webhooks.get': { id: someWebhook, reads: allReads },
  'webhooks.secret.get': { id: someWebhook, own: ownWebhook },
  'webhooks.deliveries.get': { id: someWebhook, reads: allReads },
  'webhooks.test': { id: someWebhook, own: ownWebhook, body: (_, n) => ({ note: `Try ${n}` }) },
  'webhooks.redeliver': {
    id: someWebhook,
    own: ownWebhook,
    body: ({ journal }, n) => ({ from_position: `${n % 10}`, journal }),
  },
  'people.invite': {
    body: (_, n) => ({ name: `Ada ${n}`, role: 'viewer' }),
    reads: ofViewer,
  },
  'people.update': {
    id: somePerson,
    body: (_, n) => ({ name: `Ada King ${n}` }),
    reads: ofViewer,
  },
  'people.invite_again': {
    id: somePerson,
    body: (_, n) => ({ name: `Ada Lovelace ${n}` }),
    reads: ofViewer,
  },
  'people.list': {},
  'people.get': { id: somePerson },
  'tokens.create': { body: (_, n) => ({ name: `Till ${n}`, scopes: ['access.write'] }) },
  'tokens.update': {
    id: (shop) => firstOf(shop.others.token),
    body: (_, n) => ({ name: `Till at the entrance ${n}`, expires_in_days: 60 + (n % 60) }),
  },
  'tokens.rotate': {
    id: (shop) => firstOf(shop.others.token),
    body: (_, n) => ({ overlap_hours: n % 24 }),
  },
  'tokens.list': {},
  'tokens.get': { id: (shop) => firstOf(shop.others.token) },
  'batches.submit': {
    body: (_, n) => ({
      operations: [
        {
          type: 'customers.create',
          idempotency_key: randomUUID(),
          id: null,
          external_id: null,
          body: { name: `Grace ${n}`, email: `grace.${n}@example.com` },
        },
      ],
    }),
  },
  'operations.list': {},
  'operations.get': { id: (shop) => firstOf(shop.operations) },
  'events.list': {},
  'status.get': {},
  'credential.get': {},
};
