// What a scope lets somebody do, in words: on the consent page, and all over the console.

import type { Scope } from '../../core/principal.ts';

export const scopeWords = {
  'customers.read': 'See customers',
  'customers.write': 'Change customers',
  'products.read': 'See products',
  'products.write': 'Change products',
  'locations.read': 'See locations',
  'locations.write': 'Change locations',
  'inventory.read': 'See stock',
  'inventory.write': 'Change stock levels',
  'operations.read': 'See requests and what became of them',
  'events.read': 'Follow what happens',
  'webhooks.read': 'See webhooks',
  'webhooks.write': 'Change webhooks',
  'access.read': 'See people and tokens',
  'access.write': 'Invite people and make tokens',
} as const satisfies Readonly<Record<Scope, string>>;
