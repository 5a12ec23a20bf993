// What the feed shows: of all that has changed something, what its caller may see, and asks for.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { Noun } from '../kit/bodies.ts';
import { noticesOf } from './reservations.ts';
import { nounOf } from './rules.ts';
import { shortOf } from './transfers.ts';
import { type Credential, type Merchant, reaches } from './world.ts';

const types: Readonly<Record<string, string>> = {
  'customers.create': 'customer.created',
  'customers.update': 'customer.updated',
  'customers.erase': 'customer.erased',
  'products.create': 'product.created',
  'products.update': 'product.updated',
  'locations.create': 'location.created',
  'locations.update': 'location.updated',
  'inventory.adjust': 'inventory.adjusted',
  'inventory.transfer': 'inventory.transferred',
  'inventory.count': 'inventory.counted',
  'inventory.reserve': 'inventory.reserved',
  'inventory.release': 'inventory.released',
  'inventory.fulfil': 'inventory.fulfilled',
  'inventory.expire': 'inventory.expired',
};

/** What a feed is narrowed to. Each that is empty lets everything through. */
export interface Wanted {
  readonly types: readonly string[];
  readonly locations: readonly string[];
  readonly products: readonly string[];
  /** Only what runs out. */
  readonly isLow: boolean;
}

const isAmong = (wanted: readonly string[], value: unknown) =>
  wanted.length === 0 || wanted.some((one) => one === value);

/** The events in reach, by position: records as they are now. */
export function eventsOf(credential: Credential, wanted: Wanted): JsonObject[] {
  const { merchant, scopes } = credential;
  return [...merchant.operations.values()].flatMap((operation) => {
    const outcome = merchant.creating.has(String(operation.id)) ? 'create' : 'update';
    const type = types[String(operation.type).replace('upsert', outcome)];
    const noun = nounOf(operation.type as OperationType);
    const isAsked = type !== undefined && isAmong(wanted.types, type);
    const isSeen = scopes.some((scope) => scope === `${noun}.read`);
    if (operation.position === null || !isAsked || !isSeen) return [];
    if (wanted.isLow && noun !== 'inventory') return [];
    const shown =
      noun === 'inventory'
        ? movedBy(credential, wanted, operation)
        : written(credential, wanted, { noun, operation });
    return shown === undefined ? [] : [{ ...headOf(merchant, operation, type), ...shown }];
  });
}

function headOf({ journal }: Merchant, operation: JsonObject, type: string): JsonObject {
  const { id, position = null, actor = null } = operation;
  return {
    id: String(id).replace('op_', 'evt_'),
    ...{ position, type, actor, operation_id: String(id) },
    occurred_at: journal.times[Number(position) - 1] ?? null,
  };
}

type Shown = Readonly<Record<'resource' | 'location_ids' | 'data', JsonValue>>;

/** Nothing says where products and customers are, and nothing of locations is about a product. */
function written(
  credential: Credential,
  { locations, products }: Wanted,
  { noun, operation }: { noun: Noun; operation: JsonObject },
): Shown | undefined {
  const { merchant } = credential;
  const { type, id } = operation.resource as { type: string; id: string };
  const isPlace = noun === 'locations';
  const isWanted = isPlace
    ? products.length === 0 && isAmong(locations, id) && reaches(credential, id)
    : locations.length === 0 && (noun === 'products' ? isAmong(products, id) : !products.length);
  if (!isWanted) return undefined;
  const data = merchant.erased.has(id) ? null : (merchant[noun].get(id) ?? {});
  return {
    resource: { type, id, version: data?.version ?? null },
    location_ids: isPlace ? [id] : [],
    data,
  };
}

/** Something of it is wanted; what is at locations that are not granted is cut out. */
function movedBy(
  credential: Credential,
  { locations, products, isLow }: Wanted,
  operation: JsonObject,
): Shown | undefined {
  const { merchant } = credential;
  const isNear = ({ location_id }: JsonObject) => reaches(credential, location_id);
  const moved = [...merchant.movements.values()].filter((one) => one.operation_id === operation.id);
  const near = moved.filter(isNear);
  const { type, id } = operation.resource as { type: string; id: string };
  const [name, notices] = noticesIn(merchant, id);
  const noticed = notices.filter(isNear);
  const low = (merchant.low.get(String(operation.id)) ?? []).filter(isNear);
  const isOfSome = (isLow ? low : [...near, ...noticed, ...low]).some(
    (one) => isAmong(locations, one.location_id) && isAmong(products, one.product_id),
  );
  const isStill = !isLow && moved.length === 0 && products.length === 0 && isNear(operation);
  if (!isOfSome && !(isStill && isAmong(locations, operation.location_id))) return undefined;
  const own = isNear(operation) ? [operation] : [];
  const places = [...near, ...noticed, ...own].map(({ location_id }) => String(location_id));
  const isMovement = type === 'inventory_movement';
  return {
    resource: { type, id: isMovement ? (near[0]?.id ?? null) : id, version: null },
    location_ids: [...new Set(places)].sort(),
    data: {
      movements: near.slice(0, 50),
      movement_count: near.length,
      ...(noticed.length === 0 ? {} : { [name]: noticed }),
      ...(low.length === 0 ? {} : { low_stock: low }),
    },
  };
}

/** What an event says beside its movements. */
function noticesIn({ transfers, reservations }: Merchant, id: string): [string, JsonObject[]] {
  const held = reservations.get(id);
  if (held !== undefined) return ['reservation_lines', noticesOf(held)];
  return ['short', shortOf(transfers.get(id) ?? { lines: [] })];
}
