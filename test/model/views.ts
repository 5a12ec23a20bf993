// What reads show: for each list the entries that its caller may see, by its filters and in its
// order; and single resources.

import type { JsonObject } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import { isInSight, managedBy, rowOf } from './access.ts';
import { eventsOf } from './feed.ts';
import { levelShown } from './ledger.ts';
import { isLow } from './low.ts';
import { reservationShown } from './reservations.ts';
import { erased, notFound, notGrantedIn, type Refusal, refusalOfCaller } from './rules.ts';
import { cut } from './transfers.ts';
import {
  type Caller,
  type Credential,
  type List,
  type Merchant,
  reaches,
  type World,
} from './world.ts';

export type View<T> =
  | { readonly refusal: Refusal; readonly value?: never }
  | { readonly refusal?: never; readonly value: T };

/** What each list asks of its caller. */
export const scopes = {
  customers: 'customers.read',
  products: 'products.read',
  locations: 'locations.read',
  levels: 'inventory.read',
  'product levels': 'inventory.read',
  movements: 'inventory.read',
  transfers: 'inventory.read',
  counts: 'inventory.read',
  reservations: 'inventory.read',
  operations: null,
  events: 'events.read',
  people: 'access.read',
  tokens: 'access.read',
} as const;

/** All entries of a list, before they are cut into pages. `moment`: of a walk that has begun. */
export function entries(
  world: World,
  caller: Caller,
  list: List,
  moment: number | undefined,
): View<JsonObject[]> {
  const { credential } = caller;
  const { merchant } = credential;
  const refusal = refusalOfCaller(caller, scopes[list.name]) ?? refusalOfMoments(list);
  if (refusal !== undefined) return { refusal };
  const location = valuesOf(list, 'location_id')[0];
  const isGranted =
    location === undefined || (merchant.locations.has(location) && reaches(credential, location));
  if (!isGranted) return { refusal: notGrantedIn(['query.location_id']) };
  if (list.name === 'product levels' && !merchant.products.has(list.id)) {
    return { refusal: notFound };
  }
  const beyond = refusalOfPlace(merchant, list);
  if (beyond !== undefined) return { refusal: beyond };
  const value = visible(world, credential, list, moment)
    .filter((row) => matches(row, list))
    .map((row) => (list.name === 'transfers' ? cut(row, (one) => reaches(credential, one)) : row))
    .sort((a, b) => (sortKey(list, a) < sortKey(list, b) ? -1 : 1));
  return { value: isDescending(list) ? value.reverse() : value };
}

/** Of the names of a moment, and of what only the present has, one at most is asked by. */
function refusalOfMoments(list: List): Refusal | undefined {
  const code = 'value_not_allowed';
  const details = ['as_of', 'as_of_position', 'updated_after', 'low_stock']
    .filter((name) => valuesOf(list, name).length > 0)
    .map((name) => ({ field: `query.${name}`, code }));
  const isOne = details.length < 2 || !details.some(({ field }) => field.includes('as_of'));
  return isOne ? undefined : { status: 400, code: 'invalid_parameter', details };
}

/** A position comes with its journal, and one that nothing has yet is not of the journal. */
function refusalOfPlace({ journal }: Merchant, list: List): Refusal | undefined {
  const named = valuesOf(list, 'journal')[0];
  const isNamed = ['as_of_position', 'after_position'].some((name) =>
    valuesOf(list, name).some((value) => value !== '0'),
  );
  if (named === undefined && isNamed) {
    const details = [{ field: 'query.journal', code: 'required' }];
    return { status: 400, code: 'missing_parameter', details };
  }
  const code = 'journal_mismatch';
  if (named !== undefined && named !== journal.id) {
    return { status: 400, code, details: [{ field: 'query.journal', code }] };
  }
  const beyond = ['as_of_position', 'after_position'].find((name) =>
    valuesOf(list, name).some((value) => Number(value) > journal.times.length),
  );
  const details = [{ field: `query.${beyond}`, code }];
  return beyond === undefined ? undefined : { status: 400, code, details };
}

/** The position that a list of levels shows, if it is as of a moment. */
export function momentOf({ journal }: Merchant, list: List): number | undefined {
  const [position] = valuesOf(list, 'as_of_position');
  const [time] = valuesOf(list, 'as_of');
  if (position !== undefined) return Number(position);
  if (time === undefined || time === 'now') return time && journal.times.length;
  return journal.times.filter((at) => at <= time).length;
}

/** A page, with what follows it. */
interface Cut {
  readonly rows: readonly JsonObject[];
  readonly next: JsonObject | undefined;
  readonly moment: number | undefined;
}

