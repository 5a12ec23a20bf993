// What happened: every request that a client sent, and everything that was done to the servers.
// Times are milliseconds of the machine's monotonic clock, which all its processes share.

const credentialNames = ['steady', 'shaken', 'neighbour'] as const;

/** `shaken` loses grant, scopes and token now and then; `neighbour` is another shop's. */
export type CredentialName = (typeof credentialNames)[number];

/**
 * `change` is a PATCH of a customer, product, location, person or token by its ID, `upsert` one of
 * a product by the shop's own; `foreign` asks for another shop's. `person` and `token` make one,
 * `revoke` ends a token; `use` reads with a token that was made, `ended` with one whose revocation
 * was answered.
 */
export type Kind =
  | 'adjust'
  | 'transfer'
  | 'count'
  | 'reserve'
  | 'release'
  | 'fulfil'
  | 'upsert'
  | 'batch'
  | 'customer'
  | 'product'
  | 'change'
  | 'levels'
  | 'movement'
  | 'events'
  | 'person'
  | 'token'
  | 'revoke'
  | 'use'
  | 'ended'
  | 'foreign';

export interface Target {
  readonly product: string;
  readonly location: string;
  readonly quantity: string;
}

/** A row of a level, as an answer shows it. */
export interface SeenLevel {
  readonly product: string;
  readonly location: string;
  readonly quantity: string;
  readonly version: number;
}

/** What a write makes of a record; nobody has given that name before. */
export interface WantedRecord {
  /** None: it is to be created. */
  readonly record?: string;
  readonly name: string;
}

/** A customer, product or location, as an answer shows it. */
export interface SeenRecord {
  readonly record: string;
  readonly name: string;
  readonly version: number;
}

/** One request and what came back. */
export interface Attempt {
  readonly client: number;
  readonly kind: Kind;
  readonly credential: CredentialName;
  /** How often its token had been replaced. */
  readonly generation: number;
  readonly node: number;
  readonly start: number;
  readonly end: number;
  /** Of writes; a key with several bodies has variants. */
  readonly key?: string;
  readonly variant?: number;
  readonly target?: Target;
  readonly wanted?: WantedRecord;
  /** 0: no answer came, for the reason in `lost`. */
  readonly status: number;
  readonly lost?: string;
  readonly code?: string;
  readonly requestId?: string;
  readonly operation?: string;
  readonly resource?: string;
  readonly isReplay?: boolean;
  readonly movement?: {
    readonly sequence: number;
    readonly before: string;
    readonly after: string;
  };
  /** What a write of stock says it did: it never changes. */
  readonly moved?: string;
  /** Of a count: a level is not what was counted, because something has moved since. */
  readonly isSince?: boolean;
  /** The shop's own ID that an upsert names. */
  readonly named?: string;
  readonly position?: string;
  readonly journal?: string;
  readonly levels?: readonly SeenLevel[];
  /** Of a new person or token: what only the first answer shows was in it. */
  readonly isShown?: boolean;
  readonly record?: SeenRecord;
  /** Of a page of events: the position it was asked from. */
  readonly after?: number;
  readonly events?: readonly SeenEvent[];
  /** What it says it has judged up to. */
  readonly through?: { readonly position: number; readonly journal: string };
  /** More follows. */
  readonly isCut?: boolean;
}

export interface SeenEvent {
  readonly position: number;
  readonly type: string;
  readonly operation: string;
}

/** After these the same request may yet be done: the caller, or the service, is not ready. */
const passing: readonly number[] = [401, 403, 408, 429];

/** A write with an answer that will not change, whatever comes. */
export function isSettled({ status }: Attempt): boolean {
  return status >= 200 && status < 500 && !passing.includes(status);
}

/** A write that is bound: done, or refused for good. Its answers name its operation. */
export function isBound(attempt: Attempt): boolean {
  return attempt.key !== undefined && (isDone(attempt) || attempt.status === 422);
}

/** A write that succeeded, now or before. */
export function isDone({ key, status }: Attempt): boolean {
  return key !== undefined && (status === 200 || status === 201);
}

/** What was done to the servers, in the order it was done. */
export interface Event {
  readonly at: number;
  readonly what: string;
  readonly node?: number;
  /** Whether a transaction of this victim was open when it was killed. */
  readonly inBatch?: boolean;
}

/** A time during which a credential could not do something. */
export interface Ban {
  readonly credential: CredentialName;
  readonly kind: 'grant' | 'scope' | 'token';
  /** When the operator was told that it was done. */
  readonly from: number;
  /** When the operator asked to undo it. */
  readonly until: number;
  /** Of a replaced token: those up to this are void. */
  readonly generation: number;
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
