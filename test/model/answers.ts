// Holds answers against the model: all of an answer but the words that are meant for people. What
// the service chose in it (IDs, times) must be new and of this moment, and is then part of the
// model. A refusal that is replayed is compared to the last letter.

import { expect } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { Answer } from '../kit/api.ts';
import { managedBy, used } from './access.ts';
import { availables, madeLow } from './low.ts';
import {
  erased,
  hasId,
  isCreate,
  isEnd,
  nounOf,
  type Refusal,
  shown,
  type Verdict,
} from './rules.ts';
import {
  actorOf,
  type Bound,
  binding,
  type Caller,
  type Merchant,
  nextPosition,
  type World,
  type Write,
} from './world.ts';

/** From before a request was sent until its answer was there, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** One write with the answer to it. */
export interface Exchange {
  readonly caller: Caller;
  readonly write: Write;
  readonly key: string;
  readonly answer: Answer;
  readonly span: Span;
  /** An attempt had no answer: it may have been the one that did it. */
  readonly isUnclear: boolean;
}

const reservation = { type: 'inventory_reservation', prefix: 'rsv_' };

const resources: Readonly<Record<string, { readonly type: string; readonly prefix: string }>> = {
  customers: { type: 'customer', prefix: 'cus_' },
  products: { type: 'product', prefix: 'prod_' },
  locations: { type: 'location', prefix: 'loc_' },
  'inventory.adjust': { type: 'inventory_movement', prefix: 'imv_' },
  'inventory.transfer': { type: 'inventory_transfer', prefix: 'itr_' },
  'inventory.count': { type: 'inventory_count', prefix: 'ict_' },
  'inventory.reserve': reservation,
  'inventory.release': reservation,
  'inventory.fulfil': reservation,
  people: { type: 'person', prefix: 'cred_' },
  tokens: { type: 'token', prefix: 'cred_' },
};

function resourceOf(type: OperationType) {
  const resource = resources[type] ?? resources[nounOf(type)];
  if (resource === undefined) throw new Error(`nothing is known of ${type}`);
  return resource;
}

/** What a refusal that a key is bound to is answered with, when it is not 422. */
const statusOf: Readonly<Record<string, number>> = {
  precondition_failed: 412,
  insufficient_scope: 403,
  location_not_granted: 403,
};

const memberPaths: Readonly<Record<string, string>> = {
  inventory_movement: '/inventory/movements',
  inventory_transfer: '/inventory/transfers',
  inventory_count: '/inventory/counts',
  inventory_reservation: '/inventory/reservations',
};

export const isReplay = ({ headers }: Answer): boolean =>
  headers.get('idempotent-replayed') === 'true';

/** What is compared of an answer. */
export function plain(answer: Answer) {
  const { data, error, meta } = answer.body;
  const details = error?.details.map(({ message: _, ...detail }: { message: string }) => detail);
  return {
    status: answer.status,
    code: error?.code,
    details,
    data,
    operation: meta.operation_id,
    position: meta.position ?? null,
    journal: meta.position === undefined ? undefined : meta.journal,
    isReplay: isReplay(answer),
    location: answer.headers.get('location'),
    etag: answer.headers.get('etag'),
    challenge: answer.headers.get('www-authenticate'),
  };
}

const nothing = {
  code: undefined,
  details: undefined,
  data: undefined,
  operation: undefined,
  position: null,
  journal: undefined,
  isReplay: false,
  location: null,
  etag: null,
  challenge: null,
};

export function refusalAnswer({ status, code, details }: Refusal, operation?: string) {
  const scope = code === 'insufficient_scope' ? `, scope="${details[0]?.scope}"` : '';
  // What somebody may not give is no matter of his own token.
  const isOwn = code === 'insufficient_scope' && operation === undefined;
  const isChallenge = code === 'invalid_token' || isOwn;
  const challenge = isChallenge ? `Bearer realm="tallybook", error="${code}"${scope}` : null;
  return { ...nothing, status, code, details, operation, challenge };
}

