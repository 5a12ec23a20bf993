// The wire shapes and endpoints of inventory: levels (state), movements (facts) and adjustments
// (commands). A level has no ID: it is the pair of a product and a location.

import Type from 'typebox';
import { collection, member, write } from '../contract/contract.ts';
import type { Resource } from '../contract/resource.ts';
import {
  ActorOut,
  id,
  idIn,
  Moment,
  nullable,
  oneOf,
  Position,
  QuantityIn,
  QuantityOut,
  Timestamp,
  text,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';

/** What the feed shows of every write to the ledger. */
export const movementEvent = {
  data: Type.Object(
    {
      movements: Type.Array(Type.Ref('InventoryMovement'), {
        maxItems: limits.eventMovementsMax,
        description: 'The first movements. Read more by `GET /inventory/movements?operation_id=…`.',
      }),
      movement_count: Type.Integer({ minimum: 0, description: 'How many there are.' }),
      short: Type.Optional(
        Type.Array(
          Type.Object({
            location_id: id('loc_', 'Where it was taken.'),
            product_id: id('prod_', 'The product.'),
            quantity: QuantityOut('How much was to be taken.'),
            quantity_short: QuantityOut('How much of it was not there.'),
          }),
          {
            maxItems: limits.eventMovementsMax,
            description: 'The first lines of a transfer that were not there as a whole.',
          },
        ),
      ),
      low_stock: Type.Optional(
        Type.Array(
          Type.Object({
            product_id: id('prod_', 'The product.'),
            location_id: id('loc_', 'Where it runs out.'),
            available_quantity: QuantityOut('What was available after the write.'),
            low_stock_at: QuantityOut('What the product said is low.'),
          }),
          {
            maxItems: limits.countLinesMax,
            description:
              'Where the write took what is available from above `low_stock_at` to it or below. ' +
              'Absent: nowhere.',
          },
        ),
      ),
      reservation_lines: Type.Optional(
        Type.Array(
          Type.Object({
            location_id: id('loc_', 'Where it was put aside.'),
            product_id: id('prod_', 'The product.'),
            quantity: QuantityOut('How much.'),
          }),
          {
            maxItems: limits.transferLinesMax,
            description: 'What the reservation holds, or held.',
          },
        ),
      ),
    },
    { $id: 'InventoryEventData', description: 'The movements at granted locations.' },
  ),
  areMovements: true,
} as const;

export const inventory = {
  name: 'inventory',
  description:
    'Levels (how much is where), movements (how it came about), and the writes that move.',
  noun: 'inventory_movement',
  prefix: 'imv_',
  path: '/inventory/movements/{id}',
  scopes: ['inventory.read', 'inventory.write'],
  operationTypes: ['inventory.adjust'],
  events: { types: { 'inventory.adjust': 'inventory.adjusted' }, ...movementEvent },
  tables: [
    {
      name: 'inventory_levels',
      updates: ['quantity', 'sequence', 'last_movement_id', 'first_position', 'updated_at'],
    },
    { name: 'inventory_movements', updates: [] },
  ],
  example: {
    application_id: null,
    expected_quantity: '10',
    note: 'Counted twice.',
    quantity: '12.5',
    quantity_after: '12.5',
    quantity_before: '10',
    quantity_delta: '2.5',
    reference: 'count-2026-01',
    line: 1,
    movement_count: 1,
    sequence: 2,
    target_quantity: '12.5',
    version: 2,
  },
  refusalDetails: {
    inventory_no_change: [
      {
        field: 'target_quantity',
        code: 'inventory_no_change',
        message: 'equals the current quantity',
        current_quantity: '12.5',
      },
    ],
    inventory_quantity_mismatch: [
      {
        field: 'expected_quantity',
        code: 'inventory_quantity_mismatch',
        message: 'is not the current quantity, 12.5',
        current_quantity: '12.5',
      },
    ],
  },
} as const satisfies Resource;

export const adjustmentReasons = ['stock_count', 'external_adjustment', 'correction'] as const;

/** Of what comes from the outside, or leaves to it. */
export const outsideReasons = [
  ...(['sale', 'return', 'receipt', 'damage', 'loss', 'production', 'other'] as const),
] as const;

/** Of what leaves to the outside, and of what comes from there. Some may do either. */
export const leavingReasons = outsideReasons.filter((reason) => reason !== 'receipt');
export const comingReasons = outsideReasons.filter(
  (reason) => !['sale', 'damage', 'loss'].includes(reason),
);

/** Of what goes from one location to another, or comes from the outside, or leaves. */
export const transferReasons = ['transfer', ...outsideReasons] as const;

export const movementReasons = [...adjustmentReasons, ...transferReasons] as const;
const movementTypes = ['adjustment', 'transfer_in', 'transfer_out', 'count', 'fulfilment'] as const;

export type MovementReason = (typeof movementReasons)[number];
export type MovementType = (typeof movementTypes)[number];

const reasonText =
  'Why the quantity changes. `stock_count`: somebody counted what is there. ' +
  '`external_adjustment`: goods came or went, as another system knows (a sale, a delivery, ' +
  'a return). `correction`: an earlier entry was wrong, and nothing moved.';

/** What the caller says of a write to the ledger. Its movements have it, too. */
export const remarksIn = {
  note: Type.Optional(
    nullable(text('text', { max: 500 }, 'Words for whoever reads the movement later.')),
  ),
  reference: Type.Optional(
    nullable(
      text(
        'text',
        { max: 255 },
        'What it is called in your own system, such as a receipt or delivery number.',
      ),
    ),
  ),
};

/** The same in an answer. */
export const remarksOut = {
  note: nullable(Type.String({ description: 'What the caller noted.' })),
  reference: nullable(
    Type.String({ description: 'What it is called in the system of the caller.' }),
  ),
};

const productFilter = Type.Array(idIn('prod_', 'A product.'), {
  maxItems: limits.productFiltersMax,
  description: 'Only these products. Repeat the parameter for each; unknown ones give no row.',
});

const Level = Type.Object(
  {
    product_id: id('prod_', 'The product.'),
    location_id: id('loc_', 'The location.'),
    quantity: QuantityOut('The quantity on hand.'),
    reserved_quantity: nullable(
      QuantityOut('How much of it is put aside by reservations, now. Null as of a moment.'),
    ),
    available_quantity: nullable(
      QuantityOut('What is on hand and not put aside; below 0 when that is less.'),
    ),
    version: Type.Integer({ minimum: 1, description: 'The sequence of the last movement.' }),
    last_movement_id: id('imv_', 'The movement that made it so.'),
    updated_at: Timestamp('When that movement was recorded.'),
    counted_at: nullable(
      Timestamp('When its last count was recorded; null: never. Null as of a moment.'),
    ),
    counted_by: nullable(id('cred_', 'The credential that recorded that count.')),
  },
  { $id: 'InventoryLevel', description: 'How much of a product is at a location.' },
);

const movementMembers = {
  id: id('imv_', 'Within a level, the order of IDs is the order of sequences.'),
  sequence: Type.Integer({ minimum: 1, description: 'Per level, from 1, without gaps.' }),
  product_id: id('prod_', 'The product.'),
  location_id: id('loc_', 'The location.'),
  type: oneOf(movementTypes, 'What kind of movement.'),
  reason: oneOf(movementReasons, 'Why, in the words of the write that recorded it.'),
  quantity_before: QuantityOut('The quantity before.'),
  quantity_delta: QuantityOut('The change; never 0.'),
  quantity_after: QuantityOut('The quantity after.'),
  ...remarksOut,
  operation_id: id('op_', 'The write that recorded it.'),
  position: Position('That of this write in the journal.'),
  line: Type.Integer({ minimum: 1, description: 'Its place among the movements of the write.' }),
  actor: ActorOut('Who recorded it.'),
  recorded_at: Timestamp('When. Never before the movement that precedes it.'),
};

const Movement = Type.Object(movementMembers, {
  $id: 'InventoryMovement',
  description: 'A fact: immutable, and one of a chain without gaps.',
});

const Adjustment = Type.Object(
  {
    ...movementMembers,
    level: Type.Ref('InventoryLevel'),
  },
  { $id: 'InventoryAdjustment', description: 'The movement, with the level as it is now.' },
);

export const asOf = {
  as_of_position: Type.Optional(
    Position(
      'What was there after the operation at this place in the journal. Needs `journal`, unless 0.',
    ),
  ),
  as_of: Type.Optional(
    Moment(
      'What was there at this time, at least 5 seconds ago; or `now`: at the end of the journal, ' +
        'as it is when the first page is asked for.',
    ),
  ),
  journal: Type.Optional(
    idIn('jrn_', 'The journal of that position, as it came with it. Another one is refused.'),
  ),
};

const asOfText =
  'With `as_of_position` or `as_of` all pages show one moment of the journal, which ' +
  '`meta.as_of_position` and `meta.journal` name, whatever is written meanwhile. A page may then ' +
  'have fewer levels than `limit`, or none, and a cursor.';

export const asOfMeta = {
  name: 'LevelPageMeta',
  members: {
    as_of_position: Type.Optional(Position('The levels are those after this operation.')),
    journal: Type.Optional(id('jrn_', 'The journal of that position.')),
  },
};

export const listLevels = collection({
  resource: inventory,
  name: 'inventory.levels.list',
  path: '/inventory/levels',
  summary: 'List the levels at a location',
  description:
    'By product ID. A pair that never moved is not listed and counts as 0. With `low_stock` a ' +
    `page may have fewer levels than \`limit\`, or none, and a cursor. ${asOfText}`,
  scope: 'inventory.read',
  query: Type.Object({
    location_id: idIn('loc_', 'The location; it must be granted.'),
    product_id: Type.Optional(productFilter),
    updated_after: Type.Optional(
      Timestamp('Only levels that changed at or after this. Not with `as_of` or `as_of_position`.'),
    ),
    low_stock: Type.Optional(
      oneOf(
        ['true'],
        'Only levels of which no more is available than `low_stock_at` of their product, which ' +
          'is active and tracked. Not with `as_of` or `as_of_position`.',
      ),
    ),
    ...asOf,
  }),
  data: Level,
  meta: asOfMeta,
  problems: ['location_not_granted', 'missing_parameter', 'journal_mismatch'],
});

export const listMovements = collection({
  resource: inventory,
  name: 'inventory.movements.list',
  path: '/inventory/movements',
  summary: 'List movements',
  description:
    'In the order of the journal, newest first, at all granted locations unless one is named. ' +
    'With `order=asc` the answer names `meta.through_position`, the last position that was shown ' +
    'whole, and `meta.journal`: whoever asks next with these as `after_position` and `journal` ' +
    'goes on there, and misses nothing.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: Type.Optional(idIn('loc_', 'Only at this location; it must be granted.')),
    product_id: Type.Optional(productFilter),
    reason: Type.Optional(oneOf(movementReasons, 'Only with this reason.')),
    operation_id: Type.Optional(idIn('op_', 'Only of this operation.')),
    recorded_after: Type.Optional(Timestamp('Only recorded at or after this.')),
    recorded_before: Type.Optional(Timestamp('Only recorded before this.')),
    after_position: Type.Optional(Position('Only movements behind this place in the journal.')),
    journal: Type.Optional(idIn('jrn_', 'The journal of that position, as it came with it.')),
    order: Type.Optional(oneOf(['desc', 'asc'], 'Newest first (desc, the default) or oldest.')),
  }),
  data: Movement,
  meta: {
    name: 'MovementPageMeta',
    members: {
      through_position: Type.Optional(Position('With `order=asc`: go on behind it.')),
      journal: Type.Optional(id('jrn_', 'The journal of that position.')),
    },
  },
  problems: ['location_not_granted', 'missing_parameter', 'journal_mismatch'],
});

