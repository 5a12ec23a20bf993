// The statements of a batch that concern keys: find what is bound already, and bind the rest. A key
// is bound by inserting its operation: the unique constraint lets only one write do it.

import { successStatus } from '../contract/contract.ts';
import type { Decision, Operation, Write } from '../contract/endpoint.ts';
import { hex, pendingTime, type SetStatement, type Statement } from '../core/statement.ts';
import { fingerprintVersion } from './fingerprint.ts';

/**
 * Reads the operations that the keys of writes are bound to. Each is sought as the first one from
 * there on in the order of the unique constraint: sought by equal columns, the planner takes any
 * index that begins with the credential once it believes that credentials have few operations each.
 */
export function findOperations(writes: readonly Write[]): Statement<Operation> {
  const keys = writes.map((write) => ({
    merchant_id: write.merchant,
    credential_id: write.actor.credential_id,
    type: write.endpoint.contract.name,
    key_hash: hex(write.keyHash),
  }));
  return {
    name: 'find_keys',
    text: `
      select o.merchant_id, o.id, o.credential_id, o.type, o.key_hash, o.fingerprint, o.status,
        o.resource_id, o.created, o.movements, o.position, o.error_code, o.error_details,
        o.location_id, o.to_location_id, o.request_id, o.notices, o.created_at,
        (select j.id from journals j where j.merchant_id = o.merchant_id) as journal
      from json_to_recordset($1)
        as a (merchant_id text, credential_id text, type text, key_hash bytea)
      cross join lateral (
        select * from operations f
        where (f.merchant_id, f.credential_id, f.type, f.key_hash)
          >= (a.merchant_id, a.credential_id, a.type, a.key_hash)
        order by f.merchant_id, f.credential_id, f.type, f.key_hash limit 1) o
      where o.merchant_id = a.merchant_id and o.credential_id = a.credential_id
        and o.type = a.type and o.key_hash = a.key_hash`,
    values: [JSON.stringify(keys)],
  };
}

/**
 * The operation that a write becomes by what was decided. `position` is counted from the end of the
 * journal, which only the statement that saves knows.
 */
export function operationOf(
  write: Write,
  decision: Decision<unknown>,
  position: number | null,
): Omit<Operation, 'journal'> {
  const isDone = decision.kind === 'succeeded';
  return {
    merchant_id: write.merchant,
    id: write.operationId,
    credential_id: write.actor.credential_id,
    type: write.endpoint.contract.name,
    key_hash: write.keyHash,
    fingerprint: write.fingerprint,
    status: decision.kind,
    resource_id: isDone ? decision.row.id : null,
    created: isDone && (decision.created ?? successStatus(write.endpoint.contract) === 201),
    movements: isDone ? decision.movements : 0,
    position,
    error_code: isDone ? null : decision.code,
    error_details: isDone ? null : decision.details,
    location_id: write.locationId ?? decision.location_id ?? null,
    to_location_id: write.toLocationId ?? null,
    request_id: write.requestId,
    notices: (isDone ? decision.notices : undefined) ?? null,
    created_at: pendingTime,
  };
}

/**
 * Binds keys to their operations. In the order of the unique constraint, so that two processes
 * never wait for each other in a circle. A key that a running transaction is about to bind is
 * waited for; once it has, this fails as `taken`, and with it all that was decided in its
 * transaction.
 */
export function bindKeys(operations: readonly Omit<Operation, 'journal'>[]): SetStatement {
  return {
    name: 'bind_keys',
    text: `
      insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
        fingerprint_version, status, resource_id, created, movements, position, error_code,
        error_details, location_id, to_location_id, request_id, notices, created_at)
      select s.merchant_id, s.id, s.credential_id, s.type, s.key_hash, s.fingerprint,
        s.fingerprint_version, s.status, s.resource_id, s.created, s.movements,
        j.last + s.position, s.error_code, s.error_details, s.location_id, s.to_location_id,
        s.request_id, s.notices, j.moment
      from json_populate_recordset(null::operations, $1) s
      join journal j on j.merchant_id = s.merchant_id
      order by s.merchant_id, s.credential_id, s.type, s.key_hash`,
    records: operations.map((operation) => ({
      fingerprint_version: fingerprintVersion,
      ...operation,
      key_hash: hex(operation.key_hash),
      fingerprint: hex(operation.fingerprint),
    })),
  };
}

/** The key of a write within one process: no two keys have the same text. */
export function keyOf({ merchant, actor, endpoint, keyHash }: Write): string {
  return textOf(merchant, actor.credential_id, endpoint.contract.name, keyHash);
}

/** The same of an operation. */
export function keyOfOperation(one: Operation): string {
  return textOf(one.merchant_id, one.credential_id, one.type, one.key_hash);
}

function textOf(merchant: string, credential: string, type: string, hash: Buffer): string {
  return `${merchant} ${credential} ${type} ${hash.toString('base64')}`;
}
