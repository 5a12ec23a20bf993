// The endpoints of operations. One's own need no scope; another credential's need operations.read
// and whatever reading the resource itself would need, or they do not exist for the caller.

import { operationTypes } from '../core/contract.ts';
import type { CollectionEndpoint, Endpoint, MemberEndpoint } from '../core/endpoint.ts';
import { fetchSize, takePage } from '../core/page.ts';
import type { Principal, Scope } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import * as contract from './contract.ts';
import * as store from './store.ts';

/** What each write wrote, and who may read that. */
const resources = {
  'customers.create': { type: 'customer', scope: 'customers.read' },
  'customers.update': { type: 'customer', scope: 'customers.read' },
  'products.create': { type: 'product', scope: 'products.read' },
  'products.update': { type: 'product', scope: 'products.read' },
  'locations.create': { type: 'location', scope: 'locations.read' },
  'locations.update': { type: 'location', scope: 'locations.read' },
  'inventory.adjust': { type: 'inventory_movement', scope: 'inventory.read' },
} as const satisfies Record<(typeof operationTypes)[number], { type: string; scope: Scope }>;

const getOperation: MemberEndpoint = {
  contract: contract.getOperation,
  async run(reads, principal, id) {
    const reach = reachOf(principal);
    const row = await reads.find((ids) => store.findOperations(reach, ids), id);
    return row === undefined ? undefined : presentOperation(row);
  },
};

const listOperations: CollectionEndpoint<typeof contract.listOperations> = {
  contract: contract.listOperations,
  async run(reader, { principal, query, page, keyHash }) {
    const { type, status } = query;
    const reach = reachOf(principal);
    const statement =
      keyHash === undefined
        ? store.listOperations(reach, { type, status, after: page.after, limit: fetchSize(page) })
        : store.findOperationByKey(reach, type ?? missingType(), keyHash);
    const rows = await reader.query(statement);
    const wanted = rows.filter((row) => status === undefined || row.status === status);
    return takePage(wanted, page, (row) => row.id, presentOperation);
  },
};

export const operationEndpoints: readonly Endpoint[] = [listOperations, getOperation];

function reachOf(principal: Principal): store.Reach {
  const { merchant, credentialId, scopes, locations } = principal;
  const types = operationTypes.filter((type) => scopes.has(resources[type].scope));
  return {
    merchant,
    credentialId,
    types: scopes.has('operations.read') ? types : [],
    locations: locations === 'all' ? null : locations,
  };
}

/** A key alone names no operation: each type has keys of its own. */
function missingType(): never {
  const message = 'is required with the Idempotency-Key header';
  throw new Problem('missing_parameter', {
    details: [{ field: 'query.type', code: 'required', message }],
  });
}

function presentOperation(row: store.OperationRow): object {
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    resource:
      row.resource_id === null ? null : { type: resources[row.type].type, id: row.resource_id },
    error:
      row.error_code === null ? null : { code: row.error_code, details: row.error_details ?? [] },
    location_id: row.location_id,
    credential_id: row.credential_id,
    request_id: row.request_id,
    created_at: row.created_at,
  };
}
