// From the numbers of a command to what they name in the present state of the model: callers, keys,
// writes and lists.

import type { JsonObject } from '../../src/contract/json.ts';
import { eventTypes, operationTypes } from '../../src/resources.ts';
import {
  barcodes,
  codes,
  emails,
  externalIds,
  type Noun,
  reasons,
  references,
  searched,
  skus,
  spoilsOf,
} from '../kit/bodies.ts';
import { comingReasons, leavingReasons } from '../kit/stock-bodies.ts';
import { type AccessDraft, accessWriteOf, isAccess } from './access-drafts.ts';
import { agedBy } from './commands.ts';
import { isChange, isEnd, nounOf } from './rules.ts';
import { idOf, type StockDraft, stockWriteOf } from './stock-drafts.ts';
import {
  type Caller,
  type Credential,
  type List,
  type Merchant,
  pick,
  type World,
  type Write,
} from './world.ts';

/** A write by numbers. */
export type Draft =
  | { readonly kind: 'create'; readonly noun: Noun; readonly body: JsonObject }
  | {
      readonly kind: 'change';
      readonly noun: Noun;
      readonly which: number;
      readonly body: JsonObject;
      readonly ifMatch: 'none' | 'current' | 'stale';
    }
  | {
      readonly kind: 'upsert';
      readonly noun: Noun;
      readonly named: string;
      readonly body: JsonObject;
    }
  | StockDraft
  | AccessDraft;

export interface WriteDraft {
  readonly what: Draft;
  /** A new key, or one that was used before, by whomever and for whatever. */
  readonly key: 'new' | number;
  /** The fault that one of its members has. */
  readonly spoil: number | null;
}

/** Counted from the end below 0. By which of its tokens: mostly the newest. */
export function callerOf({ credentials }: World, n: number, tokens = n): Caller {
  const credential = credentials.at(n < 0 ? n : n % credentials.length);
  if (credential === undefined) throw new Error('there are no credentials');
  const { tokens: live, ended } = credential;
  const usual = tokens < 85 ? live.at(-1) : live[0];
  const token = tokens >= 95 ? (ended.at(-1) ?? usual) : usual;
  const chosen = token ?? ended.at(-1) ?? '';
  return { credential, token: chosen, isLive: live.includes(chosen) };
}

export function keyOf(world: World, key: WriteDraft['key']): string {
  const used = key === 'new' ? undefined : world.sent[key % world.sent.length];
  if (used !== undefined) return used.key;
  world.keys += 1;
  return `key-of-the-model-${world.keys}`;
}

export function writeOf(world: World, credential: Credential, draft: WriteDraft): Write {
  const { what } = draft;
  const made = madeOf(world, credential, what);
  const faults = spoilsOf(made.type);
  return { ...made, spoil: draft.spoil === null ? undefined : faults[draft.spoil % faults.length] };
}

function madeOf(world: World, { merchant }: Credential, what: Draft): Write {
  if (isAccess(what)) return accessWriteOf(world, merchant, what);
  switch (what.kind) {
    case 'create':
      return { type: `${what.noun}.create`, id: '', ifMatch: undefined, body: what.body };
    case 'change': {
      const id = idOf(world, merchant, what.noun, what.which);
      const version = Number(merchant[what.noun].get(id)?.version ?? 1);
      const ifMatch = { none: undefined, current: version, stale: version + 1 }[what.ifMatch];
      return { type: `${what.noun}.update`, id, ifMatch, body: what.body };
    }
    case 'upsert': {
      const { noun, named } = what;
      const body = { ...what.body, external_id: named };
      return { type: `${noun}.upsert`, id: '', named, ifMatch: undefined, body };
    }
    default:
      return stockWriteOf(world, merchant, what);
  }
}

export function pathOf({ type, id, named }: Write): string {
  if (named !== undefined) return `/${nounOf(type)}?external_id=${encodeURIComponent(named)}`;
  if (type === 'inventory.adjust') return '/inventory/adjustments';
  if (type === 'inventory.transfer') return '/inventory/transfers';
  if (type === 'inventory.count') return '/inventory/counts';
  if (type === 'inventory.reserve') return '/inventory/reservations';
  if (type === 'people.invite_again') return `/people/${id}/invite`;
  const end = type.split('.')[1];
  if (isEnd(type)) return `/inventory/reservations/${id}/${end}`;
  return isChange(type) ? `/${nounOf(type)}/${id}` : `/${nounOf(type)}`;
}

