// What a request says, read part by part before anything is judged. What is wrong with a part is
// kept in its place, because the order of the checks is not the order of reading.

import type { FastifyRequest } from 'fastify';
import {
  type BodyLimits,
  bodyLimitsOf,
  isUpsert,
  locationMembers,
  ordinaryBody,
} from '../contract/contract.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { decodeJsonObject, JsonFault, type JsonObject } from '../contract/json.ts';
import { QueryParser } from '../contract/parse.ts';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import { bearerToken } from './authenticate.ts';
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
}

/** How the requests of a route are read. */
export function gathererOf({ contract }: Endpoint): (request: FastifyRequest) => Gathered {
  const isWriting = contract.kind === 'write';
  const most = isWriting ? bodyLimitsOf(contract) : ordinaryBody;
  const isList = contract.kind === 'collection';
  const takesQuery = isList || isUpsert(contract);
  const parser = new QueryParser(contract);
  const isVersioned = isWriting && contract.method === 'PATCH' && !isUpsert(contract);
  const members = isWriting ? contract.body.properties : {};
  const single = locationMembers.filter((name) => name in members);
  const namesLocations = 'location_ids' in members;
  const takesKey = ({ headers }: FastifyRequest) =>
    isWriting || (isList && contract.keyFilter === true && 'idempotency-key' in headers);
  return (request) => {
    const { headers } = request;
    const body = isWriting ? read(() => decodeBody(request, most)) : undefined;
    const search = read(() => searchOf(request.raw.url ?? ''));
    const isEmpty = search instanceof URLSearchParams && search.size === 0;
    const filter = isList && search instanceof URLSearchParams && search.get('location_id');
    const [named, ...others] = single.flatMap((name) => namedIn(body, name));
    return {
      accept: read(() => requireJsonAccepted(headers)),
      token: read(() => bearerToken(request)),
      key: takesKey(request) ? read(() => idempotencyKey(headers)) : undefined,
      ifMatch: isWriting ? read(() => ifMatchVersion(headers, isVersioned)) : undefined,
      body,
      query: isEmpty && !takesQuery ? {} : read(() => parser.parse(said(search))),
      locationId: named ?? lookedUp(filter),
      locationIds: namesLocations ? listedIn(body) : others,
      id: (request.params as { id?: string }).id ?? '',
    };
  };
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

function decodeBody(request: FastifyRequest, most: BodyLimits): JsonObject {
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

function namedIn(body: Part<JsonObject | undefined>, name: string): string[] {
  if (body === undefined || body instanceof Problem) return [];
  return [lookedUp(body[name]) ?? []].flat();
}

function listedIn(body: Part<JsonObject | undefined>): string[] {
  if (body === undefined || body instanceof Problem) return [];
  const { location_ids: listed } = body;
  if (!Array.isArray(listed) || listed.length > limits.locationsNamedMax) return [];
  return listed.flatMap((value) => lookedUp(value) ?? []);
}

/** Any text of 1 to 64 characters that names a location is looked up; the rest is a field error. */
function lookedUp(value: unknown): string | undefined {
  const isName =
    typeof value === 'string' && value !== '' && [...value].length <= limits.idLengthMax;
  return isName ? value : undefined;
}
