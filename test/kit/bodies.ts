// What writes may say, for tests that make writes up: complete bodies and patches, what a member is
// when it is left out, for each member another value, and values that its field refuses. Written by
// hand: nothing here is computed from a contract.

import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import { accessDefaults, accessSpoils, withOtherAccess } from './access-bodies.ts';
import { left, type Spoil, spoil } from './spoil.ts';
import { stockDefaults, stockSpoils, withOtherStock } from './stock-bodies.ts';

/** What has rows that are created and changed. */
export type Noun = 'customers' | 'products' | 'locations';

/** What a member is on a create without it. */
export const defaults: Readonly<Record<Noun | 'inventory', JsonObject>> = {
  customers: { phone: null, external_id: null, note: null, metadata: {} },
  products: {
    description: null,
    sku: null,
    barcode: null,
    inventory_tracked: true,
    unit: { code: 'each', precision: 0 },
    price: null,
    low_stock_at: null,
    external_id: null,
    metadata: {},
  },
  locations: { code: null, type: 'other', timezone: 'UTC', external_id: null, metadata: {} },
  inventory: { expected_quantity: null, note: null, reference: null },
};

/** What a member of such a write is without it. */
export function defaultsOf(type: OperationType): JsonObject {
  return (
    stockDefaults[type] ??
    accessDefaults[type] ??
    defaults[type.split('.')[0] as Noun | 'inventory']
  );
}

export const reasons = ['stock_count', 'external_adjustment', 'correction'] as const;
export const references = ['order 1', 'order 2'];
/** Words that are found in the names, and some that are not. */
export const searched = ['ada', 'LOVE', 'zoe', 'flour 4', '100', '名', 'exa', 'nothing', '👍'];
export const emails = ['ada@example.com', 'ada@EXAMPLE.com', 'zoë.z@bücher.example'];

const few = (letter: string) => [1, 2].map((n) => `${letter}-${n}`);
export const externalIds = few('E');
export const skus = few('S');
export const codes = few('C');
export const barcodes = ['400638133393', '1'];

const names = fc.constantFrom(
  ...['Ada Lovelace', 'Zoë', 'Flour 405', 'Red/L AB-100', '名前 x', 'e\u0301', '😀 mug'],
  `O'Brien "q" \\ <b> ${'\u2028'}`,
);
const orNull = (values: readonly JsonValue[]) => fc.constantFrom<JsonValue>(null, ...values);
const metadata = fc.constantFrom<JsonValue>(
  {},
  { a: '1' },
  { a: '1', 'é"': '' },
  { constructor: 'x' },
);
/** Any characters but control characters, which are refused. */
const notes = fc.oneof(
  orNull(['Note', ' n\u0303 ', '']),
  fc.string({ unit: 'binary', maxLength: 8 }).filter((text) => !/\p{Cc}/u.test(text)),
);

const prices = orNull([
  { amount: '1.20', currency: 'EUR' },
  { amount: '0.00', currency: 'EUR' },
  { amount: '5', currency: 'JPY' },
]);
const units = fc.constantFrom<JsonValue>(
  { code: 'each', precision: 0 },
  { code: 'kg', precision: 3 },
  { code: 'g', precision: 5 },
);
const tracked = fc.constantFrom(true, true, true, false);

const members: Readonly<Record<Noun, Readonly<Record<string, fc.Arbitrary<JsonValue>>>>> = {
  customers: {
    name: names,
    email: fc.constantFrom(...emails),
    phone: orNull(['+4930123456']),
    external_id: orNull([null, ...externalIds]),
    note: notes,
    metadata,
  },
  products: {
    name: names,
    description: notes,
    sku: orNull([null, ...skus]),
    barcode: orNull(barcodes),
    inventory_tracked: tracked,
    unit: units,
    price: prices,
    low_stock_at: orNull(['0', '2', '2.5', '5']),
    external_id: orNull([null, ...externalIds]),
    metadata,
  },
  locations: {
    name: names,
    code: orNull([null, ...codes]),
    type: fc.constantFrom('other', 'store', 'warehouse'),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
    external_id: orNull([null, ...externalIds]),
    metadata,
  },
};

