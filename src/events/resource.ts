// Not in contract.ts, because the contract of events names the events of all resources.

import type { Resource } from '../contract/resource.ts';

export const events = {
  name: 'events',
  description: 'What happened, in the order in which it was committed.',
  noun: 'event',
  prefix: 'evt_',
  path: '/events',
  scopes: ['events.read'],
  operationTypes: [],
  tables: [],
  example: { application_id: null, version: 1, location_ids: [], position: '42' },
} as const satisfies Resource;
