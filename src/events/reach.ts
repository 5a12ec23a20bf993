// Which events a caller may see, and asks for: by the scopes that read their resources, by granted
// locations, and by the filters of the request. Said twice: as the parameters of the statement that
// reads a page, which decides, and as a question about one operation that was just committed, so
// that whoever waits reads no page in vain.

import type { QueryOf } from '../contract/contract.ts';
import type { Happening, ListCall } from '../contract/endpoint.ts';
import {
  type EventKind,
  type EventType,
  eventKindsOf,
  type OperationType,
  type Resource,
} from '../contract/resource.ts';
import type { Principal } from '../core/principal.ts';
import { resources } from '../resources.ts';
import type { listEvents } from './contract.ts';
import type { Reach } from './store.ts';

export type FeedCall = ListCall<QueryOf<typeof listEvents>>;

interface Kind extends EventKind {
  readonly resource: Resource;
}

const kinds: readonly Kind[] = resources.flatMap((resource) =>
  eventKindsOf(resource).map((kind) => ({ ...kind, resource })),
);

const byOutcome = [true, false].map((created) => {
  const possible = kinds.filter((kind) => (kind.created ?? created) === created);
  return [created, new Map(possible.map((kind) => [kind.operation, kind]))] as const;
});
const byOperation = new Map(byOutcome);

/** What an operation of this type is in the feed, by whether it created its resource. */
export function kindOf({ type, created }: { type: OperationType; created: boolean }): Kind {
  const kind = byOperation.get(created)?.get(type);
  if (kind === undefined) throw new Error(`${type} is no event`);
  return kind;
}

const isPlace = ({ noun }: Resource) => noun === 'location';
const isProduct = ({ noun }: Resource) => noun === 'product';

/** What is asked for of what a principal may see. */
interface Asked {
  /** Undefined: all. */
  readonly types: readonly EventType[] | undefined;
  /** Granted ones; undefined: all that are. */
  readonly locations: readonly string[] | undefined;
  /** Undefined: all. */
  readonly products: readonly string[] | undefined;
  /** Only what runs out. */
  readonly lowStock: boolean;
}

export function reachOf({ principal, query, location }: FeedCall): Reach {
  return reachFor(principal, {
    types: query.type,
    locations: location === undefined ? undefined : [location],
    products: query.product_id,
    lowStock: query.low_stock === 'true',
  });
}

/** What a webhook is sent, as its credential may see now. A location it lost is passed over. */
export function reachOfWebhook(
  principal: Principal,
  {
    types,
    location_ids: named,
    low_stock: lowStock,
  }: {
    readonly types: readonly EventType[] | null;
    readonly location_ids: readonly string[] | null;
    readonly low_stock: boolean;
  },
): Reach {
  const { locations } = principal;
  const isGranted = (id: string) => locations === 'all' || locations.some((one) => one === id);
  return reachFor(principal, {
    types: types ?? undefined,
    locations: named?.filter(isGranted),
    products: undefined,
    lowStock,
  });
}

function reachFor({ scopes, locations }: Principal, { types, ...asked }: Asked): Reach {
  const wanted = kinds.filter(
    ({ resource, event }) =>
      scopes.has(`${resource.name}.read`) && (types === undefined || types.includes(event)),
  );
  const typesOf = (isWanted: (resource: Resource) => boolean) => [
    ...new Set(
      wanted.filter(({ resource }) => isWanted(resource)).map(({ operation }) => operation),
    ),
  ];
  const unwanted = kinds.filter((kind) => !wanted.includes(kind));
  const exceptOf = (outcome: boolean) =>
    unwanted.filter(({ created }) => created === outcome).map(({ operation }) => operation);
  const areMovements = ({ events }: Resource) => events?.areMovements === true;
  const isRecord = (resource: Resource) => !areMovements(resource) && !isPlace(resource);
  const isOfProducts = asked.products !== undefined;
  const granted = locations === 'all' ? null : locations;
  const { lowStock } = asked;
  const isNowhere = lowStock || asked.locations !== undefined;
  return {
    elsewhere: isNowhere ? [] : typesOf(isOfProducts ? isProduct : isRecord),
    ofLocations: lowStock || isOfProducts ? [] : typesOf(isPlace),
    ofMovements: typesOf(areMovements),
    except: { created: exceptOf(true), changed: exceptOf(false) },
    locations: asked.locations ?? granted,
    products: asked.products ?? null,
    lowStock,
    granted,
  };
}

/** Made once for each caller, because many who wait are asked of each operation. */
export function concernOf(call: FeedCall): (happening: Happening) => boolean {
  const reach = reachOf(call);
  const { elsewhere, ofLocations, ofMovements, except, locations, products, lowStock } = reach;
  const isAt = (location: string) => locations === null || locations.includes(location);
  const isOf = (product: string) => products === null || products.includes(product);
  return ({ type, created, resourceId, places }) => {
    if ((created ? except.created : except.changed).includes(type)) return false;
    if (elsewhere.includes(type)) return isOf(resourceId);
    if (ofLocations.includes(type)) return isAt(resourceId);
    if (!ofMovements.includes(type)) return false;
    if (locations === null && products === null && !lowStock) return true;
    return places.some(
      ({ location_id, product_id, is_low }) =>
        (is_low || !lowStock) && isAt(location_id) && (product_id === null || isOf(product_id)),
    );
  };
}
