// The wire shapes and endpoints of inventory: levels (state), movements (facts) and adjustments
// (commands). A level has no ID: it is the pair of a product and a location.

import Type from 'typebox';
import { credentialKinds } from '../access/contract.ts';
import { collection, member, write } from '../core/contract.ts';
import { limits } from '../core/limits.ts';
import {
  id,
  idIn,
  nullable,
  oneOf,
  QuantityIn,
  QuantityOut,
  Timestamp,
  text,
} from '../core/schema.ts';

const reasons = ['stock_count', 'external_adjustment', 'correction'] as const;

const productFilter = Type.Array(idIn('product', 'A product.'), {
  maxItems: limits.productFiltersMax,
  description: 'Only these products. Repeat the parameter for each; unknown ones give no row.',
});

const Level = Type.Object(
  {
    product_id: id('product', 'The product.'),
    location_id: id('location', 'The location.'),
    quantity: QuantityOut('The quantity on hand.'),
    version: Type.Integer({ minimum: 1, description: 'The sequence of the last movement.' }),
    last_movement_id: id('movement', 'The movement that made it so.'),
    updated_at: Timestamp('When that movement was recorded.'),
  },
  { $id: 'InventoryLevel', description: 'How much of a product is at a location.' },
);

const movementMembers = {
  id: id('movement', 'Within a level, the order of IDs is the order of sequences.'),
  sequence: Type.Integer({ minimum: 1, description: 'Per level, from 1, without gaps.' }),
  product_id: id('product', 'The product.'),
  location_id: id('location', 'The location.'),
  type: oneOf(['adjustment'], 'What kind of movement.'),
  reason: oneOf(reasons, 'Why.'),
  quantity_before: QuantityOut('The quantity before.'),
  quantity_delta: QuantityOut('The change; never 0.'),
  quantity_after: QuantityOut('The quantity after.'),
  note: nullable(Type.String({ description: 'What the caller noted.' })),
  reference: nullable(Type.String({ description: "The caller's own reference." })),
  operation_id: id('operation', 'The write that recorded it.'),
  actor: Type.Object(
    {
      credential_id: id('credential', 'The credential.'),
      kind: oneOf(credentialKinds, 'Its kind.'),
      application_id: nullable(id('application', 'The OAuth application.')),
    },
    { description: 'Who recorded it.' },
  ),
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

export const listLevels = collection({
  name: 'inventory.levels.list',
  path: '/inventory/levels',
  summary: 'List the levels at a location',
  description: 'By product ID. A pair that never moved is not listed and counts as 0.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: idIn('location', 'The location; it must be granted.'),
    product_id: Type.Optional(productFilter),
    updated_after: Type.Optional(Timestamp('Only levels that changed at or after this.')),
  }),
  data: Level,
  problems: ['location_not_granted'],
});

export const listMovements = collection({
  name: 'inventory.movements.list',
  path: '/inventory/movements',
  summary: 'List movements',
  description: 'Newest first, at all granted locations unless one is named.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: Type.Optional(idIn('location', 'Only at this location; it must be granted.')),
    product_id: Type.Optional(productFilter),
    reason: Type.Optional(oneOf(reasons, 'Only with this reason.')),
    operation_id: Type.Optional(idIn('operation', 'Only of this operation.')),
    recorded_after: Type.Optional(Timestamp('Only recorded at or after this.')),
    recorded_before: Type.Optional(Timestamp('Only recorded before this.')),
    order: Type.Optional(oneOf(['desc', 'asc'], 'Newest first (desc, the default) or oldest.')),
  }),
  data: Movement,
  problems: ['location_not_granted'],
});

export const getMovement = member({
  name: 'inventory.movements.get',
  path: '/inventory/movements/{id}',
  summary: 'Read a movement',
  scope: 'inventory.read',
  data: Movement,
  etag: false,
  problems: [],
});

export const listProductLevels = collection({
  name: 'products.levels.list',
  path: '/products/{id}/levels',
  summary: 'Find where a product is',
  description: "The product's levels at the granted locations, by location ID.",
  scope: 'inventory.read',
  query: Type.Object({}),
  data: Level,
  problems: ['not_found'],
});

export const adjustInventory = write({
  name: 'inventory.adjust',
  method: 'POST',
  path: '/inventory/adjustments',
  summary: 'Set the quantity of a product at a location',
  description: 'The target is absolute, not a delta. A target that changes nothing is refused.',
  scope: 'inventory.write',
  body: Type.Object({
    product_id: idIn('product', 'The product.'),
    location_id: idIn('location', 'The location; it must be granted.'),
    target_quantity: QuantityIn('What the quantity shall be.'),
    reason: oneOf(reasons, 'Why.'),
    expected_quantity: Type.Optional(
      nullable(QuantityIn('Refuse unless this is the current quantity.')),
    ),
    note: Type.Optional(nullable(text('text', { max: 500 }, 'A note.'))),
    reference: Type.Optional(nullable(text('text', { max: 255 }, 'Your own reference.'))),
  }),
  data: Adjustment,
  memberPath: '/inventory/movements/{id}',
  resourceType: 'inventory_movement',
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