export function readAnswer(data: unknown, etag: string | null = null) {
  return { ...nothing, status: 200, data, etag };
}

export const etagOf = ({ version }: JsonObject): string | null =>
  typeof version === 'number' ? `"${version}"` : null;

type Written = Pick<Bound, 'operation' | 'resource' | 'isNew' | 'position'>;

/** Where what was created can be read. */
export const locationOf = (type: OperationType, id: string): string =>
  `/api/v1${memberPaths[resourceOf(type).type] ?? `/${nounOf(type)}`}/${id}`;

function writeAnswer(merchant: Merchant, type: OperationType, written: Written, data: JsonObject) {
  const { operation, resource, isNew, position } = written;
  return {
    ...nothing,
    status: isNew ? 201 : 200,
    data,
    operation,
    position,
    journal: position === null ? undefined : merchant.journal.id,
    location: isNew ? locationOf(type, resource) : null,
    etag: etagOf(data),
  };
}

/** Whether the answer to a write that changes nothing is what a verdict says. It does nothing. */
export function fits(verdict: Verdict, { caller, write, answer }: Exchange): boolean {
  const { merchant } = caller.credential;
  try {
    const { operation, isReplay: is } = plain(answer);
    if (verdict.kind === 'refused') {
      expect(plain(answer)).toEqual(refusalAnswer(verdict.refusal));
    } else if (verdict.kind === 'replayed') {
      expectReplay(merchant, verdict.bound, answer);
    } else if (verdict.kind === 'rejected') {
      const expected = refusalAnswer(verdict.refusal, operation);
      expect(plain(answer)).toEqual({ ...expected, isReplay: is });
    } else {
      expect(verdict.keeps).toBeDefined();
      const written = { operation, resource: '', isNew: false, position: null };
      const expected = writeAnswer(merchant, write.type, written, verdict.keeps ?? {});
      expect(plain(answer)).toEqual({ ...expected, isReplay: is });
    }
    return true;
  } catch {
    return false;
  }
}

/** Compares the answer to a write with its verdict, and lets the model do what it says. */
export function settle(world: World, verdict: Verdict, exchange: Exchange): void {
  const { caller, answer, isUnclear } = exchange;
  const { merchant } = caller.credential;
  const how = { isReplay: isUnclear && isReplay(answer) };
  switch (verdict.kind) {
    case 'refused':
      expect(plain(answer)).toEqual(refusalAnswer(verdict.refusal));
      return;
    case 'replayed':
      expectReplay(merchant, verdict.bound, answer);
      return;
    case 'rejected': {
      const operation = newId(world, answer.body.meta.operation_id, 'op_');
      expect(plain(answer)).toEqual({ ...refusalAnswer(verdict.refusal, operation), ...how });
      const error = answer.body.error;
      bind(world, exchange, { operation, resource: '', isNew: false, position: null, error });
      return;
    }
    case 'done': {
      const { data, ...written } = perform(world, verdict, exchange);
      const expected = writeAnswer(merchant, exchange.write.type, written, data);
      expect(plain(answer)).toEqual({ ...expected, ...how });
      bind(world, exchange, { ...written, error: undefined });
    }
  }
}

function expectReplay(merchant: Merchant, bound: Bound, answer: Answer): void {
  const { write, operation, resource, error } = bound;
  if (error !== undefined) {
    const { status, operation: op, isReplay: replayed } = plain(answer);
    expect({ status, op, replayed, error: answer.body.error }).toEqual({
      ...{ status: statusOf[String(error.code)] ?? 422, replayed: true, op: operation, error },
    });
  } else if (merchant.erased.has(resource)) {
    const expected = { ...refusalAnswer(erased, operation), isReplay: true };
    expect(plain(answer)).toEqual(expected);
  } else {
    const data = used(shown(merchant, write.type, resource), answer.body.data);
    const expected = writeAnswer(merchant, write.type, bound, data);
    expect(plain(answer)).toEqual({ ...expected, isReplay: true });
  }
}

