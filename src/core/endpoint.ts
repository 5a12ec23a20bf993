// What a domain hands over: a contract joined to the functions that keep it. A read runs one
// statement and presents rows. A write never talks to the database: it returns statements, and the
// dispatcher sends them inside its own transaction.

import type { CollectionContract, MemberContract, QueryOf, WriteContract } from './contract.ts';
import type { Page, PageRequest } from './page.ts';
import type { Actor, GrantedLocationId, MerchantId, Principal } from './principal.ts';
import type { Detail, ProblemCode } from './problem.ts';
import type { Reader, Reads, SetStatement, Statement } from './statement.ts';

export interface MemberEndpoint {
  readonly contract: MemberContract;
  /** The resource, or undefined when this principal cannot see it. */
  run(reads: Reads, principal: Principal, id: string): Promise<object | undefined>;
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
  run(reader: Reader, call: ListCall<QueryOf<C>>): Promise<Page<object>>;
}

/** One write on its way: who asks for what, already validated and normalised. */
export interface Command<Body = unknown> {
  readonly operationId: string;
  readonly merchant: MerchantId;
  readonly actor: Actor;
  /** The path parameter of a PATCH, otherwise empty. */
  readonly id: string;
  readonly body: Body;
  /** The version that If-Match names. */
  readonly ifMatch: number | undefined;
}

/** What the rule says of a command: a change to save, or a refusal. Both bind the key. */
export type Decision<Change> =
  | { readonly kind: 'succeeded'; readonly resourceId: string; readonly change: Change }
  | { readonly kind: 'rejected'; readonly code: ProblemCode; readonly details: readonly Detail[] };

/**
 * What `load` asks for: statements to run in order, and how to see their rows as a state. A
 * statement without records is not sent, and has no rows.
 */
export interface Load<State> {
  readonly statements: readonly SetStatement[];
  state(rows: readonly (readonly unknown[])[]): State;
}

export interface WriteEndpoint<Body = unknown, State = unknown, Change = unknown, Row = unknown> {
  readonly contract: WriteContract;
  /** Rules over several fields that JSON Schema cannot say. A fault here binds no key. */
  check?(body: Body): readonly Detail[];
  /**
   * Locks and reads what deciding needs, for commands of one merchant. Always the same statements
   * in the same order: those of several merchants are sent as one.
   */
  load(commands: readonly Command<Body>[]): Load<State>;
  /**
   * The rule, on locked rows. It notes its own change in `state`, so that the next command of the
   * batch sees it. `now` (RFC 3339) was read after the locks were taken.
   */
  decide(state: State, command: Command<Body>, now: string): Decision<Change>;
  /** Saves all changes of one merchant, by statements in an order that is always the same. */
  save(changes: readonly Change[]): readonly SetStatement[];
  /** The row as the change leaves it, in the shape `find` reads it. */
  row(change: Change): Row;
  /** Reads the current rows of written resources, for replays and for path IDs. */
  find(merchant: MerchantId, ids: readonly string[]): Statement<Row & { readonly id: string }>;
  /** The one way from row to wire. Throws `resource_erased` for a wiped row. */
  present(row: Row): object;
}

/** Some write. Its methods are bivariant, so every domain's own types fit the unknowns. */
export type AnyWriteEndpoint = WriteEndpoint;

export type Endpoint = MemberEndpoint | CollectionEndpoint | AnyWriteEndpoint;
