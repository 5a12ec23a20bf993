// Not in contract.ts, because the contract of webhooks names the events of all resources.

import type { Resource } from '../contract/resource.ts';

export const webhooks = {
  name: 'webhooks',
  description: 'Consumers of the events that the service calls, and how far they have come.',
  noun: 'webhook',
  prefix: 'whk_',
  path: '/webhooks/{id}',
  scopes: ['webhooks.read', 'webhooks.write'],
  operationTypes: ['webhooks.create', 'webhooks.update', 'webhooks.test', 'webhooks.redeliver'],
  tables: [
    {
      name: 'webhooks',
      updates: [
        ...['url', 'types', 'location_ids', 'low_stock', 'description', 'status', 'pause_reason'],
        ...['secret', 'old_secret', 'old_secret_ends_at', 'version', 'updated_at'],
      ],
    },
    {
      name: 'webhook_progress',
      updates: [
        ...['position', 'epoch', 'lease_holder', 'lease_ends_at', 'failing_since', 'last_status'],
        ...['failures', 'attempts', 'saved_at', 'saved_on'],
      ],
    },
  ],
  example: {
    url: 'https://example.com/tallybook',
    description: 'To the shop.',
    location_ids: null,
    note: 'Is anybody there?',
    pause_reason: null,
    failing_since: null,
    last_status: 200,
    from_position: '41',
    position: '41',
    previous: null,
    tries: 1,
    milliseconds: 35,
    version: 2,
  },
} as const satisfies Resource;
