// From a request to its answer: gather → look up → judge → run. What the request says is gathered
// first, so that one query answers for its token, for the location it names and for its key. Then
// it is judged by one list of checks; what is wrong is said at its place in the list. The writes of
// a batch pass the same list, each by itself.

import type { FastifyRequest } from 'fastify';
import type { Authenticated } from '../access/authenticator.ts';
import { type CollectionContract, isUpsert, type QueryOf } from '../contract/contract.ts';
import type { CursorScope, CursorSealer } from '../contract/cursor.ts';
import type {
  AnyWriteEndpoint,
  CollectionEndpoint,
  Endpoint,
  ListCall,
  MemberEndpoint,
  Operation,
  Waiting,
  Write,
} from '../contract/endpoint.ts';
import type { Page } from '../contract/page.ts';
import { canonicalFilters } from '../contract/parse.ts';
import { limits } from '../core/limits.ts';
import { canReach, type MerchantId, type Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reads } from '../core/statement.ts';
import type { Watch } from '../events/watch.ts';
import type { WritePath } from '../operations/dispatch.ts';
import { hashKey } from '../operations/fingerprint.ts';
import { writeOf, writeOfItems } from '../operations/write.ts';
import { type CallerChecks, refuseToken, requireScope, requireWithinRate } from './authenticate.ts';
import { fieldsNaming, type Gathered, gatheredItem, gathererOf, said } from './gather.ts';
import { type Granted, grantedAmong, notGranted, requireNamed } from './grants.ts';
import { isNoneMatch } from './headers.ts';
import { eachInTurns, resultOf } from './items.ts';
import type { Success } from './respond.ts';

export const apiPrefix = '/api/v1';

/** What the pipeline works with. */
export interface Api extends CallerChecks {
  readonly readerOf: (merchant: MerchantId) => Reads;
  readonly dispatcher: WritePath;
  readonly watch: Pick<Watch, 'follow' | 'end' | 'waiting'>;
  readonly cursors: CursorSealer;
}

/** One endpoint's handler. It notes the caller on the request for the log. */
export type Handler = (request: FastifyRequest) => Promise<Success>;

export function handlerOf(api: Api, endpoint: Endpoint): Handler {
  const gather = gathererOf(endpoint);
  const run = runnerOf(endpoint);
  return async (request) => {
    const asked = gather(request);
    const found = await lookUp(api, endpoint, asked);
    const one = new Case(api, endpoint, request, asked, found);
    const bound = await judge(one);
    return run(one, bound);
  };
}

/**
 * Judges one thing: throws the Problem to answer, or lets the request pass. An operation is what
 * the key is bound to: nothing else is judged then, because the request repeats it, or is 409.
 */
type Check = (one: Case) => Verdict | Promise<Verdict>;
type Verdict = Operation | undefined;

