// The checks every API request goes through, in one fixed order (contract section 2):
//   accept → authentication → rate limit → scope → key, media type, JSON, query → location grant
//   → key look-up → fields → state → commit → answer.
// Body and key are read before the credential, so that one query answers for the token, for the
// location the body names and for the key; what is wrong is said at its place in the order.

import type { FastifyRequest } from 'fastify';
import type { Authenticated } from '../access/authenticator.ts';
import { type OperationType, successStatus } from '../core/contract.ts';
import type {
  AnyWriteEndpoint,
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
} from '../core/endpoint.ts';
import { limits } from '../core/limits.ts';
import type { CursorSealer } from '../core/page.ts';
import type { MerchantId } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reads } from '../core/statement.ts';
import { knownOperation } from '../operations/claim.ts';
import { hashKey } from '../operations/fingerprint.ts';
import { authenticate, bearerToken, type Door, requireScope } from './authenticate.ts';
import { idempotencyKey, ifMatchVersion, requireJsonAccepted, requireJsonBody } from './headers.ts';
import { canonicalFilters, QueryParser } from './parse.ts';
import type { Success } from './respond.ts';
import type { Submitter } from './submit.ts';
import { decodeJsonObject, JsonFault, type JsonObject } from './wire/json.ts';
import { searchOf } from './wire/message.ts';

export const apiPrefix = '/api/v1';

/** What the pipeline works with. */
export interface Edge extends Door {
  readonly readerOf: (merchant: MerchantId) => Reads;
  readonly submitter: Submitter;
  readonly cursors: CursorSealer;
}

/** One endpoint's handler. It notes the caller on the request for the log. */
export type Handler = (request: FastifyRequest) => Promise<Success>;

export function handlerOf(edge: Edge, endpoint: Endpoint): Handler {
  if (isWrite(endpoint)) return writeHandler(edge, endpoint);
  if (isCollection(endpoint)) return collectionHandler(edge, endpoint);
  return memberHandler(edge, endpoint);
}

function isWrite(endpoint: Endpoint): endpoint is AnyWriteEndpoint {
  return endpoint.contract.kind === 'write';
}

function isCollection(endpoint: Endpoint): endpoint is CollectionEndpoint {
  return endpoint.contract.kind === 'collection';
}

function memberHandler(edge: Edge, endpoint: MemberEndpoint): Handler {
  const { contract } = endpoint;
  const parser = new QueryParser(undefined);
  return async (request) => {
    const { principal } = await admit(edge, request, contract, undefined);
    const search = searchOf(request.raw.url ?? '');
    if (search.size > 0) parser.parse(search);
    const data = await endpoint.run(edge.readerOf(principal.merchant), principal, pathId(request));
    if (data === undefined) throw new Problem('not_found');
    return { status: 200, data, headers: contract.etag ? etagOf(data) : {} };
  };
}

function collectionHandler(edge: Edge, endpoint: CollectionEndpoint): Handler {
  const { contract } = endpoint;
  const parser = new QueryParser(contract);
  return async (request) => {
    const search = attempt(() => searchOf(request.raw.url ?? ''));
    const hint = lookedUp(search.kind === 'ok' ? search.value.get('location_id') : undefined);
    const { principal, location: granted } = await admit(edge, request, contract, hint);
    const keyHash = contract.keyFilter === true ? keyFilter(request) : undefined;
    if (search.kind === 'failed') throw search.error;
    const query = parser.parse(search.value);
    const id = pathId(request);
    const scope = {
      route: `${contract.name} ${id}`,
      merchant: principal.merchant,
      filters: canonicalFilters({ ...query, key: keyHash?.toString('hex') }),
    };
    const after = openCursor(edge.cursors, scope, query.cursor);
    if (hint !== undefined && granted === undefined) throw new Problem('location_not_granted');
    const limit = typeof query.limit === 'number' ? query.limit : limits.pageSizeDefault;
    const page = { limit, after };
    const call = { principal, id, query, location: granted, page, keyHash };
    const { items, next } = await endpoint.run(edge.readerOf(principal.merchant), call);
    const meta = next === undefined ? {} : { next_cursor: edge.cursors.seal(scope, next) };
    return { status: 200, data: items, meta };
  };
}

