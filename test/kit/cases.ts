// Every contract with the request that is valid for a test merchant, and how it is sent.

import { endpoints } from '../../src/app.ts';
import type { CollectionContract, Contract, WriteContract } from '../../src/contract/contract.ts';
import { type Answer, type Api, type Ask, newKey } from './api.ts';
import { type Example, examples } from './examples.ts';
import type { TestMerchant } from './merchant.ts';

/** One endpoint with the request that is valid for it. */
export interface Case<C extends Contract = Contract> {
  readonly name: string;
  readonly contract: C;
  readonly example: Example;
  readonly method: string;
}

export const cases: readonly Case[] = endpoints.map(({ contract }) => ({
  name: contract.name,
  contract,
  example: examples[contract.name] ?? {},
  method: contract.kind === 'write' ? contract.method : 'GET',
}));

export const collections = cases.filter(
  (one): one is Case<CollectionContract> => one.contract.kind === 'collection',
);
export const writes = cases.filter(
  (one): one is Case<WriteContract> => one.contract.kind === 'write',
);

/** What a test changes about the valid request. */
export interface Change extends Ask {
  readonly id?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Appended to the query as it is. */
  readonly search?: string;
  readonly body?: unknown;
  /** The body as bytes, instead of `body`. */
  readonly text?: string | Uint8Array<ArrayBuffer>;
}

/** The records of a shop are made with smaller numbers. */
let counter = 10;

/** A valid body that no request before had. */
export function freshBody(one: Case, shop: TestMerchant): Record<string, unknown> {
  counter += 1;
  return one.example.body?.(shop, counter) ?? {};
}

export function pathOf(one: Case, shop: TestMerchant, change: Change = {}): string {
  const id = change.id ?? one.example.id?.(shop) ?? '';
  const query = new URLSearchParams({ ...one.example.query?.(shop), ...change.query }).toString();
  const search = [query, change.search ?? ''].filter((part) => part !== '').join('&');
  return one.contract.path.replace('{id}', id) + (search === '' ? '' : `?${search}`);
}

/** What callers have made for requests about what is their own, by token and path. */
const made = new Map<string, string>();

/** The ID of such a resource; undefined when none is needed, or the caller may not make one. */
async function ownId({ example }: Case, shop: TestMerchant, api: Api): Promise<string | undefined> {
  // The shop has made its own already.
  const isKnown = api.token === undefined || api.token === shop.token;
  if (example.own === undefined || isKnown) return undefined;
  const { path, body } = example.own;
  const name = `${api.origin} ${api.token} ${path}`;
  const known = made.get(name);
  if (known !== undefined) return known;
  const answer = await api.post(path, body);
  if (answer.status === 201) made.set(name, answer.body.data.id);
  return answer.status === 201 ? answer.body.data.id : undefined;
}

/** The ID of what a request is about that can be done once: the same for the same key. */
export async function onceId(
  { name, example }: Case,
  shop: TestMerchant,
  { origin, token }: Api,
  key: string,
): Promise<string | undefined> {
  const maker = cases.find((other) => other.name === example.once);
  if (maker === undefined) return undefined;
  const place = `${origin} ${token} ${name} ${key}`;
  const known = made.get(place);
  if (known !== undefined) return known;
  const answer = await shop.api.post(maker.contract.path, freshBody(maker, shop));
  if (answer.status !== 201) throw new Error(`${maker.name}: ${JSON.stringify(answer.body)}`);
  made.set(place, answer.body.data.id);
  return answer.body.data.id;
}

/**
 * The ID of what a request with this key needs made before it, which it makes; undefined when that
 * is nothing.
 */
export async function madeFor(
  one: Case,
  shop: TestMerchant,
  api: Api,
  key: string,
): Promise<string | undefined> {
  return (await ownId(one, shop, api)) ?? (await onceId(one, shop, api, key));
}

/** Sends the valid request of an endpoint, with the changes. */
export async function send(
  one: Case,
  shop: TestMerchant,
  api: Api,
  change: Change = {},
): Promise<Answer> {
  const key = change.key ?? newKey();
  const id = change.id ?? (await madeFor(one, shop, api, key));
  const path = pathOf(one, shop, id === undefined ? change : { ...change, id });
  if (one.contract.kind !== 'write') return api.send('GET', path, undefined, change);
  const body = change.text ?? JSON.stringify(change.body ?? freshBody(one, shop));
  return api.send(one.method, path, body, { ...change, key });
}

/** What a replay does not show again. */
const shownOnce = ['token', 'invitation'];

/** A body without what differs from one request to the next. */
export function withoutRequestId({ body }: Answer): unknown {
  const { request_id: _, ...meta } = body.meta;
  const { results } = body.data ?? {};
  if (shownOnce.some((name) => name in (body.data ?? {}))) {
    return { ...body, data: { ...body.data, token: null, invitation: null }, meta };
  }
  if (results === undefined) return { ...body, meta };
  return { ...body, data: { ...body.data, results: results.map(resultOnly) }, meta };
}

/** A write of a batch is a replay when the batch is sent again. */
function resultOnly({ meta, ...result }: { meta: Record<string, unknown> }): unknown {
  const { request_id: _, replayed: __, ...others } = meta;
  return { ...result, meta: others };
}
