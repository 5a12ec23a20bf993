// The wire shape and endpoints of counts: what somebody found, in many lines, all of them or none.

import Type from 'typebox';
import { collection, member, ordinaryBody, write } from '../contract/contract.ts';
import type { Resource } from '../contract/resource.ts';
import {
  ActorOut,
  id,
  idIn,
  nullable,
  oneOf,
  Position,
  QuantityIn,
  QuantityOut,
  Timestamp,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { inventory, movementEvent, remarksIn, remarksOut } from '../inventory/contract.ts';

export const counts = {
  name: 'inventory',
  description: inventory.description,
  noun: 'inventory_count',
  prefix: 'ict_',
  path: '/inventory/counts/{id}',
  scopes: [],
  operationTypes: ['inventory.count'],
  events: { types: { 'inventory.count': 'inventory.counted' }, ...movementEvent },
  tables: [
    { name: 'inventory_counts', updates: [] },
    {
      name: 'inventory_last_counts',
      updates: ['count_id', 'credential_id', 'position', 'counted_at'],
    },
  ],
  example: {
    application_id: null,
    counted_at_position: null,
    counted_quantity: '12.5',
    expected_quantity: null,
    note: 'Shelves 1 to 4.',
    outcome: 'changed',
    quantity_after: '12.5',
    quantity_before: '10',
    reference: 'count-2026-01',
  },
} as const satisfies Resource;

const Line = Type.Object({
  product_id: id('prod_', 'The product.'),
  counted_quantity: QuantityOut('What was found.'),
  expected_quantity: nullable(QuantityOut('What should have been there.')),
  counted_at_position: nullable(Position('What it was counted after; null: after all.')),
  outcome: oneOf(['changed', 'unchanged'], 'Whether the level was another one.'),
  quantity_before: QuantityOut('The level before.'),
  quantity_after: QuantityOut('The level after: what was found, and what has moved since.'),
  movement_id: nullable(id('imv_', 'The movement that changed the level.')),
});

const Count = Type.Object(
  {
    id: id('ict_', 'Its ID.'),
    location_id: id('loc_', 'Where it was.'),
    ...remarksOut,
    lines: Type.Array(Line, { description: 'What was counted, in the order of the request.' }),
    operation_id: id('op_', 'The write that recorded it.'),
    position: Position('That of this write in the journal.'),
    actor: ActorOut('Who recorded it.'),
    recorded_at: Timestamp('When.'),
  },
  { $id: 'InventoryCount', description: 'What was counted together. It never changes.' },
);

const sinceText =
  'The journal as it was when the shelf was counted: `meta.position` or `as_of_position` of an ' +
  'answer of that moment. What has moved since is added to what was counted, but for what others ' +
  'counted (reason `stock_count`). Needs `journal`, unless 0.';

export const countInventory = write({
  resource: counts,
  name: 'inventory.count',
  method: 'POST',
  path: '/inventory/counts',
  summary: 'Record a count',
  description:
    'Sets each level to what was counted. A line that says what is there is recorded as well. ' +
    'All lines or none.',
  scope: 'inventory.write',
  bodyLimits: {
    ...ordinaryBody,
    bytes: 8 * ordinaryBody.bytes,
    values: 10 + 5 * limits.countLinesMax,
  },
  body: Type.Object({
    location_id: idIn('loc_', 'The location; it must be granted.'),
    lines: Type.Array(
      Type.Object({
        product_id: idIn('prod_', 'The product; each in one line.'),
        counted_quantity: QuantityIn('What was found.'),
        expected_quantity: Type.Optional(
          nullable(
            QuantityIn(
              'Refuse unless this was there when it was counted: now, or at the position.',
            ),
          ),
        ),
        counted_at_position: Type.Optional(
          nullable(Position('The same for this line, where it was counted at another time.')),
        ),
      }),
      { minItems: 1, maxItems: limits.countLinesMax, description: 'What was counted.' },
    ),
    counted_at_position: Type.Optional(nullable(Position(sinceText))),
    journal: Type.Optional(
      nullable(idIn('jrn_', 'The journal of these positions, as it came with them.')),
    ),
    ...remarksIn,
  }),
  data: Count,
  problems: [
    'location_not_granted',
    'product_not_found',
    'product_archived',
    'inventory_not_tracked',
    'location_inactive',
    'inventory_quantity_mismatch',
  ],
});

export const listCounts = collection({
  resource: counts,
  name: 'inventory.counts.list',
  path: '/inventory/counts',
  summary: 'List counts',
  description: 'Newest first, at all granted locations unless one is named.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: Type.Optional(idIn('loc_', 'Only at this location; it must be granted.')),
  }),
  data: Count,
  problems: ['location_not_granted'],
});

export const getCount = member({
  resource: counts,
  name: 'inventory.counts.get',
  path: '/inventory/counts/{id}',
  summary: 'Read a count',
  scope: 'inventory.read',
  data: Count,
  etag: false,
  problems: [],
});