/** What a page of events, movements or levels says of itself. */
export function metaOf({ journal }: Merchant, list: List, { rows, next, moment }: Cut) {
  if (moment !== undefined) return { as_of_position: String(moment), journal: journal.id };
  if (list.name === 'events') {
    const through = next === undefined ? journal.times.length : Number(next.position) - 1;
    return { through_position: String(through), journal: journal.id };
  }
  if (list.name !== 'movements' || valuesOf(list, 'order')[0] !== 'asc') return {};
  // Of the last operation there may be more behind the page.
  const whole = rows.findLast(({ position }) => position !== next?.position);
  const through_position = whole?.position ?? valuesOf(list, 'after_position')[0] ?? '0';
  return { through_position, journal: journal.id };
}

/** Levels as they are shown: of now, or of a position. */
export const levelsOf = (merchant: Merchant, moment: number | undefined): JsonObject[] =>
  moment === undefined
    ? [...merchant.levels.values()].map((row) => levelShown(merchant, row))
    : levelsAt(merchant, moment);

/** What the movements up to a position leave. */
function levelsAt(merchant: Merchant, position: number): JsonObject[] {
  const levels = new Map<string, JsonObject>();
  for (const one of merchant.movements.values()) {
    if (Number(one.position) > position) continue;
    const { product_id = null, location_id = null, quantity_after = null } = one;
    levels.set(`${product_id} ${location_id}`, {
      ...{ product_id, location_id, quantity: quantity_after, version: one.sequence ?? null },
      ...{ last_movement_id: one.id ?? null, updated_at: one.recorded_at ?? null },
      ...{ counted_at: null, counted_by: null, reserved_quantity: null, available_quantity: null },
    });
  }
  return [...levels.values()];
}

/** What follows after an entry, whatever has happened since. */
export function following(list: List, rows: readonly JsonObject[], after: string): JsonObject[] {
  return rows.filter((row) =>
    isDescending(list) ? sortKey(list, row) < after : sortKey(list, row) > after,
  );
}

export function sortKey({ name }: List, row: JsonObject): string {
  if (name === 'levels') return String(row.product_id);
  if (name === 'events') return placeKey(row.position);
  if (name === 'movements') return `${placeKey(row.position)}.${placeKey(row.line)}`;
  return String(name === 'product levels' ? row.location_id : row.id);
}

/** Of a place in the journal. */
export const placeKey = (position: unknown) => String(position).padStart(9, '0');

const newestFirst: readonly List['name'][] = [
  ...(['operations', 'transfers', 'counts', 'reservations'] as const),
];

function isDescending(list: List): boolean {
  if (newestFirst.includes(list.name)) return true;
  return list.name === 'movements' && valuesOf(list, 'order')[0] !== 'asc';
}

const valuesOf = ({ query }: List, name: string): string[] =>
  query.filter((pair) => pair[0] === name).map((pair) => pair[1]);

function visible(
  world: World,
  credential: Credential,
  list: List,
  moment: number | undefined,
): JsonObject[] {
  const { merchant } = credential;
  const rows = (from: ReadonlyMap<string, JsonObject>) => [...from.values()];
  const levels = levelsOf(merchant, moment);
  const isNear = (row: JsonObject) => reaches(credential, row.location_id);
  switch (list.name) {
    case 'customers':
      return rows(merchant.customers).filter((row) => !merchant.erased.has(String(row.id)));
    case 'products':
      return rows(merchant.products);
    case 'locations':
      return rows(merchant.locations).filter((row) => reaches(credential, row.id));
    case 'levels':
      return levels
        .filter(isNear)
        .filter((row) => valuesOf(list, 'low_stock').length === 0 || isLow(merchant, row));
    case 'product levels':
      return levels.filter((row) => row.product_id === list.id && isNear(row));
    case 'movements':
      return rows(merchant.movements).filter(isNear);
    case 'transfers':
      return rows(merchant.transfers).filter((row) => isTransferSeen(credential, row));
    case 'counts':
      return rows(merchant.counts).filter(isNear);
    case 'reservations':
      return rows(merchant.reservations).filter(isNear).map(reservationShown);
    case 'operations': {
      const seen = rows(merchant.operations).filter((row) => isOperationSeen(credential, row));
      if (list.key === undefined) return seen;
      const [holder = credential.id] = valuesOf(list, 'credential_id');
      return seen.filter((row) => {
        const name = `${holder} ${row.type} ${list.key}`;
        return world.bound.get(name)?.operation === row.id;
      });
    }
    case 'people':
    case 'tokens':
      return [...merchant[list.name].values()]
        .filter((one) => isInSight(credential, one))
        .map(rowOf);
    case 'events':
      return eventsOf(credential, {
        types: valuesOf(list, 'type'),
        locations: valuesOf(list, 'location_id'),
        products: valuesOf(list, 'product_id'),
        isLow: valuesOf(list, 'low_stock').length > 0,
      });
  }
}

