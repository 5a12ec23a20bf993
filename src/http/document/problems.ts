// Which codes an endpoint can answer: what its contract states, and what the HTTP layer itself
// refuses on its kind of route. The order is that of the problem table, so lists read the same
// everywhere.

import { type Contract, hasPathId, isUpsert } from '../../contract/contract.ts';
import { type Detail, isRetryable, type ProblemCode, problemKinds } from '../../core/problem.ts';
import { resources } from '../../resources.ts';

const always: readonly ProblemCode[] = [
  'malformed_request',
  'unknown_parameter',
  'authentication_required',
  'invalid_token',
  'method_not_allowed',
  'not_acceptable',
  'request_timeout',
  'uri_too_long',
  'expectation_failed',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'service_unavailable',
  'timeout',
];

const byKind: Readonly<Record<Contract['kind'], readonly ProblemCode[]>> = {
  member: ['not_found'],
  collection: ['invalid_parameter', 'invalid_cursor'],
  write: [
    'idempotency_key_required',
    'idempotency_key_invalid',
    'invalid_json',
    'idempotency_key_reused',
    'content_too_large',
    'unsupported_media_type',
    'validation_failed',
    'operation_in_progress',
  ],
};

/** Every code of an endpoint, by status. */
export function problemsByStatus(contract: Contract): Map<number, ProblemCode[]> {
  const codes = new Set([...always, ...byKind[contract.kind], ...special(contract)]);
  const byStatus = new Map<number, ProblemCode[]>();
  for (const [code, { status }] of Object.entries(problemKinds) as [ProblemCode, Kind][]) {
    if (codes.has(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

type Kind = (typeof problemKinds)[ProblemCode];

function special(contract: Contract): ProblemCode[] {
  const codes: ProblemCode[] = [...contract.problems];
  // A member without a path ID is about the caller and always there.
  if (hasPathId(contract)) codes.push('not_found');
  if (contract.scope !== null) codes.push('insufficient_scope');
  if (contract.kind === 'collection') {
    if ((contract.query.required ?? []).length > 0) codes.push('missing_parameter');
    if (contract.keyFilter === true) codes.push('idempotency_key_invalid');
  }
  if (contract.kind === 'write') {
    if (isUpsert(contract)) codes.push('missing_parameter', 'invalid_parameter');
    else if (contract.method === 'PATCH') codes.push('precondition_failed');
    if (contract.needsAllLocations === true) codes.push('location_not_granted');
  }
  return codes;
}

/** The codes that a status can have anywhere. */
export function codesOfStatus(status: number): ProblemCode[] {
  const kinds = Object.entries(problemKinds) as [ProblemCode, Kind][];
  return kinds.filter(([, kind]) => kind.status === status).map(([code]) => code);
}

const operationId = 'op_01k9x3v7c2e4r8t1m5n6p0q9sa';

/** What `details` look like, where they say more than the code does. */
const exampleDetails: { readonly [C in ProblemCode]?: readonly Detail[] } = {
  idempotency_key_required: [
    { field: 'header.idempotency-key', code: 'required', message: 'is required' },
  ],
  missing_parameter: [{ field: 'query.location_id', code: 'required', message: 'is required' }],
  invalid_parameter: [{ field: 'query.limit', code: 'too_large', message: 'must be at most 200' }],
  unknown_parameter: [
    { field: 'query.colour', code: 'unknown_field', message: 'is not known to this route' },
  ],
  invalid_cursor: [
    {
      field: 'query.cursor',
      code: 'filter_mismatch',
      message: 'was issued for other filters; repeat those of the first page',
    },
  ],
  insufficient_scope: [
    {
      code: 'insufficient_scope',
      message: 'needs the scope inventory.write',
      scope: 'inventory.write',
    },
  ],
  idempotency_key_reused: [
    {
      field: 'header.idempotency-key',
      code: 'idempotency_key_reused',
      message: 'was used before with a different request',
      operation_id: operationId,
    },
  ],
  validation_failed: [
    {
      field: 'reason',
      code: 'value_not_allowed',
      message: 'must be one of stock_count, external_adjustment, correction',
      allowed: ['stock_count', 'external_adjustment', 'correction'],
    },
  ],
  ...Object.assign({}, ...resources.map(({ refusalDetails }) => refusalDetails)),
};

/** An answer with this code. */
export function exampleAnswer(code: ProblemCode) {
  const { status, title } = problemKinds[code];
  return {
    error: {
      code,
      message: title,
      retryable: isRetryable(status),
      doc_url: `/docs/errors#${code}`,
      details: exampleDetails[code] ?? [],
    },
    meta: { request_id: 'req_01k9x3v7c2e4r8t1m5n6p0q9sa' },
  };
}
