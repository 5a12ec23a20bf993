// The boundary to the database as types: stores make statements, other parts send them. Only
// `database/` knows the driver, so this file is all that domains and the dispatcher see of it.

/** One SQL statement with its parameters. `Row` is the shape of what it returns. */
export interface Statement<Row = unknown> {
  /**
   * Unique per text: the server keeps one plan, for any values, under this name for the
   * connection's life. Empty where the best plan depends on the values: a reader has the text
   * planned anew each time, in a transaction of its own that says so.
   */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Never set; it carries the type of the rows. */
  readonly __row?: Row;
}

/**
 * A statement of a write, over a set of records that travel as one JSON array: `$1`. Whoever sends
 * it adds to each record the `merchant_id` that it belongs to, so that one statement serves a batch
 * of several merchants. What it returns carries `merchant_id` as well. One that saves changes as
 * many rows as it has records. It joins `journal (merchant_id, id, last, moment)` for the positions
 * and times of what it saves.
 */
export interface SetStatement<Row = unknown> {
  readonly name: string;
  readonly text: string;
  /** Members are named as the columns are. */
  readonly records: readonly object[];
  /** Never set; it carries the type of the rows. */
  readonly __row?: Row;
}

/** What stands for the time of saving until the database has saved: its own value for "later". */
export const pendingTime = 'infinity';

/** A time column of a record `s` as it is saved: that of `journal j` where it is pending. */
export const savedTime = (column: string) =>
  `case when s.${column} = '${pendingTime}' then j.moment else s.${column} end`;

/**
 * SQL: an interval behind a moment. It is reckoned without a time zone, because Citus takes no
 * function of a column in an UPDATE that depends on one.
 */
export const later = (moment: string, interval: string) =>
  `(${moment} at time zone 'UTC' + ${interval}) at time zone 'UTC'`;

/** Runs one read at a time, each on its own fresh snapshot of the primary. */
export interface Reader {
  query<Row>(statement: Statement<Row>): Promise<Row[]>;
}

/** Runs the reads of one merchant. */
export interface Reads extends Reader {
  /**
   * The row with an ID. `statementOf` makes the statement that reads the rows of several IDs: reads
   * by statements that differ in nothing but the IDs may share one query.
   */
  find<Row extends { readonly id: string }>(
    statementOf: (ids: readonly string[]) => Statement<Row>,
    id: string,
  ): Promise<Row | undefined>;
}

/** Those of somebody who shares no query with anyone. */
export const readsOf = (reader: Reader): Reads => ({
  query: (statement) => reader.query(statement),
  find: async (statementOf, id) => (await reader.query(statementOf([id])))[0],
});

/** Bytes as the database reads them in JSON. */
export function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

export interface Result {
  /** What the server says it did, such as `SELECT` or `COMMIT`. */
  readonly command: string;
  readonly rows: readonly unknown[];
}

/**
 * Begins a transaction that writes. It says so, because the service's role writes nothing outside
 * of one: should it fail, what is sent behind it in the same pipeline cannot commit by itself.
 */
export const begin: Statement = {
  name: 'begin',
  text: 'begin isolation level read committed read write',
  values: [],
};

/**
 * Part of what a transaction selects before it commits. Start-up refuses a database that
 * acknowledges before it has written, but the default of the role, the database or the server can
 * be changed while it runs. Judged where it costs 1 µs, and works behind any pooler.
 */
export const waitForDisk = `case when current_setting('synchronous_commit')
  in ('off', 'local', 'remote_write') then set_config('synchronous_commit', 'on', true) end`;

/**
 * The service's role has every statement planned once, for any values (`plan_cache_mode`), because
 * a page was planned anew at each request otherwise. This ends it until the transaction does. It
 * depends on no setting of the session, which other clients of a pooler would share.
 */
export const planAnew: Statement = {
  name: 'plan_anew',
  text: "set local plan_cache_mode = 'force_custom_plan'",
  values: [],
};

export const commit: Statement = { name: 'commit', text: 'commit', values: [] };

/** COMMIT of an aborted transaction succeeds, and says ROLLBACK. @throws Error unless committed. */
export function requireCommitted(answer: Result | undefined): void {
  if (answer?.command !== 'COMMIT') {
    throw new Error(`the database answered ${answer?.command} to COMMIT`);
  }
}

/** One connection held for one transaction. */
export interface Connection {
  /** Sends all statements as one round trip and rejects with the first that failed. */
  send(statements: readonly Statement[]): Promise<readonly Result[]>;
  /** Gives the connection back for reuse. Call it outside a transaction only. */
  release(): void;
  /** Closes the connection: its state is unknown. */
  destroy(): void;
}

export interface Writer {
  connect(): Promise<Connection>;
}

/**
 * - `taken`: somebody else has committed an operation with one of these keys: it can be found now.
 * - `conflict`: deadlock, serialization, unique violation: the same work may succeed again.
 * - `refused`: a value or constraint that will fail again however often it is tried.
 * - `damaged`: what the server keeps of it on its disk is broken, and may be mended.
 * - `timeout`: a lock or statement time-out.
 * - `lost`: the connection broke; what was sent may or may not have happened.
 * - `away`: the server refuses work: going down, read-only, out of connections, or unreachable.
 */
export type FailureKind =
  | 'taken'
  | 'conflict'
  | 'refused'
  | 'damaged'
  | 'timeout'
  | 'lost'
  | 'away';

/** Any failure of the database, sorted by what may be done about it. */
export class DatabaseFailure extends Error {
  readonly kind: FailureKind;
  readonly sqlstate: string | undefined;

  constructor(kind: FailureKind, sqlstate: string | undefined, cause: unknown) {
    super(`database failure: ${kind}${sqlstate === undefined ? '' : ` (${sqlstate})`}`, { cause });
    this.name = 'DatabaseFailure';
    this.kind = kind;
    this.sqlstate = sqlstate;
  }
}