/** Every check of every route, in the order of the contract (section 2). */
const checks = {
  accept({ asked }) {
    said(asked.accept);
  },
  authentication({ api, request, asked, found }) {
    said(asked.token);
    if (found === undefined) return refuseToken(api.failures, request);
    request.caller = found.principal;
    return undefined;
  },
  rateLimit: ({ api, request, principal, asked: { requests } }) =>
    requests === 0 ? undefined : requireWithinRate(api.limiter, request, principal, requests),
  scope: ({ endpoint, principal }) => requireScope(principal, endpoint.contract.scope),
  idempotencyKey({ asked }) {
    said(asked.key);
  },
  ifMatch({ asked }) {
    said(asked.ifMatch);
  },
  body({ asked }) {
    said(asked.body);
  },
  query({ asked, endpoint }) {
    const query = said(asked.query);
    const details = isCollection(endpoint) ? (endpoint.check?.(query) ?? []) : [];
    if (details.length > 0) throw new Problem('invalid_parameter', { details });
  },
  cursor(one) {
    one.after = openCursor(one);
  },
  locationGrant({ asked, found }) {
    const { locationId } = asked;
    if (locationId !== undefined && found?.location === undefined) {
      throw notGranted(fieldsNaming(asked, locationId));
    }
  },
  async locationGrants({ api, asked, principal, granted }) {
    const { locationIds } = asked;
    if (locationIds.length === 0) return;
    const reader = api.readerOf(principal.merchant);
    const known = granted ?? (await grantedAmong(reader, principal, locationIds));
    const lacking = locationIds.filter((id) => !known.has(id));
    if (lacking.length > 0) throw notGranted(lacking.flatMap((id) => fieldsNaming(asked, id)));
  },
  locationNamed(one) {
    const { api, principal, found } = one;
    const { contract } = one.endpoint;
    const isNamed = isUpsert(contract) && contract.resource.noun === 'location';
    const write = isNamed ? one.write : undefined;
    if (write === undefined) return undefined;
    return requireNamed(api.readerOf(principal.merchant), principal, write, found?.bound);
  },
  locationInPath({ endpoint: { contract }, asked, principal }) {
    const isLocation = contract.kind === 'write' && contract.resource.noun === 'location';
    if (isLocation && asked.id !== '' && !canReach(principal, asked.id)) {
      throw new Problem('not_found');
    }
  },
  allLocations({ endpoint: { contract }, principal }) {
    const isNeeded = contract.kind === 'write' && contract.needsAllLocations === true;
    if (isNeeded && principal.locations !== 'all') throw new Problem('location_not_granted');
  },
  items: (one) => one.openItems(),
  keyLookUp: ({ found }) => found?.bound,
  fields: ({ api, write }) => write && api.dispatcher.judgeFields(write),
  resourceInPath: ({ api, write }) => write && api.dispatcher.judgeResource(write),
} satisfies Readonly<Record<string, Check>>;

const inOrder: readonly Check[] = Object.values(checks);

async function judge(one: Case): Promise<Operation | undefined> {
  for (const check of inOrder) {
    const verdict = check(one);
    // Few checks wait, and waiting for nothing would cost each of the others a moment.
    const bound = verdict instanceof Promise ? await verdict : verdict;
    if (bound !== undefined) return bound;
  }
  return undefined;
}

/** A request while it is checked, with what the answer is made from. */
class Case {
  readonly api: Api;
  readonly endpoint: Endpoint;
  readonly request: FastifyRequest;
  readonly asked: Gathered;
  /** Undefined when the token is not valid, or was not even asked about. */
  found: Authenticated | undefined;
  /** The sort key that the cursor holds. */
  after: string | undefined;
  /** Of a batch without faults: its writes. */
  items: readonly Case[] | undefined;
  /** Which of the locations that a batch names are granted. */
  granted: Granted | undefined;
  #write: Write | undefined;
  #cursorScope: CursorScope | undefined;

  constructor(
    api: Api,
    endpoint: Endpoint,
    request: FastifyRequest,
    asked: Gathered,
    found: Authenticated | undefined,
  ) {
    this.api = api;
    this.endpoint = endpoint;
    this.request = request;
    this.asked = asked;
    this.found = found;
  }

  get principal(): Principal {
    if (this.found === undefined) throw new Error('the credential is judged first');
    return this.found.principal;
  }

