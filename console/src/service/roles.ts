// What each role may do, as the service has it (src/access/roles.ts, compared by a test).

import type { Scope } from './me.tsx';

export type RoleName = 'owner' | 'keeper' | 'cashier' | 'viewer';

const reads: readonly Scope[] = [
  'customers.read',
  'products.read',
  'locations.read',
  'inventory.read',
  'operations.read',
  'events.read',
];

export const allScopes: readonly Scope[] = [
  'customers.read',
  'customers.write',
  'products.read',
  'products.write',
  'locations.read',
  'locations.write',
  'inventory.read',
  'inventory.write',
  'operations.read',
  'events.read',
  'webhooks.read',
  'webhooks.write',
  'access.read',
  'access.write',
];

export const scopesByRole: Readonly<Record<RoleName, readonly Scope[]>> = {
  owner: allScopes,
  keeper: [...reads, 'customers.write', 'products.write', 'inventory.write'],
  cashier: [...reads, 'customers.write', 'inventory.write'],
  viewer: reads,
};

export const roleNames = Object.keys(scopesByRole) as readonly RoleName[];
