// Not in contract.ts, because roles are presets of the scopes of all resources. People are rows of
// credentials: what the service may do with those is in database/role.ts.

import type { Resource } from '../contract/resource.ts';

export const people = {
  name: 'people',
  description: 'Who works at the merchant: what they may do, and where.',
  noun: 'person',
  prefix: 'cred_',
  path: '/people/{id}',
  scopes: ['access.read', 'access.write'],
  readBy: 'access.read',
  operationTypes: ['people.invite', 'people.update', 'people.invite_again'],
  tables: [],
  example: {
    name: 'Ada Lovelace',
    all_locations: false,
    invitation: null,
    invitation_expires_at: null,
    version: 2,
  },
} as const satisfies Resource;