function perform(world: World, verdict: Verdict & { kind: 'done' }, exchange: Exchange) {
  const { write, answer, caller, span } = exchange;
  const noun = nounOf(write.type);
  const { data: shown = {}, meta } = answer.body;
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  const operation = newId(world, meta.operation_id, 'op_');
  const known = hasId(write.type) ? write.id : verdict.changes;
  const id = known ?? newId(world, shown.id, resourceOf(write.type).prefix);
  const at = timeOf(write.type, shown);
  const { merchant } = caller.credential;
  const isJournaled = managedBy(write.type) === undefined;
  const before = noun === 'inventory' || !isJournaled ? undefined : merchant[noun].get(id);
  const next = String(merchant.journal.times.length + 1);
  const adopt = (chosen: unknown, prefix: string) => newId(world, chosen, prefix);
  const available = availables(merchant);
  const minted = { id, at, operation, position: next, data: shown, adopt };
  const data = verdict.does({ ...minted, isReplay: isReplay(answer) });
  merchant.low.set(operation, madeLow(merchant, write, available));
  const isChanged = isJournaled && data !== before;
  if (isChanged) {
    expectWithin(span, at);
    expect(meta.journal).toMatch(/^jrn_/);
    merchant.journal.id ||= meta.journal;
  }
  const isNew = known === undefined;
  if (isNew && write.named !== undefined) merchant.creating.add(operation);
  const position = isChanged ? nextPosition(merchant, at) : null;
  return { resource: id, isNew, operation, position, data };
}

/** When it was written, as the answer says. */
function timeOf(type: OperationType, shown: JsonObject): string {
  const { created_at, ended_at, recorded_at, updated_at } = shown;
  const ofWrite = isEnd(type) ? ended_at : (recorded_at ?? updated_at);
  return String(isCreate(type) ? created_at : ofWrite);
}

function bind(
  world: World,
  { caller, write, key, answer }: Exchange,
  outcome: Written & Pick<Bound, 'error'>,
): void {
  const { credential } = caller;
  const { operation, resource, position, error } = outcome;
  world.bound.set(binding(credential, write, key), { write, ...outcome });
  const { type, id, body } = write;
  const held = credential.merchant.reservations.get(id)?.location_id;
  const [named = held ?? null, other] = [
    'location_id',
    'from_location_id',
    'to_location_id',
  ].flatMap((name) =>
    nounOf(type) === 'inventory' && typeof body[name] === 'string' ? [body[name]] : [],
  );
  if (other !== undefined) credential.merchant.otherPlaces.set(operation, other);
  credential.merchant.operations.set(operation, {
    id: operation,
    type,
    status: error === undefined ? 'succeeded' : 'rejected',
    resource: error === undefined ? { type: resourceOf(type).type, id: resource } : null,
    error:
      error === undefined ? null : { code: error.code ?? null, details: error.details ?? null },
    location_id: type === 'locations.update' ? id : named,
    position,
    credential_id: credential.id,
    actor: actorOf(credential),
    request_id: answer.body.meta.request_id,
    created_at: null,
  });
}

export function newId(world: World, id: unknown, prefix: string): string {
  const text = String(id);
  expect(text.startsWith(prefix), `${text} begins with ${prefix}`).toBe(true);
  expect(world.ids.has(text), `${text} is new`).toBe(false);
  world.ids.add(text);
  return text;
}

function expectWithin({ from, to }: Span, time: string): void {
  const at = Date.parse(time);
  expect(from <= at && at <= to, `${time} is of this moment`).toBe(true);
}

/** The times of operations are known once they were read; from then on they stay. */
export function adoptTimes(begun: number, rows: readonly JsonObject[], shown: unknown): void {
  for (const [at, row] of rows.entries()) {
    if (row.created_at !== null) continue;
    const time = (shown as JsonObject[])[at]?.created_at;
    expectWithin({ from: begun, to: Date.now() }, String(time));
    row.created_at = String(time);
  }
}
