// Not in contract.ts, as with every resource whose contract needs other rooms.

import type { Resource } from '../contract/resource.ts';

export const status = {
  name: 'status',
  description: 'What needs a person.',
  noun: 'status',
  prefix: 'sts_',
  path: '/status',
  scopes: [],
  operationTypes: [],
  tables: [],
  example: {
    text: 'The token "Till 1" ends at 2026-01-31T12:00:00.000Z.',
    name: 'Till 1',
    count: 1,
  },
} as const satisfies Resource;
