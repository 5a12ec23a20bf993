// Not in contract.ts, because the contract of credentials names the scopes of all resources. Their
// tables are no resource's: what the service may do with them is in database/role.ts.

import type { Resource } from '../contract/resource.ts';

export const credential = {
  name: 'credential',
  description: 'What the credential of the request is and may do.',
  noun: 'credential',
  prefix: 'cred_',
  path: '/credential',
  scopes: [],
  operationTypes: [],
  tables: [],
  example: {
    application: null,
    name: 'Corner Shop',
    rate_limit: { requests_per_minute: 6000, burst: 1000 },
  },
} as const satisfies Resource;
