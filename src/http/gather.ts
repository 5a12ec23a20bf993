// What a request says, read part by part before anything is judged. What is wrong with a part is
// kept in its place, because the order of the checks is not the order of reading.

import type { FastifyRequest } from 'fastify';
import {
  type BodyLimits,
  bodyLimitsOf,
  isUpsert,
  locationMembers,
  ordinaryBody,
  type WriteContract,
} from '../contract/contract.ts';
import type { AnyWriteEndpoint, Endpoint, WriteItem } from '../contract/endpoint.ts';
import { decodeJsonObject, JsonFault, type JsonObject } from '../contract/json.ts';
import { QueryParser } from '../contract/parse.ts';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import { callerToken } from './authenticate.ts';
import { idempotencyKey, ifMatchVersion, requireJsonAccepted, requireJsonBody } from './headers.ts';
import { searchOf } from './wire/message.ts';

/** A part of a request as it was read: what it says, or the problem that reading it met. */
export type Part<T> = T | Problem;

/** What a request says. Of what its route does not take nothing is gathered. */
export interface Gathered {
  readonly accept: Part<undefined>;
  readonly token: Part<string | undefined>;
  readonly key: Part<string | undefined>;
  readonly ifMatch: Part<number | undefined>;
  readonly body: Part<JsonObject | undefined>;
  readonly query: Part<Readonly<Record<string, unknown>>>;
  /** The location that the body or the query names. */
  readonly locationId: string | undefined;
  /** Further ones: those that a body names in a list, or where something goes to. */
  readonly locationIds: readonly string[];
  /** The path parameter, otherwise empty. */
  readonly id: string;
  /** As how many requests it counts. */
  readonly requests: number;
}

/** How the requests of a route are read. */
export function gathererOf(endpoint: Endpoint): (request: FastifyRequest) => Gathered {
  const { contract } = endpoint;
  const isWriting = contract.kind === 'write';
  const most = isWriting ? bodyLimitsOf(contract) : ordinaryBody;
  const isList = contract.kind === 'collection';
  const takesQuery = isList || isUpsert(contract);
  const parser = new QueryParser(contract);
  const isVersioned = isWriting && contract.method === 'PATCH' && !isUpsert(contract);
  const takesKey = ({ headers }: FastifyRequest) =>
    isWriting || (isList && contract.keyFilter === true && 'idempotency-key' in headers);
  return (request) => {
    const { headers } = request;
    const body = isWriting ? read(() => decodeBody(request, most)) : undefined;
    const search = read(() => searchOf(request.raw.url ?? ''));
    const isEmpty = search instanceof URLSearchParams && search.size === 0;
    const sent = isObject(body) ? body : undefined;
    const filter = isList && search instanceof URLSearchParams && search.get('location_id');
    return {
      accept: read(() => requireJsonAccepted(headers)),
      token: read(() => callerToken(request)),
      key: takesKey(request) ? read(() => idempotencyKey(headers)) : undefined,
      ifMatch: isWriting ? read(() => ifMatchVersion(headers, isVersioned)) : undefined,
      body,
      query: isEmpty && !takesQuery ? {} : read(() => parser.parse(said(search))),
      id: (request.params as { id?: string }).id ?? '',
      requests: (sent && requestsOf(endpoint, sent)) ?? 1,
      ...(isWriting
        ? locationsIn(contract, sent)
        : { locationId: lookedUp(filter), locationIds: [] }),
    };
  };
}

/** The same of a write that is asked for among others. Of the whole request it counts nothing. */
export function gatheredItem(item: WriteItem): Gathered {
  const { endpoint, key, id, externalId, ifMatch, body } = item;
  return {
    ...{ accept: undefined, token: undefined, requests: 0 },
    ...{ key, id, ifMatch, body },
    query: externalId === undefined ? {} : { external_id: externalId },
    ...locationsIn(endpoint.contract, body),
  };
}

/** The fields of a request that name this location. */
export function fieldsNaming({ body }: Gathered, location: string): string[] {
  if (!isObject(body)) return ['query.location_id'];
  const { location_ids: listed } = body;
  return [
    ...locationMembers.filter((name) => body[name] === location),
    ...(Array.isArray(listed) ? listed : []).flatMap((one, index) =>
      one === location ? [`location_ids.${index}`] : [],
    ),
  ];
}

function isObject(body: Part<JsonObject | undefined>): body is JsonObject {
  return body !== undefined && !(body instanceof Problem);
}

function requestsOf(endpoint: Endpoint, body: JsonObject): number | undefined {
  return (endpoint as AnyWriteEndpoint).requests?.(body);
}

/** The locations that a body names. */
function locationsIn(
  { body: { properties } }: WriteContract,
  body: JsonObject | undefined,
): Pick<Gathered, 'locationId' | 'locationIds'> {
  const named: string[] = [];
  for (const name of locationMembers) {
    const one = name in properties ? lookedUp(body?.[name]) : undefined;
    if (one !== undefined) named.push(one);
  }
  const [locationId, ...others] = named;
  return { locationId, locationIds: 'location_ids' in properties ? listedIn(body) : others };
}

function read<T>(part: () => T): Part<T> {
  try {
    return part();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** @throws Problem */
export function said<T>(part: Part<T>): T {
  if (part instanceof Problem) throw part;
  return part;
}

/** @throws Problem unsupported_media_type or invalid_json. */
export function decodeBody(request: FastifyRequest, most: BodyLimits): JsonObject {
  requireJsonBody(request.declaredType, request.headers['content-encoding']);
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  try {
    return decodeJsonObject(bytes, most);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new Problem('invalid_json', {
      message: `The body is not usable JSON: ${error.message}.`,
      details: [{ field: 'body', code: 'invalid_json', message: error.message }],
    });
  }
}

function listedIn(body: JsonObject | undefined): string[] {
  const listed = body?.location_ids;
  if (!Array.isArray(listed) || listed.length > limits.locationsNamedMax) return [];
  return listed.flatMap((value) => lookedUp(value) ?? []);
}

/** Any text of 1 to 64 characters that names a location is looked up; the rest is a field error. */
function lookedUp(value: unknown): string | undefined {
  const isName =
    typeof value === 'string' && value !== '' && [...value].length <= limits.idLengthMax;
  return isName ? value : undefined;
}
