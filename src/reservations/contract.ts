// The wire shape and endpoints of reservations: quantities that are put aside, and taken out later
// or let go.

import Type from 'typebox';
import { collection, member, ordinaryBody, write } from '../contract/contract.ts';
import type { Resource } from '../contract/resource.ts';
import {
  ActorOut,
  id,
  idIn,
  nullable,
  oneOf,
  QuantityIn,
  QuantityOut,
  Timestamp,
  text,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import {
  inventory,
  leavingReasons,
  movementEvent,
  remarksIn,
  remarksOut,
} from '../inventory/contract.ts';

const statuses = ['active', 'fulfilled', 'released', 'expired'] as const;

export type Status = (typeof statuses)[number];

export const reservations = {
  name: 'inventory',
  description: inventory.description,
  noun: 'inventory_reservation',
  prefix: 'rsv_',
  path: '/inventory/reservations/{id}',
  scopes: [],
  operationTypes: [
    ...([
      'inventory.reserve',
      'inventory.release',
      'inventory.fulfil',
      'inventory.expire',
    ] as const),
  ],
  events: {
    types: {
      'inventory.reserve': 'inventory.reserved',
      'inventory.release': 'inventory.released',
      'inventory.fulfil': 'inventory.fulfilled',
      'inventory.expire': 'inventory.expired',
    },
    ...movementEvent,
  },
  tables: [
    {
      name: 'inventory_reservations',
      updates: ['status', 'end_operation_id', 'ended_at', 'end_note', 'movement_ids'],
    },
    { name: 'inventory_reservation_lines', updates: ['is_active'] },
    { name: 'inventory_reserved', updates: ['quantity'] },
  ],
  example: {
    application_id: null,
    end_operation_id: null,
    ended_at: null,
    end_note: null,
    expires_at: '2026-01-31T12:15:00.000Z',
    movement_ids: [],
    note: null,
    quantity: '2',
    reference: 'order 4711',
  },
  refusalDetails: {
    reservation_not_active: [
      {
        field: 'id',
        code: 'reservation_not_active',
        message: 'names a reservation that is released',
        status: 'released',
      },
    ],
  },
} as const satisfies Resource;

const expiryText = 'When it ends by itself, by the clock of the database. Null: never.';

const endNote = (description: string) => text('text', { max: 500 }, description);

const Reservation = Type.Object(
  {
    id: id('rsv_', 'Its ID.'),
    location_id: id('loc_', 'Where it is put aside.'),
    status: oneOf(
      statuses,
      'Only what is active counts. One whose time has come is `expired` at once, and told as an ' +
        'event soon after.',
    ),
    expires_at: nullable(Timestamp(expiryText)),
    ...remarksOut,
    lines: Type.Array(
      Type.Object({
        product_id: id('prod_', 'The product.'),
        quantity: QuantityOut('How much of it.'),
      }),
      { description: 'What is put aside, as it was asked for.' },
    ),
    operation_id: id('op_', 'The write that made it.'),
    actor: ActorOut('Who made it.'),
    recorded_at: Timestamp('When.'),
    end_operation_id: nullable(id('op_', 'The write that ended it.')),
    ended_at: nullable(Timestamp('When that was.')),
    end_note: nullable(Type.String({ description: 'What the caller noted at its end.' })),
    movement_ids: Type.Array(id('imv_', 'A movement.'), {
      description: 'What took it out, in the order of the lines, once it is fulfilled.',
    }),
  },
  { $id: 'InventoryReservation', description: 'What is put aside together, such as for an order.' },
);

export const reserveInventory = write({
  resource: reservations,
  name: 'inventory.reserve',
  method: 'POST',
  path: '/inventory/reservations',
  summary: 'Put quantities aside',
  description:
    'All lines or none, of what is available: on hand, and not put aside yet. It moves nothing. ' +
    'Sales and transfers leave alone what is put aside; counts and adjustments do not.',
  scope: 'inventory.write',
  bodyLimits: {
    ...ordinaryBody,
    bytes: 4 * ordinaryBody.bytes,
    values: 10 + 3 * limits.transferLinesMax,
  },
  body: Type.Object({
    location_id: idIn('loc_', 'The location; it must be granted.'),
    lines: Type.Array(
      Type.Object({
        product_id: idIn('prod_', 'The product; each in one line.'),
        quantity: QuantityIn('How much of it; more than 0.'),
      }),
      { minItems: 1, maxItems: limits.transferLinesMax, description: 'What to put aside.' },
    ),
    expires_at: Type.Optional(
      nullable(Timestamp(`${expiryText} At most ${limits.reservationDaysMax} days from now.`)),
    ),
    ...remarksIn,
  }),
  data: Reservation,
  problems: [
    'location_not_granted',
    'product_not_found',
    'product_archived',
    'inventory_not_tracked',
    'location_inactive',
    'insufficient_quantity',
  ],
});

export const releaseReservation = write({
  resource: reservations,
  name: 'inventory.release',
  method: 'POST',
  path: '/inventory/reservations/{id}/release',
  summary: 'Let go of a reservation',
  description: 'What it holds is available again.',
  scope: 'inventory.write',
  body: Type.Object({ note: Type.Optional(nullable(endNote('Why.'))) }),
  data: Reservation,
  problems: ['reservation_not_active'],
});

export const fulfilReservation = write({
  resource: reservations,
  name: 'inventory.fulfil',
  method: 'POST',
  path: '/inventory/reservations/{id}/fulfil',
  summary: 'Take out what a reservation holds',
  description:
    'All of it leaves, one movement for each line, as far as it is on hand: when less is there, ' +
    'nothing moves and the reservation stays active.',
  scope: 'inventory.write',
  body: Type.Object({
    reason: oneOf(leavingReasons, 'Why it leaves.'),
    note: Type.Optional(
      nullable(endNote('Also that of the movements. Null: these have that of the reservation.')),
    ),
    reference: Type.Optional(
      nullable(text('text', { max: 255 }, 'For the movements. Null: that of the reservation.')),
    ),
  }),
  data: Reservation,
  problems: [
    'reservation_not_active',
    'product_archived',
    'inventory_not_tracked',
    'location_inactive',
    'insufficient_quantity',
  ],
});

/** Only the service's own: no route serves it. */
export const expireReservation = write({
  resource: reservations,
  name: 'inventory.expire',
  method: 'POST',
  path: '/inventory/reservations/{id}/expire',
  summary: 'Tell that a reservation has expired',
  scope: 'inventory.write',
  body: Type.Object({}),
  data: Reservation,
  problems: ['reservation_not_active'],
});

export const listReservations = collection({
  resource: reservations,
  name: 'inventory.reservations.list',
  path: '/inventory/reservations',
  summary: 'List reservations',
  description: 'Newest first, at all granted locations unless one is named.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: Type.Optional(idIn('loc_', 'Only at this location; it must be granted.')),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    reference: Type.Optional(
      text('text', { min: 1, max: 255 }, 'Only with this reference, letter for letter.'),
    ),
  }),
  data: Reservation,
  problems: ['location_not_granted'],
});

export const getReservation = member({
  resource: reservations,
  name: 'inventory.reservations.get',
  path: '/inventory/reservations/{id}',
  summary: 'Read a reservation',
  scope: 'inventory.read',
  data: Reservation,
  etag: false,
  problems: [],
});