function writeHandler(edge: Edge, endpoint: AnyWriteEndpoint): Handler {
  const { contract } = endpoint;
  const parser = new QueryParser(undefined);
  const isVersioned = contract.method === 'PATCH';
  const namesLocation = 'location_id' in contract.body.properties;
  return async (request) => {
    const token = preAuthentication(edge, request);
    const decoded = attempt(() => decodeBody(request));
    const named = namesLocation && decoded.kind === 'ok' ? decoded.value.location_id : undefined;
    const hint = lookedUp(named);
    const brought = attempt(() => broughtKey(request, contract.name));
    const question = brought.kind === 'ok' ? brought.value : undefined;
    const caller = await authenticate(edge, request, token, hint, question);
    requireScope(caller.principal, contract.scope);
    if (brought.kind === 'failed') throw brought.error;
    const ifMatch = ifMatchVersion(request.headers, isVersioned);
    if (decoded.kind === 'failed') throw decoded.error;
    parser.parse(searchOf(request.raw.url ?? ''));
    if (hint !== undefined && caller.location === undefined) {
      throw new Problem('location_not_granted');
    }
    const answer = await edge.submitter.submit({
      endpoint,
      principal: caller.principal,
      id: pathId(request),
      body: decoded.value,
      key: brought.value.key,
      keyHash: brought.value.keyHash,
      known: caller.bound && knownOperation(caller.bound),
      ifMatch,
      requestId: request.id,
      deadline: request.deadline,
    });
    const location = apiPrefix + contract.memberPath.replace('{id}', answer.resourceId);
    return {
      status: successStatus(contract),
      data: answer.data,
      meta: { operation_id: answer.operationId },
      headers: {
        ...(contract.method === 'POST' ? { Location: location } : {}),
        ...etagOf(answer.data),
        ...(answer.replayed ? { 'Idempotent-Replayed': 'true' } : {}),
      },
    };
  };
}

/** The key of a write, as the query asks about it that reads the credential. */
function broughtKey(request: FastifyRequest, type: OperationType) {
  const key = idempotencyKey(request.headers);
  return { key, type, keyHash: hashKey(key) };
}

/** The steps before the credential is read. */
function preAuthentication(edge: Edge, request: FastifyRequest): string {
  requireJsonAccepted(request.headers);
  return bearerToken(edge, request);
}

async function admit(
  edge: Edge,
  request: FastifyRequest,
  contract: Endpoint['contract'],
  locationId: string | undefined,
): Promise<Authenticated> {
  const token = preAuthentication(edge, request);
  const caller = await authenticate(edge, request, token, locationId);
  requireScope(caller.principal, contract.scope);
  return caller;
}

function decodeBody(request: FastifyRequest): JsonObject {
  requireJsonBody(request.declaredType, request.headers['content-encoding']);
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  try {
    return decodeJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new Problem('invalid_json', {
      message: `The body is not usable JSON: ${error.message}.`,
      details: [{ field: 'body', code: 'invalid_json', message: error.message }],
    });
  }
}

/** Anything of 1 to 64 characters that names a location is looked up; the rest is a field error. */
function lookedUp(value: unknown): string | undefined {
  const isName =
    typeof value === 'string' && value !== '' && [...value].length <= limits.idLengthMax;
  return isName ? value : undefined;
}

function keyFilter(request: FastifyRequest): Buffer | undefined {
  const isPresent = request.headers['idempotency-key'] !== undefined;
  return isPresent ? hashKey(idempotencyKey(request.headers)) : undefined;
}

function openCursor(
  cursors: CursorSealer,
  scope: Parameters<CursorSealer['open']>[0],
  cursor: unknown,
): string | undefined {
  if (typeof cursor !== 'string') return undefined;
  const opened = cursors.open(scope, cursor);
  if (opened.kind === 'valid') return opened.after;
  const message =
    opened.kind === 'malformed'
      ? 'is not a cursor of this route'
      : 'was issued for other filters; repeat those of the first page';
  throw new Problem('invalid_cursor', {
    details: [{ field: 'query.cursor', code: opened.kind, message }],
  });
}

function pathId(request: FastifyRequest): string {
  const { id } = request.params as { id?: string };
  return id ?? '';
}

/** Resources with a version of their own are tagged with it. */
function etagOf(data: object): Record<string, string> {
  return 'version' in data && typeof data.version === 'number' ? { ETag: `"${data.version}"` } : {};
}

type Attempt<T> = { kind: 'ok'; value: T } | { kind: 'failed'; error: unknown };

function attempt<T>(run: () => T): Attempt<T> {
  try {
    return { kind: 'ok', value: run() };
  } catch (error) {
    return { kind: 'failed', error };
  }
}
