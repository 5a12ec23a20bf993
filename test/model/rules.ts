// What becomes of a write, in the order in which the interface judges it: caller, scope, location,
// key, fields, path, state.

import type { JsonObject } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { Scope } from '../../src/core/principal.ts';
import { defaults, type Noun } from '../kit/bodies.ts';
import { spoilt } from '../kit/spoil.ts';
import {
  isInSight,
  judgeAccess,
  managedBy,
  placeFaults,
  refusalOfPlaces,
  rowOf,
} from './access.ts';
import { count, journalFaults } from './counts.ts';
import { levelShown, move, placeOf } from './ledger.ts';
import { fulfil, release, reservationShown, reserve } from './reservations.ts';
import { transfer } from './transfers.ts';
import {
  type Bound,
  binding,
  type Caller,
  type Credential,
  isSameRequest,
  type Merchant,
  type Rows,
  reaches,
  sorted,
  unitsOf,
  type World,
  type Write,
} from './world.ts';

/** A detail without its words. */
export type Detail = JsonObject;

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly details: readonly Detail[];
}

/** What the service chooses for a write. */
export interface Minted {
  readonly id: string;
  readonly at: string;
  readonly operation: string;
  readonly position: string;
  /** The answer, for what else it chose. */
  readonly data: JsonObject;
  /** An attempt without an answer has done it: what only the first answer shows is lost. */
  readonly isReplay: boolean;
  /** Takes an ID of it, which must be new. */
  adopt(id: unknown, prefix: string): string;
}

export type Verdict =
  /** Nothing is bound. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The key is bound to a refusal. */
  | { readonly kind: 'rejected'; readonly refusal: Refusal }
  /** The key is bound to what was written: done once, and shown. */
  | {
      readonly kind: 'done';
      readonly does: (minted: Minted) => JsonObject;
      /** What an upsert changes; undefined: it creates. */
      readonly changes?: string;
      /** It changes nothing. */
      readonly keeps?: JsonObject;
    }
  | { readonly kind: 'replayed'; readonly bound: Bound };

export const nounOf = (type: OperationType): Noun | 'inventory' =>
  type.split('.')[0] as Noun | 'inventory';
export const isCreate = (type: OperationType): boolean => /\.(?:create|invite)$/.test(type);
export const isChange = (type: OperationType): boolean => type.endsWith('.update');
/** Of something that the path names. */
export const hasId = (type: OperationType): boolean =>
  isChange(type) || isEnd(type) || type === 'people.invite_again';
export const scopeOf = (type: OperationType): string =>
  managedBy(type) === undefined ? `${nounOf(type)}.write` : 'access.write';
/** Of a reservation. */
export const isEnd = (type: OperationType): boolean =>
  type === 'inventory.release' || type === 'inventory.fulfil';
export const isPatch = (type: OperationType): boolean => isChange(type) || type.endsWith('.upsert');

export function judge(world: World, caller: Caller, write: Write, key: string): Verdict {
  const { credential } = caller;
  const bound = world.bound.get(binding(credential, write, key));
  const isSame =
    bound !== undefined && write.spoil === undefined && isSameRequest(write, bound.write);
  const refusal =
    refusalOfCaller(caller, scopeOf(write.type)) ??
    refusalOfPlace(credential, write) ??
    refusalOfPlaces(credential, write) ??
    refusalOfNamed(credential, write, isSame ? bound.resource : '') ??
    (isSame && !isHeld(credential, write) ? notFound : undefined);
  if (refusal !== undefined) return { kind: 'refused', refusal };
  if (bound !== undefined) {
    if (isSame) return { kind: 'replayed', bound };
    const code = 'idempotency_key_reused';
    const detail = { field: 'header.idempotency-key', code, operation_id: bound.operation };
    return { kind: 'refused', refusal: { status: 409, code, details: [detail] } };
  }
  const { merchant } = credential;
  const unbound = refusalOfFields(write) ?? refusalOfPath(credential, write);
  if (unbound !== undefined) return { kind: 'refused', refusal: unbound };
  const special = judgeStock(credential, write) ?? judgeAccess(world, credential, write);
  if (special !== undefined) return special;
  const noun = nounOf(write.type) as Noun;
  if (write.named !== undefined) return upsert(merchant, noun, write);
  return isCreate(write.type) ? create(merchant, noun, write) : change(merchant, noun, write);
}

