// The statements that read operations. Each has the caller's reach built in: nobody can forget it.
// A row that is still claimed is never seen, for no transaction commits it so.

import type { OperationType } from '../core/contract.ts';
import { lookupId } from '../core/id.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Detail } from '../core/problem.ts';
import type { Statement } from '../core/statement.ts';

/** Which operations a caller may see. */
export interface Reach {
  readonly merchant: MerchantId;
  /** Its own are all visible. */
  readonly credentialId: string;
  /** Those of others are visible with these types, */
  readonly types: readonly OperationType[];
  /** and at these locations (null: at any), where they have one. */
  readonly locations: readonly GrantedLocationId[] | null;
}

export interface OperationRow {
  readonly id: string;
  readonly type: OperationType;
  readonly status: 'succeeded' | 'rejected';
  readonly resource_id: string | null;
  readonly error_code: string | null;
  readonly error_details: readonly Detail[] | null;
  readonly location_id: string | null;
  readonly credential_id: string;
  readonly request_id: string;
  readonly created_at: string;
}

const columns = `o.id, o.type, o.status, o.resource_id, o.error_code, o.error_details,
  o.location_id, o.credential_id, o.request_id, o.created_at`;

/** Where an operation was. A write to a location was at that location. */
const location = `case when o.type = 'locations.create' then o.resource_id
  else o.location_id end`;

/** By the parameters that hold the types and the locations of the reach. */
const isVisible = (types: string, locations: string) => `(
  o.credential_id = $2 or o.type = any (${types}) and (${locations}::text[] is null
    or ${location} is null or ${location} = any (${locations})))`;

export function findOperations(reach: Reach, ids: readonly string[]): Statement<OperationRow> {
  return {
    name: 'find_operations',
    text: `
      select ${columns} from operations o
      where o.merchant_id = $1 and o.id = any ($3) and ${isVisible('$4', '$5')}`,
    values: [reach.merchant, reach.credentialId, ids.map(lookupId), reach.types, reach.locations],
  };
}

/** One's own, or all of the merchant's that one may see. */
const sources = {
  own: 'o.credential_id = $2',
  merchant: isVisible('$7', '$8'),
} as const;

/**
 * A page, newest first, along the index of one's own or of the merchant's. Planned anew each time:
 * a plan that is kept for all filters takes them for rare, and sorts everything.
 */
export function listOperations(
  reach: Reach,
  filter: {
    readonly type: OperationType | undefined;
    readonly status: string | undefined;
    readonly after: string | undefined;
    readonly limit: number;
  },
): Statement<OperationRow> {
  const source = reach.types.length === 0 ? 'own' : 'merchant';
  return {
    name: '',
    text: `
      select ${columns} from operations o
      where o.merchant_id = $1 and ${sources[source]} and o.id < $3
        and ($4::text is null or o.type = $4) and ($5::text is null or o.status = $5)
      order by o.id desc limit $6`,
    values: [
      reach.merchant,
      reach.credentialId,
      filter.after ?? '~',
      filter.type ?? null,
      filter.status ?? null,
      filter.limit,
      ...(source === 'own' ? [] : [reach.types, reach.locations]),
    ],
  };
}

/** The caller's own operation behind one key, if it has committed. */
export function findOperationByKey(
  reach: Reach,
  type: OperationType,
  keyHash: Buffer,
): Statement<OperationRow> {
  return {
    name: 'find_operation_by_key',
    text: `
      select ${columns} from operations o
      where o.merchant_id = $1 and o.credential_id = $2 and o.type = $3 and o.key_hash = $4`,
    values: [reach.merchant, reach.credentialId, type, keyHash],
  };
}
