// The statements of a batch that concern keys: claim them, read what was claimed before, and write
// the outcomes. A command owns its key if and only if its own operation ID comes back from `claim`.

import type { OperationType } from '../core/contract.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import type { SaveStatement, Statement } from '../core/statement.ts';
import { fingerprintVersion } from './fingerprint.ts';

/** A key as the unique constraint knows it. */
export interface KeyIdentity {
  readonly merchant: MerchantId;
  readonly credentialId: string;
  readonly type: OperationType;
  readonly keyHash: Buffer;
}

/** A claim to a key, for the request that proposes it. */
export interface Claim extends KeyIdentity {
  readonly operationId: string;
  readonly fingerprint: Buffer;
  readonly locationId: string | undefined;
  readonly requestId: string;
}

/** A key that has its outcome, in this transaction's past. */
export interface KnownOperation {
  readonly id: string;
  readonly fingerprint: Buffer;
  readonly outcome: Outcome;
}

export type Outcome =
  | { readonly status: 'succeeded'; readonly resourceId: string }
  | {
      readonly status: 'rejected';
      readonly code: ProblemCode;
      readonly details: readonly Detail[];
    };

/**
 * Inserts an operation row per key, in the order of the unique constraint, so that two processes
 * never wait for each other in a circle. A key that a running transaction holds is waited for.
 */
export function claimKeys(claims: readonly Claim[], now: string): Statement<{ id: string }> {
  const rows = claims.map((claim) => ({
    merchant_id: claim.merchant,
    id: claim.operationId,
    credential_id: claim.credentialId,
    type: claim.type,
    key_hash: hex(claim.keyHash),
    fingerprint: hex(claim.fingerprint),
    fingerprint_version: fingerprintVersion,
    location_id: claim.locationId ?? null,
    request_id: claim.requestId,
    created_at: now,
  }));
  return {
    name: 'claim_keys',
    text: `
      insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, location_id, request_id, created_at)
      select merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, 'claimed', location_id, request_id, created_at
      from json_populate_recordset(null::operations, $1)
      order by merchant_id, credential_id, type, key_hash
      on conflict (merchant_id, credential_id, type, key_hash) do nothing
      returning id`,
    values: [JSON.stringify(rows)],
  };
}

export interface KnownRow {
  readonly id: string;
  readonly credential_id: string;
  readonly key_hash: Buffer;
  readonly fingerprint: Buffer;
  readonly status: string;
  readonly resource_id: string | null;
  readonly error_code: ProblemCode | null;
  readonly error_details: readonly Detail[] | null;
}

/**
 * Reads the rows of keys, whoever claimed them. It runs as a statement of its own after the claim:
 * only a new snapshot sees the row that the claim has just waited for.
 */
export function findKeys(keys: readonly KeyIdentity[]): Statement<KnownRow> {
  const rows = keys.map((key) => ({
    merchant_id: key.merchant,
    credential_id: key.credentialId,
    type: key.type,
    key_hash: hex(key.keyHash),
  }));
  return {
    name: 'find_keys',
    text: `
      select o.id, o.credential_id, o.key_hash, o.fingerprint, o.status, o.resource_id,
        o.error_code, o.error_details
      from json_populate_recordset(null::operations, $1) k
      join operations o using (merchant_id, credential_id, type, key_hash)`,
    values: [JSON.stringify(rows)],
  };
}

/** The outcome of a committed row. A row that is still claimed cannot have been committed. */
export function knownOperation(row: KnownRow): KnownOperation {
  const { id, fingerprint } = row;
  if (row.status === 'succeeded' && row.resource_id !== null) {
    return { id, fingerprint, outcome: { status: 'succeeded', resourceId: row.resource_id } };
  }
  if (row.status === 'rejected' && row.error_code !== null) {
    const outcome = {
      status: 'rejected',
      code: row.error_code,
      details: row.error_details ?? [],
    } as const;
    return { id, fingerprint, outcome };
  }
  throw new Error(`operation ${id} has no outcome`);
}

/** Gives every claimed row of the batch its outcome. */
export function saveOutcomes(
  merchant: MerchantId,
  outcomes: readonly { readonly operationId: string; readonly outcome: Outcome }[],
): SaveStatement {
  const rows = outcomes.map(({ operationId, outcome }) =>
    outcome.status === 'succeeded'
      ? { id: operationId, status: outcome.status, resource_id: outcome.resourceId }
      : {
          id: operationId,
          status: outcome.status,
          error_code: outcome.code,
          error_details: outcome.details,
        },
  );
  return {
    name: 'save_outcomes',
    text: `
      update operations o
      set status = s.status, resource_id = s.resource_id, error_code = s.error_code,
        error_details = s.error_details
      from json_populate_recordset(null::operations, $2) s
      where o.merchant_id = $1 and o.id = s.id and o.status = 'claimed'`,
    values: [merchant, JSON.stringify(rows)],
    rows: outcomes.length,
  };
}

/** How a key reads inside one process: no two keys give the same text. */
export function keyText(key: KeyIdentity): string {
  return `${key.merchant} ${key.credentialId} ${key.type} ${key.keyHash.toString('base64')}`;
}

function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}
