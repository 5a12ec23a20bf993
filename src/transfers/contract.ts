// The wire shape and endpoints of transfers: quantities that move, all of them or none, whatever
// the levels are.

import Type from 'typebox';
import { collection, member, ordinaryBody, write } from '../contract/contract.ts';
import type { Resource } from '../contract/resource.ts';
import {
  ActorOut,
  defaulted,
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
import {
  inventory,
  movementEvent,
  remarksIn,
  remarksOut,
  transferReasons,
} from '../inventory/contract.ts';

export const transfers = {
  name: 'inventory',
  description: inventory.description,
  noun: 'inventory_transfer',
  prefix: 'itr_',
  path: '/inventory/transfers/{id}',
  scopes: [],
  operationTypes: ['inventory.transfer'],
  events: { types: { 'inventory.transfer': 'inventory.transferred' }, ...movementEvent },
  tables: [{ name: 'inventory_transfers', updates: [] }],
  example: {
    application_id: null,
    note: null,
    quantity: '2',
    quantity_short: '0',
    reference: 'receipt 4711',
    // Another one than where it comes from.
    to_location_id: 'loc_01k9x3v7c2e4r8t1m5n6p0q9sb',
  },
  refusalDetails: {
    insufficient_quantity: [
      {
        field: 'lines.0.quantity',
        code: 'insufficient_quantity',
        message: 'is more than the 1 that is available',
        product_id: 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa',
        available_quantity: '1',
      },
    ],
  },
} as const satisfies Resource;

const reason = oneOf(
  transferReasons,
  'Why. `transfer` between two locations; with the outside one of the others.',
);

const fromText = 'Where it comes from; null: from the outside.';
const toText = 'Where it goes to; null: to the outside.';
const elsewhere =
  ' Null also for a location that is not granted: the reason of these is `transfer`.';

const Line = Type.Object({
  product_id: id('prod_', 'The product.'),
  quantity: QuantityOut('How much should move.'),
  quantity_short: QuantityOut('How much of it was not there, and did not move; `0` as a rule.'),
  out_movement_id: nullable(id('imv_', 'The movement that took it out.')),
  in_movement_id: nullable(id('imv_', 'The movement that brought it in.')),
});

const Transfer = Type.Object(
  {
    id: id('itr_', 'Its ID.'),
    from_location_id: nullable(id('loc_', fromText + elsewhere)),
    to_location_id: nullable(id('loc_', toText + elsewhere)),
    reason,
    ...remarksOut,
    lines: Type.Array(Line, { description: 'What moved, as it was asked for.' }),
    is_short: Type.Boolean({ description: 'Whether something of it was not there.' }),
    operation_id: id('op_', 'The write that recorded it.'),
    position: Position('That of this write in the journal.'),
    actor: ActorOut('Who recorded it.'),
    recorded_at: Timestamp('When.'),
  },
  { $id: 'InventoryTransfer', description: 'What moved together. It never changes.' },
);

export const transferInventory = write({
  resource: transfers,
  name: 'inventory.transfer',
  method: 'POST',
  path: '/inventory/transfers',
  summary: 'Move quantities',
  description:
    'Relative, so nobody needs to know the level: a sale takes what it takes. All lines or none. ' +
    'What is not there is not taken, unless `shortage` says so.',
  scope: 'inventory.write',
  bodyLimits: {
    ...ordinaryBody,
    bytes: 4 * ordinaryBody.bytes,
    values: 10 + 3 * limits.transferLinesMax,
  },
  body: Type.Object({
    from_location_id: Type.Optional(
      nullable(idIn('loc_', `${fromText} It must be granted, and so must the other one.`)),
    ),
    to_location_id: Type.Optional(nullable(idIn('loc_', toText))),
    reason,
    shortage: Type.Optional(
      defaulted(
        oneOf(
          ['refuse', 'record'],
          'What to do when less is there. `record`, to the outside only: what has been sold ' +
            'already is taken as far as it is there, and the rest is kept as `quantity_short`.',
        ),
        'refuse',
      ),
    ),
    lines: Type.Array(
      Type.Object({
        product_id: idIn('prod_', 'The product; each in one line.'),
        quantity: QuantityIn('How much moves; more than 0.'),
      }),
      { minItems: 1, maxItems: limits.transferLinesMax, description: 'What moves.' },
    ),
    ...remarksIn,
  }),
  data: Transfer,
  problems: [
    'location_not_granted',
    'product_not_found',
    'product_archived',
    'inventory_not_tracked',
    'location_inactive',
    'insufficient_quantity',
  ],
});

export const listTransfers = collection({
  resource: transfers,
  name: 'inventory.transfers.list',
  path: '/inventory/transfers',
  summary: 'List transfers',
  description: 'Newest first, from and to all granted locations unless one is named.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: Type.Optional(idIn('loc_', 'Only from or to this location; it must be granted.')),
    short: Type.Optional(oneOf(['true'], 'Only those of which something was not there.')),
  }),
  data: Transfer,
  problems: ['location_not_granted'],
});

export const getTransfer = member({
  resource: transfers,
  name: 'inventory.transfers.get',
  path: '/inventory/transfers/{id}',
  summary: 'Read a transfer',
  scope: 'inventory.read',
  data: Transfer,
  etag: false,
  problems: [],
});
