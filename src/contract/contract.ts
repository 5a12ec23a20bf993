// What an endpoint promises on the wire, as a plain value. The router, the validation, the handler
// types, the OpenAPI document and the generic tests all read it, so nothing is declared twice.

import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { limits } from '../core/limits.ts';
import type { Scope } from '../core/principal.ts';
import type { ProblemCode } from '../core/problem.ts';
import type { OperationType, Resource } from './resource.ts';
import { text } from './schema.ts';

interface ContractBase {
  /** What it is about. */
  readonly resource: Resource;
  /** Route below /api/v1, with at most the one path parameter `{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Required of the credential; null where a valid credential suffices. */
  readonly scope: Scope | null;
  /** What it answers: `data`, or one element of it in a collection. */
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

export interface PageMeta {
  /** Of its schema in the document. */
  readonly name: string;
  readonly members: TProperties;
}

/** GET of a page of resources, by filters. */
export interface CollectionContract extends ContractBase {
  readonly kind: 'collection';
  readonly name: string;
  /** The filters. `limit` and `cursor` are added to every collection. */
  readonly query: TObject;
  /** What its pages say in `meta` beyond `request_id` and `next_cursor`. */
  readonly meta?: PageMeta;
  /** The Idempotency-Key header serves as a filter here. */
  readonly keyFilter?: boolean;
}

/**
 * What an upsert names its record by. In the query, because the IDs that others give, such as
 * `gid://shop/Product/1`, do not survive proxies in a path.
 */
export const ownIdQuery = Type.Object({
  external_id: {
    ...text('text', { min: 1, max: 255 }, "The ID in the caller's own system."),
    examples: ['shop-1042'],
  },
});

export const upsertText =
  'Changes what has this external_id: 200. Creates it when none has: 201, as a POST does. ' +
  'Members that are not sent keep their values, or get their defaults. Takes no If-Match.';

/**
 * One idempotent write. POST creates, or, with an ID in its path, does something with one resource.
 * PATCH changes one. With a query it is an upsert: it changes the record with this ID of the
 * caller's own, or creates it.
 */
export interface WriteContract extends ContractBase {
  readonly kind: 'write';
  readonly name: OperationType;
  readonly method: 'POST' | 'PATCH';
  readonly body: TObject;
  /** How large a body may be. Absent: `ordinaryBody`. */
  readonly bodyLimits?: BodyLimits;
  readonly query?: typeof ownIdQuery;
  /** It creates no resource, although it has no ID in its path: 200. */
  readonly makesNothing?: true;
  /** Only for credentials with all locations: no other credential is granted what it creates. */
  readonly needsAllLocations?: boolean;
}

export interface BodyLimits {
  readonly bytes: number;
  /** How deep objects and lists may nest. */
  readonly depth: number;
  /** Members and elements, of all levels. */
  readonly values: number;
}

export const ordinaryBody: BodyLimits = {
  bytes: limits.bodyBytesMax,
  depth: limits.jsonDepthMax,
  values: limits.jsonValuesMax,
};

export type Contract = MemberContract | CollectionContract | WriteContract;

/** Members of a body that name a location. It must be granted. */
export const locationMembers = ['location_id', 'from_location_id', 'to_location_id'] as const;

/** What a contract answers. */
export type DataOf<C extends Contract> = Static<C['data']> & object;

export type QueryOf<C extends CollectionContract> = Static<C['query']>;

/** A body as rules see it: of a POST every member is there, with its default or null. */
export type BodyOf<C extends WriteContract> = WriteContract extends C
  ? unknown
  : C['method'] extends 'PATCH'
    ? Static<C['body']>
    : Complete<C['body']['properties']>;

type Complete<Properties extends TProperties> = {
  readonly [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown }
    ? Exclude<Static<Properties[Name]>, null>
    : Static<Properties[Name]>;
};

export const member = <C extends Omit<MemberContract, 'kind'>>(contract: C) => ({
  kind: 'member' as const,
  ...contract,
});

export const collection = <C extends Omit<CollectionContract, 'kind'>>(contract: C) => ({
  kind: 'collection' as const,
  ...contract,
});

export const write = <C extends Omit<WriteContract, 'kind'>>(contract: C) => ({
  kind: 'write' as const,
  ...contract,
});

/** Whether its path names one resource. */
export function hasPathId({ path }: Contract): boolean {
  return path.includes('{id}');
}

export function bodyLimitsOf({ bodyLimits }: WriteContract): BodyLimits {
  return bodyLimits ?? ordinaryBody;
}

/** Whether it creates or changes, as may be. */
export function isUpsert(contract: Contract): boolean {
  return contract.kind === 'write' && contract.query !== undefined;
}

/** The status of a success: creating answers 201, everything else 200, an upsert either. */
export function successStatus(contract: Contract): 200 | 201 {
  if (contract.kind !== 'write' || contract.makesNothing === true) return 200;
  return contract.method === 'POST' && !hasPathId(contract) ? 201 : 200;
}
