// What the feed shows: of all that has changed something, what its caller may see, and asks for.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { Noun } from '../kit/bodies.ts';
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
};

/** What a feed is narrowed to. Each that is empty lets everything through. */
export interface Wanted {
  readonly types: readonly string[];
  readonly locations: readonly string[];
  readonly products: readonly string[];
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

/** At least one movement is wanted; those at locations that are not granted are cut out. */
function movedBy(
  credential: Credential,
  { locations, products }: Wanted,
  operation: JsonObject,
): Shown | undefined {
  const near = [...credential.merchant.movements.values()].filter(
    (one) => one.operation_id === operation.id && reaches(credential, one.location_id),
  );
  const { type, id } = operation.resource as { type: string; id: string };
  const transfer = credential.merchant.transfers.get(id);
  const short = (transfer === undefined ? [] : shortOf(transfer)).filter((one) =>
    reaches(credential, one.location_id),
  );
  const isAsked = [...near, ...short].some(
    (one) => isAmong(locations, one.location_id) && isAmong(products, one.product_id),
  );
  if (!isAsked) return undefined;
  const places = new Set([...near, ...short].map(({ location_id }) => String(location_id)));
  return {
    resource: { type, id: transfer === undefined ? (near[0]?.id ?? null) : id, version: null },
    location_ids: [...places].sort(),
    data: {
      movements: near.slice(0, 50),
      movement_count: near.length,
      ...(short.length === 0 ? {} : { short }),
    },
  };
}