function judgeStock(credential: Credential, write: Write): Verdict | undefined {
  const rules: Readonly<Record<OperationType, (by: Credential, asked: Write) => Verdict>> = {
    'inventory.adjust': adjust,
    'inventory.transfer': transfer,
    'inventory.count': count,
    'inventory.reserve': reserve,
    'inventory.release': release,
    'inventory.fulfil': fulfil,
  };
  return rules[write.type]?.(credential, write);
}

export function refusalOfCaller(caller: Caller, scope: string | null): Refusal | undefined {
  if (!caller.isLive) return { status: 401, code: 'invalid_token', details: [] };
  if (scope === null || caller.credential.scopes.includes(scope as Scope)) return undefined;
  const code = 'insufficient_scope';
  return { status: 403, code, details: [{ code, scope }] };
}

const notGranted: Refusal = { status: 403, code: 'location_not_granted', details: [] };

/** The same with the fields that name what is not granted. */
export const notGrantedIn = (fields: readonly string[]): Refusal => ({
  ...notGranted,
  details: fields.map((field) => ({ field, code: 'location_not_granted' })),
});

export const notFound: Refusal = { status: 404, code: 'not_found', details: [] };
export const erased: Refusal = { status: 410, code: 'resource_erased', details: [] };

/** What is sent: the body, with the member that was spoilt. */
export const sentBody = ({ body, spoil }: Write): JsonObject =>
  spoil === undefined ? body : spoilt(body, spoil);

/** A location that is named must be granted, whatever else is wrong. */
function refusalOfPlace(credential: Credential, write: Write): Refusal | undefined {
  const { type, id } = write;
  if (type === 'locations.update') return reaches(credential, id) ? undefined : notFound;
  if (type === 'locations.create') return credential.locations === 'all' ? undefined : notGranted;
  if (nounOf(type) !== 'inventory') return undefined;
  const body = sentBody(write);
  const fields = ['location_id', 'from_location_id', 'to_location_id'];
  const [first, ...others] = fields.filter((field) => {
    const location = body[field];
    return typeof location === 'string' && location !== '' && location.length <= 64;
  });
  if (first === undefined) return undefined;
  const isLost = (field: string) => {
    const location = String(body[field]);
    return !credential.merchant.locations.has(location) || !reaches(credential, location);
  };
  if (isLost(first)) return notGrantedIn(fields.filter((field) => body[field] === body[first]));
  const lost = others.filter(isLost);
  return lost.length > 0 ? notGrantedIn(lost) : undefined;
}

/** A location that is named by the merchant's own ID; a replay is of the one it wrote. */
function refusalOfNamed(
  credential: Credential,
  { type, named }: Write,
  written: string,
): Refusal | undefined {
  if (type !== 'locations.upsert' || credential.locations === 'all') return undefined;
  const id = written === '' ? holderOf(credential.merchant.locations, named)?.id : written;
  return id !== undefined && reaches(credential, id) ? undefined : notGranted;
}

const holderOf = (rows: Rows, named: string | undefined): JsonObject | undefined =>
  [...rows.values()].find((row) => row.external_id === named);

function refusalOfFields(write: Write): Refusal | undefined {
  const { type, spoil, named, body } = write;
  const details: Detail[] = [];
  if (spoil !== undefined) {
    const { field, code, allowed } = spoil;
    details.push({ field, code, ...(allowed === undefined ? {} : { allowed: [...allowed] }) });
  }
  const isUsable = !/^(unit|low_stock_at)(\.|$)/.test(spoil?.field ?? '');
  if (nounOf(type) === 'products' && body.unit !== undefined && isUsable) {
    details.push(...lowFaults({ ...body, unit: body.unit ?? defaults.products.unit ?? null }));
  }
  const isOther = named !== undefined && body.external_id !== named;
  if (isOther && spoil?.field !== 'external_id') {
    details.push({ field: 'external_id', code: 'value_not_allowed' });
  }
  if (type === 'inventory.count') details.push(...journalFaults(write));
  if (managedBy(type) !== undefined) details.push(...placeFaults(write));
  return details.length === 0 ? undefined : { status: 422, code: 'validation_failed', details };
}

