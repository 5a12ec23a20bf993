// The endpoints of operations. One's own need no scope; another credential's need operations.read
// and whatever reading the resource itself would need, or they do not exist for the caller.

import type { DataOf } from '../contract/contract.ts';
import type { CollectionEndpoint, Endpoint, MemberEndpoint } from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { type OperationType, readScopeOf } from '../contract/resource.ts';
import type { Principal } from '../core/principal.ts';
import { operationTypes, resourceOf } from '../resources.ts';
import * as contract from './contract.ts';
import * as store from './store.ts';

const getOperation: MemberEndpoint = {
  contract: contract.getOperation,
  async run(reads, principal, id) {
    const may = visibilityOf(principal);
    const row = await reads.find((ids) => store.findOperations(may, ids), id);
    return row === undefined ? undefined : presentOperation(row);
  },
};

const listOperations: CollectionEndpoint<typeof contract.listOperations> = {
  contract: contract.listOperations,
  async run(reader, { principal, query, page, keyHash }) {
    const { type, status, request_id: request, credential_id: credential } = query;
    const may = visibilityOf(principal);
    const filter = { type, status, request, credential };
    const statement =
      keyHash === undefined
        ? store.listOperations(may, { ...filter, after: page.after, limit: fetchSize(page) })
        : statementOf(may, type, credential, keyHash);
    const rows = await reader.query(statement);
    const wanted = rows.filter(
      (row) =>
        (status === undefined || row.status === status) &&
        (request === undefined || row.request_id === request) &&
        (page.after === undefined || row.id < page.after),
    );
    return takePage(wanted, page, (row) => row.id, presentOperation);
  },
};

export const operationEndpoints: readonly Endpoint[] = [listOperations, getOperation];

function visibilityOf(principal: Principal): store.Visibility {
  const { merchant, credentialId, scopes, locations } = principal;
  const types = operationTypes.filter((type) => scopes.has(readScopeOf(resourceOf(type))));
  return {
    merchant,
    credentialId,
    types: scopes.has('operations.read') ? types : [],
    locations: locations === 'all' ? null : locations,
  };
}

/** A key with a type names an operation; alone it names one of each type and credential. */
function statementOf(
  may: store.Visibility,
  type: OperationType | undefined,
  credential: string | undefined,
  keyHash: Buffer,
) {
  const own = may.credentialId;
  if (type !== undefined) {
    return store.findOperationByKey(may, credential ?? own, type, keyHash);
  }
  const by = may.types.length === 0 ? own : credential;
  return store.findOperationsByKey(may, by, operationTypes, keyHash);
}

/** As the interface shows it. */
export function presentOperation(row: store.ShownOperation): DataOf<typeof contract.getOperation> {
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    resource:
      row.resource_id === null ? null : { type: resourceOf(row.type).noun, id: row.resource_id },
    error:
      row.error_code === null ? null : { code: row.error_code, details: row.error_details ?? [] },
    location_id: row.location_id,
    position: row.position === null ? null : String(row.position),
    credential_id: row.credential_id,
    actor: {
      credential_id: row.credential_id,
      name: row.name,
      kind: row.kind,
      application_id: row.application_id,
    },
    request_id: row.request_id,
    created_at: row.created_at,
  };
}
