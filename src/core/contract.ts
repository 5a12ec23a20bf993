// What an endpoint promises on the wire, as a plain value. The router, the validation, the handler
// types, the OpenAPI document and the generic tests all read it; nothing is said twice.

import type { Static, TObject, TSchema } from 'typebox';
import type { Scope } from './principal.ts';
import type { ProblemCode } from './problem.ts';

/** The writes, by the name an operation record carries (contract section 5). */
export const operationTypes = [
  'customers.create',
  'customers.update',
  'products.create',
  'products.update',
  'locations.create',
  'locations.update',
  'inventory.adjust',
] as const;

export type OperationType = (typeof operationTypes)[number];

interface ContractBase {
  /** Route below /api/v1, with at most the one path parameter `{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Required of the credential; null where a valid credential suffices. */
  readonly scope: Scope | null;
  /** The resource: one of `data`, or one element of it in a collection. */
  readonly data: TSchema;
  /** What this operation itself may answer, beyond what its kind of route always may. */
  readonly problems: readonly ProblemCode[];
}

/** GET of one resource. */
export interface MemberContract extends ContractBase {
  readonly kind: 'member';
  readonly name: string;
  /** Answers carry `ETag: "<version>"`. */
  readonly etag: boolean;
}

/** GET of a page of resources, by filters. */
export interface CollectionContract<Query extends TObject = TObject> extends ContractBase {
  readonly kind: 'collection';
  readonly name: string;
  /** The filters. `limit` and `cursor` are added to every collection. */
  readonly query: Query;
  /** The Idempotency-Key header serves as a filter here. */
  readonly keyFilter?: boolean;
}

/** POST or PATCH: one idempotent write. */
export interface WriteContract<Body extends TObject = TObject> extends ContractBase {
  readonly kind: 'write';
  readonly name: OperationType;
  readonly method: 'POST' | 'PATCH';
  readonly body: Body;
  /** Only for credentials with all locations: what it makes is granted to nobody else yet. */
  readonly needsAllLocations?: boolean;
  /** Path of the resource written, for the Location header. */
  readonly memberPath: string;
  readonly resourceType: 'customer' | 'product' | 'location' | 'inventory_movement';
}

export type Contract = MemberContract | CollectionContract | WriteContract;

export type QueryOf<C> = C extends CollectionContract<infer Q> ? Static<Q> : never;

export const member = (contract: Omit<MemberContract, 'kind'>): MemberContract => ({
  kind: 'member',
  ...contract,
});

export const collection = <Q extends TObject>(
  contract: Omit<CollectionContract<Q>, 'kind'>,
): CollectionContract<Q> => ({ kind: 'collection', ...contract });

export const write = <B extends TObject>(
  contract: Omit<WriteContract<B>, 'kind'>,
): WriteContract<B> => ({ kind: 'write', ...contract });

/** The status of a success: creating answers 201, everything else 200. */
export function successStatus(contract: Contract): 200 | 201 {
  return contract.kind === 'write' && contract.method === 'POST' ? 201 : 200;
}
