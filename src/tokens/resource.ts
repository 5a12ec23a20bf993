// Not in contract.ts, because the contract of tokens names the scopes of all resources. Tokens are
// rows of credentials: what the service may do with those is in database/role.ts.

import type { Resource } from '../contract/resource.ts';

export const tokens = {
  name: 'tokens',
  description: 'What programs and applications call with: what it may do, where, and until when.',
  noun: 'token',
  prefix: 'cred_',
  path: '/tokens/{id}',
  scopes: [],
  readBy: 'access.read',
  operationTypes: ['tokens.create', 'tokens.update', 'tokens.rotate'],
  tables: [],
  example: {
    name: 'Till 1',
    all_locations: false,
    application: null,
    approval_id: null,
    given_by: null,
    last_four: '9sa1',
    token: null,
    expires_in_days: 90,
    overlap_hours: 24,
    version: 1,
  },
} as const satisfies Resource;
