// Not in contract.ts, because the contract of batches names the types of all writes.

import type { Resource } from '../contract/resource.ts';

export const batches = {
  name: 'batches',
  description: 'Many writes in one request, each with its own key and its own outcome.',
  noun: 'batch',
  // A batch is no more than the operation that its key is bound to.
  prefix: 'op_',
  path: '/operations/{id}',
  scopes: [],
  operationTypes: ['batches.submit'],
  tables: [],
  example: {
    operations: [
      {
        type: 'products.update',
        idempotency_key: '0b9e3c52-6d1f-4f0e-8a57-3c2f1d9e7b64',
        id: 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa',
        if_match: 1,
        body: { name: 'Flour, 1 kg' },
      },
    ],
    status: 200,
    replayed: true,
    retry_after: 1,
    position: '42',
    journal: 'jrn_01k9x3v7c2e4r8t1m5n6p0q9sa',
    data: { id: 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa', name: 'Flour, 1 kg' },
  },
} as const satisfies Resource;