export const getMovement = member({
  resource: inventory,
  name: 'inventory.movements.get',
  path: '/inventory/movements/{id}',
  summary: 'Read a movement',
  scope: 'inventory.read',
  data: Movement,
  etag: false,
  problems: [],
});

export const listProductLevels = collection({
  resource: inventory,
  name: 'products.levels.list',
  path: '/products/{id}/levels',
  summary: 'Find where a product is',
  description: `The product's levels at the granted locations, by location ID. ${asOfText}`,
  scope: 'inventory.read',
  query: Type.Object(asOf),
  data: Level,
  meta: asOfMeta,
  problems: ['not_found', 'missing_parameter', 'journal_mismatch'],
});

export const adjustInventory = write({
  resource: inventory,
  name: 'inventory.adjust',
  method: 'POST',
  path: '/inventory/adjustments',
  summary: 'Set the quantity of a product at a location',
  description: 'The target is absolute, not a delta. A target that changes nothing is refused.',
  scope: 'inventory.write',
  body: Type.Object({
    product_id: idIn('prod_', 'The product.'),
    location_id: idIn('loc_', 'The location; it must be granted.'),
    target_quantity: QuantityIn('What the quantity shall be.'),
    reason: oneOf(adjustmentReasons, reasonText),
    expected_quantity: Type.Optional(
      nullable(QuantityIn('Refuse unless this is the current quantity.')),
    ),
    ...remarksIn,
  }),
  data: Adjustment,
  problems: [
    'location_not_granted',
    'product_not_found',
    'product_archived',
    'inventory_not_tracked',
    'location_inactive',
    'inventory_quantity_mismatch',
    'inventory_no_change',
  ],
});