/** From or to a location that is granted. */
function isTransferSeen(credential: Credential, row: JsonObject): boolean {
  const sides = [row.from_location_id, row.to_location_id];
  return sides.some((side) => side !== null && reaches(credential, side));
}

/** One's own; with the scope others', as far as one may read what they wrote, and where. */
function isOperationSeen({ id, scopes: held, ...credential }: Credential, row: JsonObject) {
  if (row.credential_id === id) return true;
  const isAccess = managedBy(row.type as OperationType) !== undefined;
  const reading = isAccess ? 'access.read' : `${String(row.type).split('.')[0]}.read`;
  const resource = row.resource as { id: string } | null;
  const isMade = row.type === 'locations.create' || row.type === 'locations.upsert';
  // Where a refused upsert would have been, nobody says: only who is granted all may see it.
  const nowhere = row.type === 'locations.upsert' ? '' : undefined;
  const place = isMade ? (resource?.id ?? nowhere) : row.location_id;
  return (
    held.includes('operations.read') &&
    held.some((scope) => scope === reading) &&
    [place, credential.merchant.otherPlaces.get(String(row.id))].every(
      (one) =>
        one === null || one === undefined || reaches({ id, scopes: held, ...credential }, one),
    )
  );
}

type Filter = (row: JsonObject, value: string) => boolean;

/** A filter that is not here asks for a member of its own name. */
const filters: Readonly<Record<string, Filter>> = {
  order: () => true,
  short: (row) => row.is_short === true,
  journal: () => true,
  low_stock: () => true,
  as_of: () => true,
  as_of_position: () => true,
  after_position: (row, value) => Number(row.position) > Number(value),
  email: (row, value) => mailbox(String(row.email)) === mailbox(value),
  updated_after: (row, value) => String(row.updated_at) >= value,
  recorded_after: (row, value) => String(row.recorded_at) >= value,
  recorded_before: (row, value) => String(row.recorded_at) < value,
  q: hasWords,
};

/** Whether a record is found by words. */
export function hasWords(row: JsonObject, value: string): boolean {
  const found = words(`${row.name} ${row.email ?? row.sku ?? ''} ${row.barcode ?? ''}`);
  const asked = words(value);
  const hasAll = asked.every((beginning) => found.some((one) => one.startsWith(beginning)));
  return asked.length > 0 && hasAll;
}

function filterOf(list: List, name: string): Filter {
  if (list.name === 'transfers' && name === 'location_id') {
    return (row, value) => row.from_location_id === value || row.to_location_id === value;
  }
  return filters[name] ?? ((row, value) => row[name] === value);
}

function matches(row: JsonObject, list: List): boolean {
  return list.query.every(([name]) => {
    // The others say which movements, which is not a member of the event.
    if (list.name === 'events' && name !== 'after_position') return true;
    const filter: Filter = filterOf(list, name);
    return valuesOf(list, name).some((value) => filter(row, value));
  });
}

function mailbox(address: string): string {
  const [local = '', domain = ''] = address.split('@');
  return `${local}@${domain.toLowerCase()}`;
}

const words = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

export type Member =
  | 'customers'
  | 'products'
  | 'locations'
  | 'movements'
  | 'transfers'
  | 'counts'
  | 'reservations'
  | 'operations'
  | 'people'
  | 'tokens';

/** One resource by its ID. */
export function member(caller: Caller, name: Member, id: string): View<JsonObject> {
  const { credential } = caller;
  const refusal = refusalOfCaller(caller, scopes[name]);
  if (refusal !== undefined) return { refusal };
  const { merchant } = credential;
  if (name === 'people' || name === 'tokens') {
    const one = merchant[name].get(id);
    const isInReach = one !== undefined && isInSight(credential, one);
    return isInReach ? { value: rowOf(one) } : { refusal: notFound };
  }
  const row = merchant[name].get(id);
  const isSeen =
    row !== undefined &&
    (name !== 'locations' || reaches(credential, id)) &&
    (!placed.includes(name) || reaches(credential, row.location_id)) &&
    (name !== 'transfers' || isTransferSeen(credential, row)) &&
    (name !== 'operations' || isOperationSeen(credential, row));
  if (!isSeen) return { refusal: notFound };
  if (name === 'customers' && merchant.erased.has(id)) return { refusal: erased };
  if (name === 'reservations') return { value: reservationShown(row) };
  const isCut = name === 'transfers';
  return { value: isCut ? cut(row, (location) => reaches(credential, location)) : row };
}

/** At a location. */
const placed: readonly Member[] = ['movements', 'counts', 'reservations'];
