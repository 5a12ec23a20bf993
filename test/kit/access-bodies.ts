// What writes of people and tokens may say, for tests that make writes up. By hand, as in
// bodies.ts.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import { left, type Spoil, spoil } from './spoil.ts';

type ByType<T> = Readonly<Record<OperationType, T>>;

const nowhere = { all_locations: false, location_ids: [] };

/** What a member is without it. */
export const accessDefaults: ByType<JsonObject> = {
  'people.invite': nowhere,
  'people.update': {},
  'people.invite_again': {},
  'tokens.create': { ...nowhere, expires_in_days: 90 },
  'tokens.update': {},
};

export const roleNames = ['owner', 'keeper', 'cashier', 'viewer'] as const;

/** By whom scopes are held, in the order in which answers show them. */
export const allScopes = [
  ...['customers.read', 'customers.write', 'products.read', 'products.write'],
  ...['locations.read', 'locations.write', 'inventory.read', 'inventory.write'],
  ...['operations.read', 'events.read', 'webhooks.read', 'webhooks.write'],
  ...['access.read', 'access.write'],
];

const reading = allScopes.filter((scope) => /^(?!webhooks|access).*read$/.test(scope));
const selling = [...reading, 'customers.write', 'inventory.write'];

export const scopesOf: Readonly<Record<(typeof roleNames)[number], readonly string[]>> = {
  owner: allScopes,
  keeper: allScopes.filter((scope) => [...selling, 'products.write'].includes(scope)),
  cashier: allScopes.filter((scope) => selling.includes(scope)),
  viewer: reading,
};

type Pairs = Readonly<Record<string, readonly [JsonValue, JsonValue]>>;

const place = 'loc_01k9x3v7c2e4r8t1m5n6p0q9sa';
const common: Pairs = {
  name: ['Other', 'Another'],
  all_locations: [true, false],
  location_ids: [[place], []],
};
const ofPerson: Pairs = { ...common, role: ['viewer', 'cashier'] };
const ofToken: Pairs = {
  ...common,
  scopes: [['events.read'], ['events.read', 'customers.read']],
  expires_in_days: [7, 8],
};

/** Two values that a member may have, at least one of which is another one than it has. */
const pairsOf: ByType<Pairs> = {
  'people.invite': ofPerson,
  'people.update': ofPerson,
  'people.invite_again': ofPerson,
  'tokens.create': ofToken,
  'tokens.update': ofToken,
};

/** The same body with another value, as valid, in one member; undefined: not of these types. */
export function withOtherAccess(
  type: OperationType,
  body: JsonObject,
  member: string,
): JsonObject | undefined {
  const pairs = pairsOf[type];
  if (pairs === undefined) return undefined;
  if (member === 'status') {
    // It has one value: another request does without it.
    const { status: _, ...others } = body;
    return { ...others, name: 'Somebody else' };
  }
  const pair = pairs[member];
  if (pair === undefined) throw new Error(`no other value is known for ${member}`);
  const [one, two] = pair;
  return { ...body, [member]: JSON.stringify(one) === JSON.stringify(body[member]) ? two : one };
}

const spoiltPlaces = [
  spoil('all_locations', 'invalid_type', { all_locations: 'yes' }),
  spoil('location_ids', 'invalid_type', { location_ids: 'x' }),
  spoil('location_ids.0', 'too_short', { location_ids: [''] }),
  spoil('location_ids.0', 'invalid_type', { location_ids: [7] }),
  spoil('colour', 'unknown_field', { colour: 'red' }),
  spoil('id', 'read_only', { id: 'x' }),
  spoil('version', 'read_only', { version: 2 }),
];
const spoiltName = [
  spoil('name', 'too_short', { name: '' }),
  spoil('name', 'invalid_format', { name: 'bell\u0007' }),
  spoil('name', 'too_long', { name: 'x'.repeat(256) }),
  spoil('name', 'invalid_type', { name: 7 }),
];
const spoiltRole = [
  spoil('role', 'value_not_allowed', { role: 'boss' }, { allowed: roleNames }),
  spoil('invitation', 'read_only', { invitation: 'x' }),
];
const spoiltScopes = [
  spoil('scopes', 'invalid_type', { scopes: 'x' }),
  spoil('scopes', 'value_not_allowed', { scopes: [] }),
  spoil('scopes.0', 'value_not_allowed', { scopes: ['all'] }, { allowed: allScopes }),
  spoil('expires_in_days', 'value_not_allowed', { expires_in_days: 0 }),
  spoil('expires_in_days', 'too_large', { expires_in_days: 100_000 }),
  spoil('expires_in_days', 'invalid_type', { expires_in_days: '7' }),
  spoil('token', 'read_only', { token: 'x' }),
];
const spoiltStatus = [
  spoil('status', 'value_not_allowed', { status: 'active' }, { allowed: ['revoked'] }),
  spoil('status', 'required', { status: null }),
];

/** Faults of single fields. */
export const accessSpoils: ByType<readonly Spoil[]> = {
  'people.invite': [...['name', 'role'].map(left), ...spoiltName, ...spoiltRole, ...spoiltPlaces],
  'people.update': [...spoiltName, ...spoiltRole, ...spoiltPlaces, ...spoiltStatus],
  'people.invite_again': [...spoiltName, ...spoiltRole, ...spoiltPlaces],
  'tokens.create': [
    ...['name', 'scopes'].map(left),
    ...[...spoiltName, ...spoiltScopes, ...spoiltPlaces],
  ],
  'tokens.update': [...spoiltName, ...spoiltScopes, ...spoiltPlaces, ...spoiltStatus],
};