function refusalOfPath(credential: Credential, write: Write): Refusal | undefined {
  const { merchant } = credential;
  const { type, id } = write;
  if (!isHeld(credential, write)) return notFound;
  if (!isChange(type)) return undefined;
  if (managedBy(type) !== undefined) return undefined;
  if (!merchant[nounOf(type) as Noun].has(id)) return notFound;
  return merchant.erased.has(id) ? erased : undefined;
}

/** A reservation in the path is at a location that is granted now; who has no more locations. */
function isHeld(credential: Credential, { type, id }: Write): boolean {
  const noun = managedBy(type);
  if (noun !== undefined && hasId(type)) {
    const one = credential.merchant[noun].get(id);
    return one !== undefined && isInSight(credential, one);
  }
  if (!isEnd(type)) return true;
  const row = credential.merchant.reservations.get(id);
  return row !== undefined && reaches(credential, row.location_id);
}

function create(merchant: Merchant, noun: Noun, { body }: Write): Verdict {
  const whole = { status: 'active', ...body, version: 1 };
  return (
    taken(merchant, noun, '', whole) ??
    done(({ id, at }) => {
      const row = { ...whole, id, created_at: at, updated_at: at };
      merchant[noun].set(id, row);
      return row;
    })
  );
}

const needs = { customers: ['name', 'email'], products: ['name'], locations: ['name'] } as const;

function upsert(merchant: Merchant, noun: Noun, write: Write): Verdict {
  const holder = holderOf(merchant[noun], write.named);
  if (holder !== undefined) {
    const id = String(holder.id);
    const verdict = change(merchant, noun, { ...write, id });
    return verdict.kind === 'done' ? { ...verdict, changes: id } : verdict;
  }
  const { body } = write;
  const missing = needs[noun].filter((field) => body[field] === undefined);
  const details = missing.map((field) => ({ field, code: 'required' }));
  if (details.length > 0) return rejected(422, 'validation_failed', details);
  const whole = changed(noun, { ...defaults[noun], status: 'active' }, body);
  const fine = noun === 'products' ? lowFaults(whole) : [];
  if (fine.length > 0) return rejected(422, 'validation_failed', fine);
  return create(merchant, noun, { ...write, body: whole });
}

function change(merchant: Merchant, noun: Noun, { id, ifMatch, body }: Write): Verdict {
  const row = merchant[noun].get(id) ?? {};
  if (ifMatch !== undefined && ifMatch !== row.version) {
    const code = 'precondition_failed';
    const detail = { field: 'header.if-match', code, current_version: row.version ?? null };
    return rejected(412, code, [detail]);
  }
  const next = changed(noun, row, body);
  const faults = noun === 'products' ? faultsOfProduct(merchant, row, next) : [];
  if (faults.length > 0) return rejected(422, 'validation_failed', faults);
  if (sorted(next) === sorted(row)) return { ...done(() => row), keeps: row };
  return (
    taken(merchant, noun, id, next) ??
    done(({ at }) => {
      const revised = { ...next, version: Number(row.version) + 1, updated_at: at };
      merchant[noun].set(id, revised);
      return revised;
    })
  );
}

function faultsOfProduct(merchant: Merchant, row: JsonObject, next: JsonObject): Detail[] {
  const hasMoved = [...merchant.movements.values()].some((one) => one.product_id === row.id);
  const isFixed = hasMoved && sorted(next.unit) !== sorted(row.unit);
  return [...(isFixed ? [{ field: 'unit', code: 'value_not_allowed' }] : []), ...lowFaults(next)];
}

/** What is low has no more decimals than the unit. */
function lowFaults(product: JsonObject): Detail[] {
  const isFine = placesOf(product.low_stock_at) <= precisionOf(product);
  return isFine ? [] : [{ field: 'low_stock_at', code: 'too_many_decimal_places' }];
}

/** Null clears a member, or takes it back to its default; metadata is merged, null deletes. */
function changed(noun: Noun, row: JsonObject, patch: JsonObject): JsonObject {
  const next = { ...row };
  for (const [name, value] of Object.entries(patch)) {
    next[name] = value ?? defaults[noun][name] ?? null;
    if (name === 'metadata' && value !== null) {
      const pairs = { ...(row.metadata as JsonObject), ...(value as JsonObject) };
      next.metadata = Object.fromEntries(Object.entries(pairs).filter(([, one]) => one !== null));
    }
  }
  return next;
}

