// What a domain hands over: a contract joined to the functions that keep it. A read runs one
// statement and presents rows. A write never talks to the database: it returns statements, and the
// dispatcher sends them inside its own transaction.

import type { Actor, GrantedLocationId, MerchantId, Principal } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import type { Reads, SetStatement, Statement } from '../core/statement.ts';
import type {
  BodyOf,
  CollectionContract,
  DataOf,
  MemberContract,
  QueryOf,
  WriteContract,
} from './contract.ts';
import type { JsonObject } from './json.ts';
import type { Page, PageRequest } from './page.ts';
import type { OperationType } from './resource.ts';

export interface MemberEndpoint<C extends MemberContract = MemberContract> {
  readonly contract: C;
  /** The resource, or undefined when this principal cannot see it. */
  run(reads: Reads, principal: Principal, id: string): Promise<DataOf<C> | undefined>;
}

export interface ListCall<Query> {
  readonly principal: Principal;
  /** The path parameter, on a collection that belongs to one resource. */
  readonly id: string;
  readonly query: Query;
  /** The location that the query names, proved to be granted. */
  readonly location: GrantedLocationId | undefined;
  readonly page: PageRequest;
  /** SHA-256 of the Idempotency-Key header, where the contract takes it as a filter. */
  readonly keyHash: Buffer | undefined;
}

export interface CollectionEndpoint<C extends CollectionContract = CollectionContract> {
  readonly contract: C;
  /** Rules over several parameters that JSON Schema cannot say. */
  check?(query: QueryOf<C>): readonly Detail[];
  run(reads: Reads, call: ListCall<QueryOf<C>>): Promise<Page<DataOf<C>>>;
  /** Of a list that grows at its end: a caller may wait until something is there. */
  readonly waiting?: Waiting<QueryOf<C>>;
}

export interface Waiting<Query> {
  /** How many seconds the caller waits. */
  seconds(query: Query): number;
  /** Says whether a page for this caller may show what has happened. */
  concern(call: ListCall<Query>): (happening: Happening) => boolean;
}

/** What an operation did: as much of it as says who may see it. */
export interface Happening {
  readonly position: number;
  readonly type: OperationType;
  readonly created: boolean;
  readonly resourceId: string;
  /** Where it happened. The product is null where all may be meant. */
  readonly places: readonly {
    readonly location_id: string;
    readonly product_id: string | null;
    /** It ran low there. */
    readonly is_low: boolean;
  }[];
}

/** One write: the authorised request after parsing, with its key and fingerprint. */
export interface Write<Body = unknown> {
  readonly endpoint: AnyWriteEndpoint;
  readonly merchant: MerchantId;
  readonly actor: Actor;
  /** What the caller may do. */
  readonly scopes: Principal['scopes'];
  /** What the caller's token was limited to; null: all that its credential may. */
  readonly tokenScopes: readonly string[] | null;
  /** Which locations the caller is granted. */
  readonly granted: Principal['locations'];
  /** The ID in the path, if there is one, otherwise empty. */
  readonly id: string;
  /** By which an upsert names its record. The body says it as well. */
  readonly externalId: string | undefined;
  /** Normalised: defaults filled in, decimals canonical. */
  readonly body: Body;
  /** What is wrong with its fields. Such a write may be a replay, and is never performed. */
  readonly faults: readonly Detail[];
  /** The version that If-Match names. */
  readonly ifMatch: number | undefined;
  /** SHA-256 of the Idempotency-Key. */
  readonly keyHash: Buffer;
  /** Equal for requests that mean the same. */
  readonly fingerprint: Buffer;
  /** The ID of the operation that it becomes, unless its key is bound already. */
  readonly operationId: string;
  /** The location that it is about, if it names one. */
  readonly locationId: string | undefined;
  /** The other one, if it names two: where something goes to. */
  readonly toLocationId: string | undefined;
  /** How long it is, for those who wait: lines of its body, or of what it names, or 1. */
  lines: number;
  readonly requestId: string;
  /** By `performance.now()`: the moment at which the client gets a time-out instead. */
  readonly deadline: number;
}

/** What the rule says of a write: what to save, or a refusal. Both bind the key. */
export type Decision<Row, Change = Row> =
  | {
      readonly kind: 'succeeded';
      /** The resource after the write, in the shape that `find` reads. */
      readonly row: Row & { readonly id: string };
      /** What to save; nothing when nothing changes. */
      readonly changes: readonly Change[];
      /** How many movements of inventory are among the changes. */
      readonly movements: number;
      /** Of an upsert: whether it created the resource. */
      readonly created?: boolean;
      readonly notices?: Notices | undefined;
      /** Where it was, when the write itself does not name it. */
      readonly location_id?: string;
    }
  | Refusal;

/**
 * What the event of a write says beside its movements, decided with them: lists of what concerns a
 * product at a location.
 */
export type Notices = Readonly<
  Record<string, readonly { readonly location_id: string; readonly product_id: string }[]>
>;

/** What stands in a Decision for what only the database knows, when it saves. */
export interface Place {
  /** That of the operation in the journal, counted from the end of it: the first has 1. */
  readonly position: number;
  /** That of the operation: `pendingTime`. */
  readonly time: string;
}

