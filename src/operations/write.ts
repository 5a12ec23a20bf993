// From what was asked to a Write. The body is parsed and compared as a whole, whether or not it
// may be written: a request whose key is bound is a replay or 409, whatever its fields say.

import { locationMembers } from '../contract/contract.ts';
import type { AnyWriteEndpoint, Write } from '../contract/endpoint.ts';
import type { JsonObject } from '../contract/json.ts';
import { BodyParser } from '../contract/parse.ts';
import { mintId } from '../core/id.ts';
import { actorOf, type Principal } from '../core/principal.ts';
import type { Detail } from '../core/problem.ts';
import { fingerprint, hashKey } from './fingerprint.ts';

/** What a caller who may ask for a write brings along. */
export interface WriteRequest {
  /** The ID in the path, if there is one, otherwise empty. */
  readonly id: string;
  /** The ID of the caller's own by which an upsert names its record; of another write undefined. */
  readonly externalId: string | undefined;
  readonly key: string;
  readonly body: JsonObject;
  readonly ifMatch: number | undefined;
  readonly requestId: string;
  readonly deadline: number;
}

export function writeOf(
  endpoint: AnyWriteEndpoint,
  principal: Principal,
  asked: WriteRequest,
): Write {
  const { contract } = endpoint;
  const { id, externalId, key, ifMatch, requestId, deadline } = asked;
  // Whether or not the body repeats the ID, it is the same request.
  const sent = externalId === undefined ? asked.body : { external_id: externalId, ...asked.body };
  const { body, faults } = parsed(endpoint, sent);
  const [named, other] = locationMembers.flatMap((name) => textIn(body, name));
  const isLocation = contract.resource.noun === 'location' && id !== '';
  return {
    endpoint,
    merchant: principal.merchant,
    actor: actorOf(principal),
    scopes: principal.scopes,
    tokenScopes: principal.tokenScopes,
    granted: principal.locations,
    id,
    externalId,
    body,
    faults: [...faults, ...otherIdFaults(faults, body.external_id, externalId)],
    ifMatch,
    keyHash: hashKey(key),
    // All that was sent counts: an earlier version may have bound it by rules that were wider.
    fingerprint: fingerprint(key, {
      type: contract.name,
      id,
      externalId,
      ifMatch,
      body: { ...sent, ...body },
    }),
    operationId: mintId('op_'),
    locationId: isLocation ? id : named,
    toLocationId: other,
    lines: Array.isArray(body.lines) ? Math.max(1, body.lines.length) : 1,
    requestId,
    deadline,
  };
}

function textIn(body: Readonly<Record<string, unknown>>, name: string): string[] {
  const value = body[name];
  return typeof value === 'string' ? [value] : [];
}

/** A request for several writes: it means what they mean, each under its own key, in this order. */
export function writeOfItems(write: Write, key: string, items: readonly Write[]): Write {
  const body = { operations: items.map((item) => item.fingerprint.toString('hex')) };
  const meaning = { type: write.endpoint.contract.name, id: write.id, ifMatch: undefined, body };
  return { ...write, fingerprint: fingerprint(key, meaning) };
}

/** What a body means, and what is wrong with it. */
function parsed(endpoint: AnyWriteEndpoint, sent: JsonObject) {
  const parser = parserOf(endpoint);
  const faults = parser.faults(sent);
  const body = parser.normalise(sent);
  // What several members say together is judged as far as each of them is usable by itself.
  const faulty = new Set(faults.map(({ field }) => field?.split('.')[0]));
  const usable = Object.entries(body).filter(([name]) => !faulty.has(name));
  return { body, faults: [...faults, ...(endpoint.check?.(Object.fromEntries(usable)) ?? [])] };
}

/** An upsert that names one record and would give it the ID of another. */
function otherIdFaults(
  faults: readonly Detail[],
  sent: unknown,
  externalId: string | undefined,
): Detail[] {
  if (externalId === undefined || sent === externalId) return [];
  if (faults.some(({ field }) => field === 'external_id')) return [];
  const message = 'must be the one in the query, or be left out';
  return [{ field: 'external_id', code: 'value_not_allowed', message }];
}

const parsers = new WeakMap<AnyWriteEndpoint, BodyParser>();

/** Compiled once per endpoint. */
function parserOf(endpoint: AnyWriteEndpoint): BodyParser {
  let parser = parsers.get(endpoint);
  if (parser === undefined) {
    parser = new BodyParser(endpoint.contract);
    parsers.set(endpoint, parser);
  }
  return parser;
}
