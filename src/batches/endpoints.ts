// The endpoint of batches. It binds the key of the list, and changes nothing: what it asks for is
// done by the write path, as for requests of their own.

import { bodyLimitsOf, hasPathId, isUpsert } from '../contract/contract.ts';
import type { AnyWriteEndpoint, Endpoint, WriteEndpoint, WriteItem } from '../contract/endpoint.ts';
import { type JsonObject, valuesIn } from '../contract/json.ts';
import type { OperationType } from '../contract/resource.ts';
import { limits } from '../core/limits.ts';
import type { Detail, DetailCode } from '../core/problem.ts';
import { submitOf } from './contract.ts';
import { findBatches } from './store.ts';

type ByType = ReadonlyMap<string, AnyWriteEndpoint>;

/** @param served the endpoints whose writes may be in a batch. */
export function batchEndpoints(served: readonly Endpoint[]): readonly Endpoint[] {
  const writes = served.filter((one): one is AnyWriteEndpoint => one.contract.kind === 'write');
  const byType: ByType = new Map(writes.map((one) => [one.contract.name, one]));
  const contract = submitOf([...byType.keys()] as OperationType[]);
  const submit: WriteEndpoint<typeof contract, undefined, { readonly id: string }, never> = {
    contract,
    check: ({ operations = [] }) => faultsOf(byType, operations),
    items: ({ operations }) => itemsOf(byType, operations),
    requests: requestsIn,
    load: () => ({ statements: [], state: () => undefined }),
    decide: (_, { operationId }) => ({
      kind: 'succeeded',
      row: { id: operationId },
      changes: [],
      movements: 0,
    }),
    save: () => [],
    find: findBatches,
    present: ({ id }) => ({ id, results: [] }),
  };
  return [submit as AnyWriteEndpoint];
}

/** An element of the list whose members have the right types. */
interface Asked {
  readonly type: string;
  readonly idempotency_key: string;
  readonly id?: string | null;
  readonly external_id?: string | null;
  readonly if_match?: number | null;
  readonly body: JsonObject;
}

/** What the schema cannot say of a list that has the right form. */
function faultsOf(byType: ByType, operations: readonly Asked[]): Detail[] {
  const keys = new Map<string, number>();
  return operations.flatMap((asked, index) => {
    const place = `operations.${index}`;
    const endpoint = byType.get(asked.type);
    if (endpoint === undefined) return [];
    const name = `${asked.type} ${asked.idempotency_key}`;
    const first = keys.get(name);
    if (first === undefined) keys.set(name, index);
    const isAgain = first !== undefined;
    return [
      ...(isAgain ? [twice(`${place}.idempotency_key`, first)] : []),
      ...memberFaults(place, endpoint, asked),
    ];
  });
}

function twice(field: string, first: number): Detail {
  const message = `is that of operations.${first}, which is of the same type`;
  return { field, code: 'value_not_allowed', message };
}

function memberFaults(place: string, endpoint: AnyWriteEndpoint, asked: Asked): Detail[] {
  const { contract } = endpoint;
  const details: Detail[] = [];
  const refuse = (member: string, code: DetailCode, message: string) =>
    details.push({ field: `${place}.${member}`, code, message });
  const needed = { id: hasPathId(contract), external_id: isUpsert(contract) };
  for (const [member, isNeeded] of Object.entries(needed)) {
    const isThere = typeof asked[member as keyof typeof needed] === 'string';
    if (isNeeded && !isThere) refuse(member, 'required', 'is required');
    if (!isNeeded && isThere) refuse(member, 'unknown_field', 'is not known to this type');
  }
  const takesVersion = contract.method === 'PATCH' && !needed.external_id;
  if (!takesVersion && typeof asked.if_match === 'number') {
    refuse('if_match', 'unknown_field', 'is not known to this type');
  }
  const { values } = bodyLimitsOf(contract);
  if (valuesIn(asked.body) > values) refuse('body', 'too_large', `may have ${values} values`);
  return details;
}

/** The writes that a list of the right form asks for. */
function itemsOf(byType: ByType, operations: readonly Asked[]): WriteItem[] {
  return operations.flatMap((asked) => {
    const endpoint = byType.get(asked.type);
    if (endpoint === undefined) return [];
    const { idempotency_key: key, id, external_id, if_match, body } = asked;
    const item = { endpoint, key, body, id: id ?? '' };
    return [{ ...item, externalId: external_id ?? undefined, ifMatch: if_match ?? undefined }];
  });
}

/** How many requests a list counts as. */
function requestsIn(body: JsonObject): number {
  const { operations } = body;
  const items = Array.isArray(operations) ? operations.length : 0;
  return Math.max(1, Math.ceil(Math.min(items, limits.batchItemsMax) / 10));
}