/** A list by numbers: each filter with the number of its value. */
export interface ListDraft {
  readonly name: List['name'];
  readonly which: number;
  readonly filters: readonly (readonly [name: string, value: number])[];
  /** Operations: only the one of an earlier key. */
  readonly key: number | null;
}

export function listOf(world: World, { merchant }: Credential, draft: ListDraft): List {
  const { name } = draft;
  const location: [string, number][] = name === 'levels' ? [['location_id', draft.which]] : [];
  const sent = draft.key === null ? undefined : world.sent[draft.key % world.sent.length];
  const type: [string, string][] = sent === undefined ? [] : [['type', sent.write.type]];
  const chosen = [...location, ...draft.filters].filter(
    ([filter]) => sent === undefined || filter !== 'type',
  );
  const query = chosen.map(([filter, n]): [string, string] => [
    filter,
    filterValue(world, merchant, name, filter, n),
  ]);
  const id = name === 'product levels' ? idOf(world, merchant, 'products', draft.which) : '';
  const isPlace = query.some(([filter]) => filter.endsWith('_position'));
  const journal = isPlace ? journalNamed(world, merchant, draft) : [];
  return { name, id, query: [...type, ...query, ...journal], ...(sent && { key: sent.key }) };
}

/** That of the merchant; now and then that of another one, or none. */
function journalNamed(
  { merchants }: World,
  own: Merchant,
  { filters }: ListDraft,
): [string, string][] {
  const n = filters.find(([filter]) => filter.endsWith('_position'))?.[1] ?? 0;
  const foreign = merchants.find((one) => one !== own);
  if (n >= 85 && n < 88) return [];
  return [['journal', (n >= 88 && n < 90 ? foreign : own)?.journal.id ?? '']];
}

const statuses: Readonly<Record<string, readonly string[]>> = {
  operations: ['succeeded', 'rejected'],
  locations: ['active', 'inactive'],
  reservations: ['active', 'fulfilled', 'released', 'expired'],
  people: ['invited', 'active', 'revoked'],
  tokens: ['active', 'revoked', 'ended'],
};

function filterValue(
  world: World,
  merchant: Merchant,
  list: List['name'],
  filter: string,
  n: number,
): string {
  const fixed: Readonly<Record<string, readonly string[]>> = {
    status: statuses[list] ?? ['active', 'archived'],
    email: emails,
    external_id: externalIds,
    sku: skus,
    barcode: barcodes,
    code: codes,
    q: searched,
    reason: [...reasons, ...comingReasons, ...leavingReasons],
    short: ['true'],
    reference: references,
    low_stock: ['true'],
    type: list === 'events' ? eventTypes : operationTypes,
    order: ['asc', 'desc'],
  };
  const values = fixed[filter];
  if (values !== undefined) return values[n % values.length] ?? '';
  if (filter === 'location_id') return idOf(world, merchant, 'locations', n);
  if (filter === 'product_id') return idOf(world, merchant, 'products', n);
  if (filter === 'credential_id') {
    return world.credentials[n % world.credentials.length]?.id ?? '';
  }
  const requests = [...merchant.operations.values()].map(({ request_id }) => String(request_id));
  if (filter === 'request_id') return pick(requests, [], n);
  if (filter === 'operation_id') return pick([...merchant.operations.keys()], [], n);
  const { times: moments } = merchant.journal;
  if (filter.endsWith('_position'))
    return String(n >= 90 ? moments.length + 1 : n % moments.length);
  if (filter === 'as_of') {
    const aged = moments.filter((at) => Date.parse(at) < Date.now() - agedBy / 2);
    return n % 3 === 0 ? 'now' : (aged[n % aged.length] ?? '2020-01-31T12:00:00.000Z');
  }
  const times = timesOf(merchant, list);
  return times[n % times.length] ?? '2026-01-31T12:00:00.000Z';
}

/** The times that rows have: to the millisecond, where "at or after" and "before" part. */
function timesOf(merchant: Merchant, list: List['name']): string[] {
  if (list !== 'movements' && list !== 'levels' && list !== 'customers' && list !== 'products') {
    return [];
  }
  const member = list === 'movements' ? 'recorded_at' : 'updated_at';
  return [...merchant[list].values()].map((row) => String(row[member]));
}