  /** Undefined: the request is a read. */
  get write(): Write | undefined {
    const { endpoint, asked, request } = this;
    if (!isWrite(endpoint)) return undefined;
    this.#write ??= writeOf(endpoint, this.principal, {
      id: asked.id,
      externalId: externalIdOf(said(asked.query)),
      key: said(asked.key) ?? '',
      body: said(asked.body) ?? {},
      ifMatch: said(asked.ifMatch),
      requestId: request.id,
      deadline: request.deadline,
    });
    return this.#write;
  }

  /** What a batch asks for: its own meaning is made of theirs. */
  openItems(): Promise<undefined> | undefined {
    const { api, endpoint, request, principal, write } = this;
    if (write === undefined || !isWrite(endpoint) || endpoint.items === undefined) return undefined;
    if (write.faults.length > 0) return undefined;
    const found = { principal, location: undefined, bound: undefined };
    const items = endpoint
      .items(write.body)
      .map((item) => new Case(api, item.endpoint, request, gatheredItem(item), found));
    const writes: Write[] = [];
    const made = eachInTurns(items, (item) => item.write && writes.push(item.write));
    return made.then((nothing) => {
      this.items = items;
      this.#write = writeOfItems(write, said(this.asked.key) ?? '', writes);
      return nothing;
    });
  }

  /** The Idempotency-Key as a filter of a list. */
  get keyHash(): Buffer | undefined {
    const key = said(this.asked.key);
    return key === undefined ? undefined : hashKey(key);
  }

  /** What the cursors of a list belong to. */
  get cursorScope(): CursorScope {
    const { endpoint, asked, principal } = this;
    this.#cursorScope ??= {
      route: `${endpoint.contract.name} ${asked.id}`,
      merchant: principal.merchant,
      filters: canonicalFilters({ ...said(asked.query), key: this.keyHash?.toString('hex') }),
    };
    return this.#cursorScope;
  }
}

/** One query, unless an earlier check refuses the request. */
function lookUp(
  { authenticator }: Api,
  { contract }: Endpoint,
  { accept, token, key, locationId }: Gathered,
): Promise<Authenticated | undefined> | undefined {
  if (accept instanceof Problem || typeof token !== 'string') return undefined;
  const isBinding = contract.kind === 'write' && typeof key === 'string';
  const question = isBinding ? { type: contract.name, keyHash: hashKey(key) } : undefined;
  return authenticator.authenticate(token, locationId, question);
}

type Run = (one: Case, bound: Operation | undefined) => Promise<Success>;

function runnerOf(endpoint: Endpoint): Run {
  if (isWrite(endpoint)) return endpoint.items === undefined ? perform : performItems;
  return isCollection(endpoint) ? (one) => list(one, endpoint) : (one) => show(one, endpoint);
}

async function show(one: Case, endpoint: MemberEndpoint): Promise<Success> {
  const { api, principal, asked, request } = one;
  const data = await endpoint.run(api.readerOf(principal.merchant), principal, asked.id);
  if (data === undefined) throw new Problem('not_found');
  const headers = endpoint.contract.etag ? etagOf(data) : {};
  return isNoneMatch(request.headers, headers.ETag)
    ? { status: 304, headers }
    : { status: 200, data, headers };
}

async function list(one: Case, endpoint: CollectionEndpoint): Promise<Success> {
  const { api, asked } = one;
  const { waiting } = endpoint;
  const seconds = waiting?.seconds(said(asked.query)) ?? 0;
  const page = await (waiting !== undefined && seconds > 0
    ? wait(one, endpoint, waiting, seconds)
    : pageOf(one, endpoint, one.after));
  const { items, next, meta } = page;
  const more = next === undefined ? {} : { next_cursor: api.cursors.seal(one.cursorScope, next) };
  return { status: 200, data: items, meta: { ...meta, ...more } };
}

function pageOf(
  one: Case,
  endpoint: CollectionEndpoint,
  after: string | undefined,
): Promise<Page<object>> {
  const { api, principal } = one;
  return endpoint.run(api.readerOf(principal.merchant), callOf(one, after));
}

function callOf({ principal, asked, found, keyHash }: Case, after: string | undefined) {
  const query = said(asked.query);
  const limit = typeof query.limit === 'number' ? query.limit : limits.pageSizeDefault;
  const page = { limit, after };
  const location = found?.location;
  return { principal, id: asked.id, query, location, page, keyHash } satisfies ListCall<object>;
}

