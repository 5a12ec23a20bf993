// The state of the model: what GET would show, and what was sent. It knows no tables, no batches
// and no locks: one request at a time, and maps. What only the service can choose (IDs, times) the
// model takes from its answers, once.

import type { JsonObject } from '../../src/contract/json.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { Scope } from '../../src/core/principal.ts';
import type { Noun } from '../kit/bodies.ts';
import type { Spoil } from '../kit/spoil.ts';

/** Resources as they are shown, by ID, in the order in which they were made. */
export type Rows = Map<string, JsonObject>;

export interface Merchant extends Readonly<Record<Noun, Rows>> {
  readonly id: string;
  readonly name: string;
  readonly movements: Rows;
  readonly transfers: Rows;
  readonly counts: Rows;
  /** As they are stored: some that are active have expired. */
  readonly reservations: Rows;
  /** By product and location; what is put aside, and who counted, is not in them. */
  readonly levels: Rows;
  /** By product and location: when each was counted last, and by which credential. */
  readonly counted: Map<string, { readonly at: string; readonly by: string }>;
  /** The time of one is null until it was read. */
  readonly operations: Rows;
  /** The second location that an operation names, by its ID. */
  readonly otherPlaces: Map<string, string>;
  /** What an operation made low, by its ID. */
  readonly low: Map<string, readonly JsonObject[]>;
  /** Customers. */
  readonly erased: Set<string>;
  /** The upserts that created. */
  readonly creating: Set<string>;
  readonly journal: Journal;
  readonly people: Map<string, Credential>;
  /** Of programs. */
  readonly tokens: Map<string, Credential>;
}

export interface Journal {
  /** Empty until an answer has named it. */
  id: string;
  /** The time of each operation that changed something: the first has position 1. */
  readonly times: string[];
}

export interface Credential {
  readonly merchant: Merchant;
  readonly id: string;
  /** As every answer shows it: whoever is renamed was always called so. */
  readonly actor: Actor;
  /** By the operator. */
  readonly isIssued: boolean;
  /** A person's. */
  role: Role | null;
  version: number;
  readonly created_at: string;
  revoked_at: string | null;
  /** Of the newest token of a program. */
  expires_at: string | null;
  last_four: string | null;
  /** A person's, until it is used: its text, if an answer showed it, and its end. */
  invitation: string | null;
  invitation_expires_at: string | null;
  scopes: readonly Scope[];
  locations: 'all' | readonly string[];
  /** Those that are valid, the newest last. */
  tokens: readonly string[];
  /** Those that once were. */
  ended: readonly string[];
}

export type Role = 'owner' | 'keeper' | 'cashier' | 'viewer';

export interface Actor {
  readonly credential_id: string;
  name: string;
  readonly kind: 'personal_access_token';
  readonly application_id: null;
}

/** Who sends a request: a credential by one of its tokens. */
export interface Caller {
  readonly credential: Credential;
  readonly token: string;
  readonly isLive: boolean;
}

/** What a write means. On a create the body has every member. */
export interface Write {
  readonly type: OperationType;
  /** Of the path. */
  readonly id: string;
  /** The external ID that an upsert names. */
  readonly named?: string;
  readonly ifMatch: number | undefined;
  readonly body: JsonObject;
  /** One member is sent as something that its field refuses. */
  readonly spoil?: Spoil | undefined;
}

/** What a key is bound to. */
export interface Bound {
  readonly write: Write;
  readonly operation: string;
  /** What was written. */
  readonly resource: string;
  /** Whether it was made then. */
  readonly isNew: boolean;
  /** Null when it changed nothing. */
  readonly position: string | null;
  /** The error as it was answered, if it was refused. */
  readonly error: JsonObject | undefined;
}

/** A request that was sent, to be sent again. */
export interface Sent {
  readonly credential: Credential;
  readonly write: Write;
  readonly key: string;
}

/** A page that more follows, to be gone on from. */
export interface Bookmark {
  readonly merchant: Merchant;
  readonly list: List;
  /** The sort key of the last entry seen; of events, of the last position judged. */
  readonly after: string;
  readonly cursor: string;
  /** The position that all pages of the walk show, if it is as of a moment. */
  readonly moment: number | undefined;
}

export const listNames = [
  'customers',
  'products',
  'locations',
  'levels',
  'product levels',
  'movements',
  'transfers',
  'counts',
  'reservations',
  'operations',
  'events',
  'people',
  'tokens',
] as const;

export interface List {
  readonly name: (typeof listNames)[number];
  /** Of the path. */
  readonly id: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** An Idempotency-Key, where it is a filter. */
  readonly key?: string;
}

export interface World {
  /** In milliseconds. */
  begun: number;
  readonly merchants: Merchant[];
  /** Of all merchants those that have, or had, a token. */
  readonly credentials: Credential[];
  readonly sent: Sent[];
  readonly bookmarks: Bookmark[];
  readonly bound: Map<string, Bound>;
  /** Every ID that the service ever chose: none is chosen twice. */
  readonly ids: Set<string>;
  keys: number;
}

export function newWorld(): World {
  return {
    begun: Date.now(),
    merchants: [],
    credentials: [],
    sent: [],
    bookmarks: [],
    bound: new Map(),
    ids: new Set(),
    keys: 0,
  };
}

export function newMerchant(id: string, name: string): Merchant {
  return {
    id,
    name,
    customers: new Map(),
    products: new Map(),
    locations: new Map(),
    movements: new Map(),
    transfers: new Map(),
    counts: new Map(),
    reservations: new Map(),
    levels: new Map(),
    counted: new Map(),
    operations: new Map(),
    otherPlaces: new Map(),
    low: new Map(),
    erased: new Set(),
    creating: new Set(),
    journal: { id: '', times: [] },
    people: new Map(),
    tokens: new Map(),
  };
}

/** The position of the next change, which has this time. */
export function nextPosition({ journal }: Merchant, at: string): string {
  return String(journal.times.push(at));
}

/** Each credential has keys of its own, and each type of operation. */
export const binding = ({ id }: Credential, { type }: Write, key: string): string =>
  `${id} ${type} ${key}`;

export function reaches({ locations }: Credential, location: unknown): boolean {
  return locations === 'all' || locations.some((id) => id === location);
}

/** Two writes are the same request when they mean the same. */
export function isSameRequest(a: Write, b: Write): boolean {
  const isSameOne = a.id === b.id && a.named === b.named;
  return isSameOne && a.ifMatch === b.ifMatch && sorted(a.body) === sorted(b.body);
}

/** A JSON text that does not depend on the order of members. */
export function sorted(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

/** Quantities are counted in hundred-thousandths. */
export function unitsOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(5, '0'));
}

export function quantityOf(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(6, '0');
  const text = `${digits.slice(0, -5)}.${digits.slice(-5)}`.replace(/\.?0+$/, '');
  return units < 0n ? `-${text}` : text;
}

/** One of what there is; the smallest number is the first. Now and then something else. */
export function pick(own: readonly string[], foreign: readonly string[], n: number): string {
  const others = [...foreign.slice(0, 1), 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa', 'x'];
  const from = own.length === 0 || n >= 95 ? others : own;
  return from[n % from.length] ?? '';
}

export const newActor = (credential_id: string, name: string): Actor => ({
  ...{ credential_id, name },
  ...{ kind: 'personal_access_token', application_id: null },
});

/** Who did something, as answers show it. */
export const actorOf = ({ actor }: Pick<Credential, 'actor'>) => actor as Actor & JsonObject;
