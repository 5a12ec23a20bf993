// What writes of many lines may say, and those of reservations, for tests that make writes up. By
// hand, as in bodies.ts.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import { left, type Spoil, spoil } from './spoil.ts';

type ByType<T> = Readonly<Record<OperationType, T>>;

/** What a member is without it. */
export const stockDefaults: ByType<JsonObject> = {
  'inventory.transfer': {
    from_location_id: null,
    to_location_id: null,
    shortage: 'refuse',
    note: null,
    reference: null,
  },
  'inventory.count': { counted_at_position: null, journal: null, note: null, reference: null },
  'inventory.reserve': { expires_at: null, note: null, reference: null },
  'inventory.release': { note: null },
  'inventory.fulfil': { note: null, reference: null },
};

/** Of what comes from the outside, and of what leaves. */
export const comingReasons = ['return', 'receipt', 'production', 'other'] as const;
export const leavingReasons = [
  ...(['sale', 'return', 'damage', 'loss', 'production', 'other'] as const),
];
const allReasons = [
  ...['transfer', 'sale', 'return', 'receipt', 'damage', 'loss', 'production', 'other'],
];

const product_id = 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa';
const place = 'loc_01k9x3v7c2e4r8t1m5n6p0q9sa';
const otherPlace = 'loc_01k9x3v7c2e4r8t1m5n6p0q9sb';
const line = { product_id, quantity: '1' };
const counted = {
  ...{ product_id, counted_quantity: '1' },
  ...{ expected_quantity: null, counted_at_position: null },
};

type Pairs = Readonly<Record<string, readonly [JsonValue, JsonValue]>>;

const remarks: Pairs = { note: ['other', null], reference: ['other', null] };
const lines: Pairs = { lines: [[{ ...line, quantity: '7' }], [{ ...line, quantity: '8' }]] };

/** Two values that a member may have, at least one of which is another one than it has. */
const others: ByType<Pairs> = {
  'inventory.transfer': { ...remarks, ...lines },
  'inventory.count': {
    ...remarks,
    location_id: [place, otherPlace],
    counted_at_position: ['0', null],
    journal: ['jrn_01k9x3v7c2e4r8t1m5n6p0q9sa', null],
    lines: [[{ ...counted, counted_quantity: '7' }], [{ ...counted, counted_quantity: '8' }]],
  },
  'inventory.reserve': {
    ...remarks,
    ...lines,
    location_id: [place, otherPlace],
    expires_at: ['2199-12-31T23:59:59.999Z', null],
  },
  'inventory.release': remarks,
  'inventory.fulfil': { ...remarks, reason: ['production', 'loss'] },
};

/** The same body with another value, as valid, in one member; undefined: not of these types. */
export function withOtherStock(
  type: OperationType,
  body: JsonObject,
  member: string,
): JsonObject | undefined {
  const whole = type === 'inventory.transfer' ? directions[member] : undefined;
  if (whole !== undefined) return { ...body, ...whole };
  const pairs = others[type];
  if (pairs === undefined) return undefined;
  const pair = pairs[member];
  if (pair === undefined) throw new Error(`no other value is known for ${member}`);
  const [one, two] = pair;
  return { ...body, [member]: JSON.stringify(one) === JSON.stringify(body[member]) ? two : one };
}

const inwards = { from_location_id: null, shortage: 'refuse', to_location_id: place };
const outwards = { to_location_id: null, from_location_id: otherPlace };

/** What says which way a transfer goes fits together: it is changed as a whole. */
const directions: Readonly<Record<string, JsonObject>> = {
  from_location_id: { ...outwards, reason: 'loss' },
  to_location_id: { ...inwards, reason: 'production' },
  reason: { ...inwards, reason: 'return' },
  shortage: { ...outwards, reason: 'damage', shortage: 'record' },
};

const spoiltLines = [
  spoil('lines', 'value_not_allowed', { lines: [] }),
  spoil('lines', 'invalid_type', { lines: line }),
  spoil('lines.0', 'invalid_type', { lines: ['1'] }),
  spoil('lines.0.quantity', 'must_be_positive', { lines: [{ ...line, quantity: '0' }] }),
  spoil('lines.0.quantity', 'must_not_be_negative', { lines: [{ ...line, quantity: '-1' }] }),
  spoil('lines.0.quantity', 'required', { lines: [{ product_id }] }),
  spoil('lines.0.product_id', 'too_short', { lines: [{ ...line, product_id: '' }] }),
  spoil('lines.0.colour', 'unknown_field', { lines: [{ ...line, colour: 'red' }] }),
  spoil('lines.1.product_id', 'repeated', { lines: [line, line] }),
];

const spoiltRemarks = [
  spoil('note', 'invalid_format', { note: 'a\nb' }),
  spoil('delta', 'unknown_field', { delta: '1' }),
];
const spoiltReference = spoil('reference', 'too_long', { reference: 'x'.repeat(256) });

const ofCounted = (members: JsonObject): JsonObject => ({ lines: [{ ...counted, ...members }] });

/** Faults of single fields. */
export const stockSpoils: ByType<readonly Spoil[]> = {
  'inventory.transfer': [
    ...['lines', 'reason'].map(left),
    ...spoiltLines,
    spoil('reason', 'value_not_allowed', { reason: 'theft' }, { allowed: allReasons }),
    spoil('shortage', 'value_not_allowed', { shortage: 'x' }, { allowed: ['refuse', 'record'] }),
    ...spoiltRemarks,
    spoil('is_short', 'read_only', { is_short: true }),
  ],
  'inventory.count': [
    ...['lines', 'location_id'].map(left),
    spoil('lines', 'value_not_allowed', { lines: [] }),
    spoil('lines.0.counted_quantity', 'invalid_format', ofCounted({ counted_quantity: '01' })),
    spoil('lines.0.counted_quantity', 'required', ofCounted({ counted_quantity: null })),
    spoil('lines.0.expected_quantity', 'invalid_type', ofCounted({ expected_quantity: 5 })),
    spoil('lines.0.counted_at_position', 'invalid_format', ofCounted({ counted_at_position: 'x' })),
    spoil('lines.0.outcome', 'unknown_field', ofCounted({ outcome: 'changed' })),
    spoil('lines.1.product_id', 'repeated', {
      ...{ counted_at_position: null, lines: [counted, counted] },
    }),
    spoil('counted_at_position', 'invalid_format', { counted_at_position: '01' }),
    spoil('journal', 'too_short', { journal: '' }),
    ...spoiltRemarks,
    spoiltReference,
    spoil('operation_id', 'read_only', { operation_id: 'x' }),
  ],
  'inventory.reserve': [
    ...['lines', 'location_id'].map(left),
    ...spoiltLines,
    spoil('expires_at', 'invalid_format', { expires_at: 'tomorrow' }),
    ...spoiltRemarks,
    spoiltReference,
    spoil('status', 'read_only', { status: 'active' }),
  ],
  'inventory.release': [...spoiltRemarks, spoil('status', 'read_only', { status: 'released' })],
  'inventory.fulfil': [
    left('reason'),
    spoil('reason', 'value_not_allowed', { reason: 'receipt' }, { allowed: leavingReasons }),
    ...spoiltRemarks,
    spoiltReference,
    spoil('lines', 'read_only', { lines: [line] }),
  ],
};
