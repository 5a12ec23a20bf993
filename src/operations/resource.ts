// Not in contract.ts, because the contract of operations names the types of all resources' writes.

import type { Resource } from '../contract/resource.ts';

export const operations = {
  name: 'operations',
  description: 'What became of each write: the audit record of every Idempotency-Key.',
  noun: 'operation',
  prefix: 'op_',
  path: '/operations/{id}',
  scopes: ['operations.read'],
  operationTypes: [],
  tables: [
    { name: 'operations', updates: [] },
    // Nothing of it is changed: the right to update a column is the right to lock the row.
    { name: 'journals', updates: ['merchant_id'] },
  ],
  example: { error: null },
} as const satisfies Resource;