/** The caller is judged again before anything is shown: much can happen in these seconds. */
function wait(
  one: Case,
  endpoint: CollectionEndpoint,
  { concern }: Waiting<QueryOf<CollectionContract>>,
  seconds: number,
): Promise<Page<object>> {
  const { api, principal, request, asked } = one;
  const { socket } = request.raw;
  let mayShow = concern(callOf(one, undefined));
  return api.watch.follow({
    merchant: principal.merchant,
    until: request.deadline - limits.requestDeadline + seconds * 1_000,
    read: (after) => pageOf(one, endpoint, after ?? one.after),
    async judge() {
      one.found = await lookUp(api, endpoint, asked);
      for (const again of [checks.authentication, checks.scope, checks.locationGrant]) {
        await again(one);
      }
      mayShow = concern(callOf(one, undefined));
    },
    mayShow: (happening) => mayShow(happening),
    onHangUp(callback) {
      socket.once('close', callback);
      return () => socket.off('close', callback);
    },
  });
}

async function perform({ api, write }: Case, bound: Operation | undefined): Promise<Success> {
  if (write === undefined) throw new Error('a read performs nothing');
  const { resource } = write.endpoint.contract;
  const answer = await api.dispatcher.perform(write, bound);
  const location = apiPrefix + resource.path.replace('{id}', answer.resourceId);
  return {
    status: answer.created ? 201 : 200,
    data: answer.data,
    meta: {
      operation_id: answer.operationId,
      ...(answer.position === null
        ? {}
        : { position: String(answer.position), journal: answer.journal }),
    },
    headers: {
      ...(answer.created ? { Location: location } : {}),
      ...etagOf(answer.data),
      ...(answer.replayed ? { 'Idempotent-Replayed': 'true' } : {}),
    },
  };
}

/** Binds the key of the list; then each of its writes is judged and performed by itself. */
async function performItems(one: Case, bound: Operation | undefined): Promise<Success> {
  const { items, api, principal, request } = one;
  const own = await perform(one, bound);
  // Only a list that an earlier version bound has faults now.
  if (items === undefined)
    throw new Problem('validation_failed', { details: one.write?.faults ?? [] });
  const named = items.flatMap(({ asked }) => [asked.locationId ?? [], ...asked.locationIds].flat());
  const granted = await grantedAmong(api.readerOf(principal.merchant), principal, named);
  const answers = items.map(async (item): Promise<Success> => {
    if (item.write === undefined) throw new Error('a read performs nothing');
    const location = granted.get(item.asked.locationId ?? '');
    item.granted = granted;
    item.found = { principal, location, bound: await api.dispatcher.findBound(item.write) };
    return perform(item, await judge(item));
  });
  const note = (problem: Problem) => request.itemProblems.push(problem);
  const results = answers.map((answer) => resultOf(answer, request.id, note));
  return { ...own, data: { ...own.data, results: await Promise.all(results) } };
}

/** Only an upsert takes this parameter as one text. */
function externalIdOf({ external_id: named }: Readonly<Record<string, unknown>>) {
  return typeof named === 'string' ? named : undefined;
}

function isWrite(endpoint: Endpoint): endpoint is AnyWriteEndpoint {
  return endpoint.contract.kind === 'write';
}

function isCollection(endpoint: Endpoint): endpoint is CollectionEndpoint {
  return endpoint.contract.kind === 'collection';
}

function openCursor(one: Case): string | undefined {
  const { cursor } = said(one.asked.query);
  if (typeof cursor !== 'string') return undefined;
  const opened = one.api.cursors.open(one.cursorScope, cursor);
  if (opened.kind === 'valid') return opened.after;
  const message =
    opened.kind === 'malformed'
      ? 'is not a cursor of this route'
      : 'was issued for other filters; repeat those of the first page';
  throw new Problem('invalid_cursor', {
    details: [{ field: 'query.cursor', code: opened.kind, message }],
  });
}

/** Resources with a version of their own are tagged with it. */
function etagOf(data: object): Record<string, string> {
  return 'version' in data && typeof data.version === 'number' ? { ETag: `"${data.version}"` } : {};
}