export interface Refusal {
  readonly kind: 'rejected';
  readonly code: ProblemCode;
  readonly details: readonly Detail[];
  /** Where it was, when the write itself does not name it. */
  readonly location_id?: string;
}

/** What a key is bound to: a write, performed or refused for good. A row of `operations`. */
export interface Operation {
  readonly merchant_id: string;
  readonly id: string;
  readonly credential_id: string;
  readonly type: OperationType;
  readonly key_hash: Buffer;
  readonly fingerprint: Buffer;
  readonly status: 'succeeded' | 'rejected';
  /** Null when it was rejected. */
  readonly resource_id: string | null;
  /** Whether it created that resource: 201. */
  readonly created: boolean;
  /** How many movements of inventory it made. */
  readonly movements: number;
  /** In the journal; null when it changed nothing. */
  readonly position: number | null;
  /** The ID of the journal, as it is now. */
  readonly journal: string;
  /** Null when it succeeded, and so are the details. */
  readonly error_code: ProblemCode | null;
  readonly error_details: readonly Detail[] | null;
  readonly location_id: string | null;
  /** Of what goes from one location to another: who sees it has both. */
  readonly to_location_id: string | null;
  readonly request_id: string;
  readonly notices: Notices | null;
  readonly created_at: string;
}

/**
 * What `load` asks for: statements to run in order, and a function from their rows to a state. A
 * statement without records is not sent, and has no rows.
 */
export interface Load<State> {
  readonly statements: readonly SetStatement[];
  state(rows: readonly (readonly unknown[])[]): State;
}

/** A write that succeeds, and the resource after it. */
export interface Done<Row, Body> {
  readonly write: Write<Body>;
  readonly row: Row;
}

export interface WriteEndpoint<
  C extends WriteContract = WriteContract,
  State = unknown,
  Row = unknown,
  Change = Row,
> {
  readonly contract: C;
  /** Rules over several fields that JSON Schema cannot say. A fault here binds no key. */
  check?(body: Partial<BodyOf<C>>): readonly Detail[];
  /**
   * Locks and reads what deciding needs, for writes of one merchant. Always the same statements
   * in the same order: those of several merchants are sent as one.
   */
  load(writes: readonly Write<BodyOf<C>>[]): Load<State>;
  /**
   * The rule, on locked rows. It notes its own changes in `state`, so that the next write of the
   * batch sees them. Rows have the place that the operation gets if it changes something.
   */
  decide(state: State, write: Write<BodyOf<C>>, place: Place): Decision<Row, Change>;
  /** Saves all changes of one merchant, by statements in an order that is always the same. */
  save(changes: readonly Change[]): readonly SetStatement[];
  /**
   * Whether one in the path is there for the caller, as it is now. Without it: for everyone of the
   * merchant. A replay asks it, too.
   */
  isFor?(row: Row, write: Write): boolean;
  /**
   * How many lines one in the path has, where writes of it take as long. It is read before they are
   * queued anyway. When each weighed one, a transaction had room for 128 of 200 lines: 25,600.
   */
  linesOf?(row: Row): number;
  /** Of a request for several writes: these. A body with faults has none. */
  items?(body: BodyOf<C>): readonly WriteItem[];
  /** As how many requests one counts. Absent: as one. */
  requests?(body: JsonObject): number;
  /** What is saved with the successes and belongs to no merchant: lines of the audit trail. */
  beside?(done: readonly Done<Row, BodyOf<C>>[]): readonly Statement[];
  /**
   * What only the first answer says, such as a new token, because nothing keeps it: members that
   * `present` leaves out or has as null. Only the node that performed the write is asked.
   */
  reveal?(write: Write): object;
  /** Told once, by the node that performed it, of each success. It throws nothing. */
  committed?(operation: Operation, write: Write<BodyOf<C>>): void;
  /** Reads the current rows of written resources, for replays and for path IDs. */
  find(merchant: MerchantId, ids: readonly string[]): Statement<Row & { readonly id: string }>;
  /** How large such rows are, in bytes. Absent: they are small. */
  measure?(
    merchant: MerchantId,
    ids: readonly string[],
  ): Statement<{ readonly id: string; readonly bytes: number }>;
  /** Makes the wire form of a row, everywhere. Throws `resource_erased` for a wiped row. */
  present(row: Row): DataOf<C>;
}

/** A write that a request asks for among others, in the words of its own request. */
export interface WriteItem {
  readonly endpoint: AnyWriteEndpoint;
  readonly key: string;
  /** The ID in the path, if its route has one, otherwise empty. */
  readonly id: string;
  /** By which an upsert names its record. */
  readonly externalId: string | undefined;
  readonly ifMatch: number | undefined;
  readonly body: JsonObject;
}

/** Some write. Its methods are bivariant, so every domain's own types fit the unknowns. */
export type AnyWriteEndpoint = WriteEndpoint;

export type Endpoint = MemberEndpoint | CollectionEndpoint | AnyWriteEndpoint;
