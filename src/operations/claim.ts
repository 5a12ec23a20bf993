// The statements of a batch that concern keys: find what is bound already, and bind the rest, each
// with its outcome. A key is bound by inserting its operation: the unique constraint lets one win.

import type { OperationType } from '../core/contract.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import { hex, type SetStatement, type Statement } from '../core/statement.ts';
import { fingerprintVersion } from './fingerprint.ts';

/** A key as the unique constraint knows it. */
export interface KeyIdentity {
  readonly merchant: MerchantId;
  readonly credentialId: string;
  readonly type: OperationType;
  readonly keyHash: Buffer;
}

/** What a request would bind its key to. */
export interface Claim extends KeyIdentity {
  readonly operationId: string;
  readonly fingerprint: Buffer;
  readonly locationId: string | undefined;
  readonly requestId: string;
}

/** A key that is bound. */
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

/** An operation as a query says it. Bytes may be written in hexadecimal. */
export interface OutcomeRow {
  readonly id: string;
  readonly fingerprint: Buffer | string;
  readonly status: string;
  readonly resource_id: string | null;
  readonly error_code: ProblemCode | null;
  readonly error_details: readonly Detail[] | null;
}

export interface KnownRow extends OutcomeRow {
  readonly merchant_id: string;
  readonly credential_id: string;
  readonly type: string;
  readonly key_hash: Buffer;
}

/**
 * Reads the operations of keys, whoever bound them. Each is sought as the first one from there on
 * in the order of the unique constraint: sought by equal columns, the planner takes any index that
 * begins with the credential once it believes that credentials have few operations each.
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
      select o.merchant_id, o.id, o.credential_id, o.type, o.key_hash, o.fingerprint, o.status,
        o.resource_id, o.error_code, o.error_details
      from json_to_recordset($1)
        as a (merchant_id text, credential_id text, type text, key_hash bytea)
      cross join lateral (
        select * from operations f
        where (f.merchant_id, f.credential_id, f.type, f.key_hash)
          >= (a.merchant_id, a.credential_id, a.type, a.key_hash)
        order by f.merchant_id, f.credential_id, f.type, f.key_hash limit 1) o
      where o.merchant_id = a.merchant_id and o.credential_id = a.credential_id
        and o.type = a.type and o.key_hash = a.key_hash`,
    values: [JSON.stringify(rows)],
  };
}

/** The outcome of a committed row. A row that is still claimed cannot have been committed. */
export function knownOperation(row: OutcomeRow): KnownOperation {
  const { id } = row;
  const fingerprint =
    typeof row.fingerprint === 'string' ? Buffer.from(row.fingerprint, 'hex') : row.fingerprint;
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

/**
 * Binds keys to their outcomes. In the order of the unique constraint, so that two processes never
 * wait for each other in a circle. A key that a running transaction is about to bind is waited for;
 * once it has, this fails as `taken`, and with it all that was decided in its transaction.
 */
export function bindKeys(
  bound: readonly { readonly claim: Claim; readonly outcome: Outcome }[],
  now: string,
): SetStatement {
  return {
    name: 'bind_keys',
    text: `
      insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, resource_id, error_code, error_details, location_id,
        request_id, created_at)
      select merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, resource_id, error_code, error_details, location_id,
        request_id, created_at
      from json_populate_recordset(null::operations, $1)
      order by merchant_id, credential_id, type, key_hash`,
    records: bound.map(({ claim, outcome }) => ({
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
      ...columnsOf(outcome),
    })),
  };
}

function columnsOf(outcome: Outcome): object {
  return outcome.status === 'succeeded'
    ? { status: outcome.status, resource_id: outcome.resourceId }
    : { status: outcome.status, error_code: outcome.code, error_details: outcome.details };
}

/** How a key reads inside one process: no two keys give the same text. */
export function keyText(key: KeyIdentity): string {
  return `${key.merchant} ${key.credentialId} ${key.type} ${key.keyHash.toString('base64')}`;
}

/** The same for a row. */
export function keyTextOf(row: KnownRow): string {
  return `${row.merchant_id} ${row.credential_id} ${row.type} ${row.key_hash.toString('base64')}`;
}
