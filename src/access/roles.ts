// What people may do: a role is a preset of scopes. Its words are those of the database.

import type { Scope } from '../core/principal.ts';
import { scopes } from '../resources.ts';

export const roles = ['owner', 'keeper', 'cashier', 'viewer'] as const;

export type Role = (typeof roles)[number];

const reads: readonly Scope[] = [
  'customers.read',
  'products.read',
  'locations.read',
  'inventory.read',
  'operations.read',
  'events.read',
];

const scopesByRole: Readonly<Record<Role, readonly Scope[]>> = {
  owner: scopes,
  keeper: [...reads, 'customers.write', 'products.write', 'inventory.write'],
  cashier: [...reads, 'customers.write', 'inventory.write'],
  viewer: reads,
};

/** In the order of all scopes. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return scopes.filter((scope) => scopesByRole[role].includes(scope));
}
