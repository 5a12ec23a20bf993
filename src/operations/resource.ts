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
  tables: [{ name: 'operations', updates: [] }],
  example: { error: null },
} as const satisfies Resource;