const uniqueFields = ['sku', 'code', 'external_id'];

/** What another row of the merchant holds already. */
function taken(merchant: Merchant, noun: Noun, id: string, row: JsonObject): Verdict | undefined {
  const holders = [...merchant[noun].values()].filter((other) => other.id !== id);
  const fields = uniqueFields.filter(
    (field) =>
      typeof row[field] === 'string' && holders.some((other) => other[field] === row[field]),
  );
  const [first] = fields;
  if (first === undefined) return undefined;
  const details = fields.map((field) => ({ field, code: `${field}_taken` }));
  return rejected(422, `${first}_taken`, details);
}

function adjust(credential: Credential, { body }: Write): Verdict {
  const { merchant } = credential;
  const { product_id, location_id, target_quantity } = body;
  const level = merchant.levels.get(placeOf(product_id, location_id));
  const refusal = refusalOfAdjustment(merchant, body, String(level?.quantity ?? '0'));
  if (refusal !== undefined) return refusal;
  const { reason = null, note = null, reference = null } = body;
  return done((minted) => {
    const about = { product_id: String(product_id), location_id: String(location_id) };
    const step = { id: minted.id, line: 1, type: 'adjustment', ...about };
    const after = unitsOf(String(target_quantity));
    move(credential, minted, { ...step, reason, note, reference }, after);
    return shown(merchant, 'inventory.adjust', minted.id);
  });
}

function refusalOfAdjustment(
  merchant: Merchant,
  body: JsonObject,
  current: string,
): Verdict | undefined {
  const refuse = (code: string, field: string, more: JsonObject = {}) =>
    rejected(422, code, [{ field, code, ...more }]);
  const product = merchant.products.get(String(body.product_id));
  const fault = productFault(product);
  if (fault !== undefined) return refuse(fault, 'product_id');
  const precision = precisionOf(product);
  const tooFine = ['target_quantity', 'expected_quantity']
    .filter((field) => placesOf(body[field]) > precision)
    .map((field) => ({ field, code: 'too_many_decimal_places' }));
  if (tooFine.length > 0) return rejected(422, 'validation_failed', tooFine);
  const location = merchant.locations.get(String(body.location_id));
  if (location?.status !== 'active') return refuse('location_inactive', 'location_id');
  const now = { current_quantity: current };
  if (body.expected_quantity !== null && body.expected_quantity !== current) {
    return refuse('inventory_quantity_mismatch', 'expected_quantity', now);
  }
  if (body.target_quantity !== current) return undefined;
  return refuse('inventory_no_change', 'target_quantity', now);
}

/** That of its unit. */
export const precisionOf = (product: JsonObject | undefined): number =>
  (product?.unit as { precision: number } | undefined)?.precision ?? 0;

/** Why a product cannot move. */
export function productFault(product: JsonObject | undefined): string | undefined {
  if (product === undefined) return 'product_not_found';
  if (product.status === 'archived') return 'product_archived';
  return product.inventory_tracked === false ? 'inventory_not_tracked' : undefined;
}

/** What an answer to a write shows: the resource as it is now, an adjustment with its level. */
export function shown(merchant: Merchant, type: OperationType, id: string): JsonObject {
  const noun = managedBy(type);
  const one = noun && merchant[noun].get(id);
  if (one !== undefined) return rowOf(one);
  if (type === 'inventory.transfer') return merchant.transfers.get(id) ?? {};
  if (type === 'inventory.count') return merchant.counts.get(id) ?? {};
  const held = merchant.reservations.get(id);
  if (held !== undefined) return reservationShown(held);
  if (type !== 'inventory.adjust') return merchant[nounOf(type) as Noun].get(id) ?? {};
  const movement = merchant.movements.get(id) ?? {};
  const level = merchant.levels.get(placeOf(movement.product_id, movement.location_id));
  return { ...movement, level: level === undefined ? null : levelShown(merchant, level) };
}

export const placesOf = (quantity: unknown): number =>
  typeof quantity === 'string' ? (quantity.split('.')[1] ?? '').length : 0;

export const done = (does: (minted: Minted) => JsonObject): Verdict & { kind: 'done' } => ({
  kind: 'done',
  does,
});

export const rejected = (status: number, code: string, details: readonly Detail[]): Verdict => ({
  kind: 'rejected',
  refusal: { status, code, details },
});