const statuses: Readonly<Record<Noun, readonly [string, string]>> = {
  customers: ['active', 'archived'],
  products: ['active', 'archived'],
  locations: ['active', 'inactive'],
};

/** The body of a create, with every member. */
export const anyBody = (noun: Noun): fc.Arbitrary<JsonObject> =>
  fc.record(members[noun], { noNullPrototype: true });

/** The body of a PATCH: some members, null where it clears one. */
export const anyPatch = (noun: Noun): fc.Arbitrary<JsonObject> =>
  fc.record(
    {
      ...Object.fromEntries(
        Object.entries(members[noun]).map(([name, value]) => [
          name,
          name in defaults[noun] ? fc.option(value, { nil: null, freq: 4 }) : value,
        ]),
      ),
      metadata: fc.constantFrom<JsonValue>(null, {}, { a: '2' }, { a: null }, { b: 'x', a: null }),
      status: fc.constantFrom(...statuses[noun], statuses[noun][0]),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

/** Two values that a member may have, at least one of which is another one than it has. */
const others: Readonly<Record<string, readonly [JsonValue, JsonValue]>> = {
  name: ['Other', 'Another'],
  email: ['other@example.com', 'another@example.com'],
  phone: ['+49301', '+49302'],
  external_id: ['other', 'another'],
  note: ['other', null],
  metadata: [{ z: '9' }, { z: '9', y: '8' }],
  description: ['other', null],
  sku: ['other', 'another'],
  barcode: ['other', null],
  inventory_tracked: [false, true],
  unit: [
    { code: 'each', precision: 2 },
    { code: 'box', precision: 2 },
  ],
  price: [{ amount: '9.99', currency: 'EUR' }, null],
  low_stock_at: ['1', '3'],
  code: ['other', 'another'],
  type: ['store', 'warehouse'],
  timezone: ['Asia/Tokyo', 'UTC'],
  target_quantity: ['41', '42'],
  expected_quantity: ['0.5', null],
  reason: ['correction', 'stock_count'],
  reference: ['other', null],
  product_id: ['prod_01k9x3v7c2e4r8t1m5n6p0q9sa', 'prod_01k9x3v7c2e4r8t1m5n6p0q9sb'],
  location_id: ['loc_01k9x3v7c2e4r8t1m5n6p0q9sa', 'loc_01k9x3v7c2e4r8t1m5n6p0q9sb'],
};

/** The same body with another value, as valid, in one member. */
export function withOther(type: OperationType, body: JsonObject, member: string): JsonObject {
  const whole = withOtherStock(type, body, member) ?? withOtherAccess(type, body, member);
  if (whole !== undefined) return whole;
  const noun = type.split('.')[0] as Noun;
  const pair = member === 'status' ? statuses[noun] : others[member];
  if (pair === undefined) throw new Error(`no other value is known for ${member}`);
  const [one, two] = pair;
  return { ...body, [member]: JSON.stringify(one) === JSON.stringify(body[member]) ? two : one };
}

const long = (length: number) => 'x'.repeat(length + 1);

const spoiltName = [
  spoil('name', 'required', { name: null }),
  spoil('name', 'invalid_type', { name: 7 }),
  spoil('name', 'too_short', { name: '' }),
  spoil('name', 'invalid_format', { name: ' \u00a0' }),
  spoil('name', 'invalid_format', { name: 'bell\u0007' }),
  spoil('name', 'too_long', { name: long(255) }),
  spoil('metadata.a', 'invalid_type', { metadata: { a: 1 } }),
  spoil('external_id', 'too_long', { external_id: long(255) }),
  spoil('colour', 'unknown_field', { colour: 'red' }),
  spoil('id', 'read_only', { id: 'x' }),
  spoil('version', 'read_only', { version: 2 }),
];
const spoiltStatus = (noun: Noun) => [
  spoil('status', 'value_not_allowed', { status: 'gone' }, { allowed: statuses[noun] }),
  spoil('status', 'required', { status: null }),
];
const spoiltCustomer = [
  ...spoiltName,
  spoil('email', 'invalid_email', { email: 'ada' }),
  spoil('email', 'required', { email: null }),
  spoil('phone', 'invalid_format', { phone: '030' }),
  spoil('note', 'invalid_type', { note: 5 }),
];
const spoiltProduct = [
  ...spoiltName,
  spoil('sku', 'too_short', { sku: '' }),
  spoil('inventory_tracked', 'invalid_type', { inventory_tracked: 'yes' }),
  spoil('unit.code', 'invalid_format', { unit: { code: 'KG', precision: 0 } }),
  spoil('unit.precision', 'too_large', { unit: { code: 'kg', precision: 6 } }),
  spoil('unit.precision', 'required', { unit: { code: 'kg' } }),
  spoil('price.amount', 'invalid_format', { price: { amount: '1.2', currency: 'EUR' } }),
  spoil('low_stock_at', 'invalid_type', { low_stock_at: 5 }),
  spoil('low_stock_at', 'must_not_be_negative', { low_stock_at: '-1' }),
  spoil('price.currency', 'unknown_value', { price: { amount: '1.20', currency: 'ABC' } }),
];
const types = { allowed: ['other', 'store', 'warehouse'] };
const spoiltLocation = [
  ...spoiltName,
  spoil('code', 'too_short', { code: '' }),
  spoil('type', 'value_not_allowed', { type: 'shop' }, types),
  spoil('timezone', 'unknown_value', { timezone: 'Mars/Base' }),
];

/** Faults of single fields, by what is written. */
const spoils: Readonly<Record<OperationType, readonly Spoil[]>> = {
  ...stockSpoils,
  ...accessSpoils,
  'customers.create': [...spoiltCustomer, left('name'), left('email')],
  'customers.update': [...spoiltCustomer, ...spoiltStatus('customers')],
  'customers.upsert': [...spoiltCustomer, ...spoiltStatus('customers')],
  'products.create': [...spoiltProduct, left('name')],
  'products.update': [...spoiltProduct, ...spoiltStatus('products')],
  'products.upsert': [...spoiltProduct, ...spoiltStatus('products')],
  'locations.create': [...spoiltLocation, left('name')],
  'locations.update': [...spoiltLocation, ...spoiltStatus('locations')],
  'locations.upsert': [...spoiltLocation, ...spoiltStatus('locations')],
  'inventory.adjust': [
    ...['target_quantity', 'reason', 'product_id', 'location_id'].map(left),
    spoil('target_quantity', 'invalid_format', { target_quantity: '1e5' }),
    spoil('target_quantity', 'invalid_format', { target_quantity: '05' }),
    spoil('target_quantity', 'invalid_type', { target_quantity: 5 }),
    spoil('target_quantity', 'must_not_be_negative', { target_quantity: '-0' }),
    spoil('target_quantity', 'too_large', { target_quantity: '1234567890123' }),
    spoil('target_quantity', 'too_many_decimal_places', { target_quantity: '0.000001' }),
    spoil('expected_quantity', 'invalid_format', { expected_quantity: '' }),
    spoil('reason', 'value_not_allowed', { reason: 'theft' }, { allowed: reasons }),
    spoil('reason', 'required', { reason: null }),
    spoil('product_id', 'too_short', { product_id: '' }),
    spoil('product_id', 'too_long', { product_id: long(64) }),
    spoil('location_id', 'too_short', { location_id: '' }),
    spoil('location_id', 'too_long', { location_id: long(64) }),
    spoil('location_id', 'invalid_type', { location_id: 7 }),
    spoil('note', 'invalid_format', { note: 'a\nb' }),
    spoil('reference', 'too_long', { reference: long(255) }),
    spoil('quantity_after', 'read_only', { quantity_after: '1' }),
    spoil('delta', 'unknown_field', { delta: '1' }),
  ],
};

/** The writes whose bodies are known here. */
export const writtenTypes = Object.keys(spoils) as OperationType[];

export const spoilsOf = (type: OperationType): readonly Spoil[] => spoils[type] ?? [];
