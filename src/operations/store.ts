// The statements that read operations. Each has in it what the caller may see, so that none can
// forget it.

import type { Operation } from '../contract/endpoint.ts';
import type { OperationType } from '../contract/resource.ts';
import { lookupId } from '../core/id.ts';
import type { CredentialKind, GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

/** Which operations a caller may see. */
export interface Visibility {
  readonly merchant: MerchantId;
  /** Its own are all visible. */
  readonly credentialId: string;
  /** Those of others are visible with these types, */
  readonly types: readonly OperationType[];
  /** and at these locations (null: at any), where they have one. */
  readonly locations: readonly GrantedLocationId[] | null;
}

/** What an endpoint shows of an operation: neither its key nor its fingerprint. */
export type ShownOperation = Omit<
  Operation,
  | 'merchant_id'
  | 'key_hash'
  | 'fingerprint'
  | 'created'
  | 'movements'
  | 'to_location_id'
  | 'notices'
  | 'journal'
> & {
  /** Of its credential, as it is now. */
  readonly name: string;
  readonly kind: CredentialKind;
  readonly application_id: string | null;
};

const columns = `o.id, o.type, o.status, o.resource_id, o.position, o.error_code, o.error_details,
  o.location_id, o.credential_id, o.request_id, o.created_at, c.name, c.kind, c.application_id`;

/** With who asked: sought one by one, behind the limit of a page. */
const withActor = (operations: string) => `${operations} o
  left join lateral (
    select name, kind, application_id from credentials
    where merchant_id = $1 and id = o.credential_id limit 1) c on true`;

const source = withActor('operations');

/** A request has one operation, or a few: they are found first, and then sorted. */
const ofRequest = withActor(
  '(select * from operations where merchant_id = $1 and request_id = $7 offset 0)',
);

/**
 * Where an operation was. A write to a location was at that location. Which one an upsert was
 * refused for is not known: that was nowhere that is granted.
 */
const location = `case o.type when 'locations.create' then o.resource_id
  when 'locations.upsert' then coalesce(o.resource_id, '') else o.location_id end`;

/** By the parameters that hold the types and the locations of what is visible. */
const isVisible = (types: string, locations: string) => `(
  o.credential_id = $2 or o.type = any (${types}) and (${locations}::text[] is null
    or ${location} is null or ${location} = any (${locations})
      and (o.to_location_id is null or o.to_location_id = any (${locations}))))`;

export function findOperations(may: Visibility, ids: readonly string[]): Statement<ShownOperation> {
  return {
    name: 'find_operations',
    text: `
      select ${columns} from ${source}
      where o.merchant_id = $1 and o.id = any ($3) and ${isVisible('$4', '$5')}`,
    values: [may.merchant, may.credentialId, ids.map(lookupId), may.types, may.locations],
  };
}

/** One's own, or all of the merchant's that one may see. */
const sources = {
  own: 'o.credential_id = $2',
  merchant: isVisible('$9', '$10'),
} as const;

/**
 * A page, newest first, along the index of a credential's or of the merchant's. Planned anew each
 * time: a plan that is kept for all filters takes them for rare, and sorts everything.
 */
export function listOperations(
  may: Visibility,
  filter: {
    readonly type: OperationType | undefined;
    readonly status: string | undefined;
    readonly request: string | undefined;
    readonly credential: string | undefined;
    readonly after: string | undefined;
    readonly limit: number;
  },
): Statement<ShownOperation> {
  const { request, credential } = filter;
  const reach = may.types.length === 0 ? 'own' : 'merchant';
  return {
    name: request === undefined ? '' : `operations_of_request_${reach}`,
    text: `
      select ${columns} from ${request === undefined ? source : ofRequest}
      where o.merchant_id = $1 and ${sources[reach]} and o.id < $3
        and ($4::text is null or o.type = $4) and ($5::text is null or o.status = $5)
        and ($7::text is null or o.request_id = $7)
        and ($8::text is null or o.credential_id = $8)
      order by o.id desc limit $6`,
    values: [
      may.merchant,
      may.credentialId,
      filter.after ?? '~',
      filter.type ?? null,
      filter.status ?? null,
      filter.limit,
      request === undefined ? null : lookupId(request),
      credential === undefined ? null : lookupId(credential),
      ...(reach === 'own' ? [] : [may.types, may.locations]),
    ],
  };
}

/**
 * What was done with one resource, oldest first: for the operator, who sees all of it. It walks
 * over the merchant's operations, because no request asks for this.
 */
export function listOperationsOn(
  merchant: MerchantId,
  resourceId: string,
  after: string,
  limit: number,
): Statement<ShownOperation> {
  return {
    name: '',
    text: `
      select ${columns} from ${source}
      where o.merchant_id = $1 and o.resource_id = $2 and o.id > $3 order by o.id limit $4`,
    values: [merchant, lookupId(resourceId), after, limit],
  };
}

/**
 * What is bound to a key, whoever's and of whatever type: of each it is the first row from the key
 * on, in the order of the index. So what it takes depends on how many credentials there are, and
 * no write pays for an index of keys alone.
 */
export function findOperationsByKey(
  may: Visibility,
  credential: string | undefined,
  types: readonly OperationType[],
  keyHash: Buffer,
): Statement<ShownOperation> {
  const ofKey = `(
    select f.* from credentials k cross join unnest($4::text[]) as t (type)
    cross join lateral (
      select * from operations o
      where (o.merchant_id, o.credential_id, o.type, o.key_hash)
        >= (k.merchant_id, k.id, t.type, $5)
      order by o.merchant_id, o.credential_id, o.type, o.key_hash limit 1) f
    where k.merchant_id = $1 and ($3::text is null or k.id = $3)
      and (f.merchant_id, f.credential_id, f.type, f.key_hash)
        = (k.merchant_id, k.id, t.type, $5) offset 0)`;
  return {
    name: 'find_operations_by_key',
    text: `
      select ${columns} from ${withActor(ofKey)}
      where o.merchant_id = $1 and ${isVisible('$6', '$7')} order by o.id desc`,
    values: [
      ...[may.merchant, may.credentialId, credential === undefined ? null : lookupId(credential)],
      ...[types, keyHash, may.types, may.locations],
    ],
  };
}

/** The operation behind one key of a credential, if it has committed. */
export function findOperationByKey(
  may: Visibility,
  credential: string,
  type: OperationType,
  keyHash: Buffer,
): Statement<ShownOperation> {
  return {
    name: 'find_operation_by_key',
    text: `
      select ${columns} from ${source}
      where o.merchant_id = $1 and o.credential_id = $3 and o.type = $4 and o.key_hash = $5
        and ${isVisible('$6', '$7')}`,
    values: [
      ...[may.merchant, may.credentialId, lookupId(credential), type, keyHash],
      ...[may.types, may.locations],
    ],
  };
}
