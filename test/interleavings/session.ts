// A request on its way through a node, halted before each statement of its write, and the database
// that halts it. The statements, their order and what is made of their answers are the product's
// own: this only says when the next one may go. What goes out as one pipeline goes statement by
// statement here, which is the same to the server: each stands for itself there, too.

import {
  begin,
  type Connection,
  type Reader,
  type Result,
  type Statement,
  type Writer,
} from '../../src/core/statement.ts';
import type { Database } from '../../src/database/connect.ts';

/** Whether a session halts before the statement of this name. */
export type Halts = (statement: string) => boolean;

export class Session {
  readonly name: string;
  /** The server process of its latest transaction. */
  pid: number | undefined;
  /** A statement of its transaction is under way, and may wait for a lock. */
  isAsking = false;
  isDone = false;
  /** The statement that it waits to be allowed. */
  next: string | undefined;
  /** Told of each change. */
  onChange: () => void = () => undefined;
  readonly #halts: Halts;
  #allow: (() => void) | undefined;
  #isFree = false;

  constructor(name: string, halts: Halts) {
    this.name = name;
    this.#halts = halts;
  }

  /** Begins the request; its first step waits. */
  run(request: () => Promise<void>): Promise<void> {
    return request().finally(() => {
      this.isDone = true;
      this.onChange();
    });
  }

  /** Lets it go on to its next step. */
  allow(): void {
    const allow = this.#allow;
    this.#allow = undefined;
    this.next = undefined;
    allow?.();
  }

  /** Halts it no more. */
  free(): void {
    this.#isFree = true;
    this.allow();
  }

  async halt(statement: string): Promise<void> {
    if (this.#isFree || !this.#halts(statement)) return;
    await new Promise<void>((allow) => {
      this.#allow = allow;
      this.next = statement;
      this.onChange();
    });
  }

  async ask<T>(sending: Promise<T>): Promise<T> {
    this.isAsking = true;
    try {
      return await sending;
    } finally {
      this.isAsking = false;
    }
  }
}

/** What a node writes besides, in transactions of its own: who was denied. It is nobody's step. */
export const isBesides = (statements: readonly Statement[]) =>
  statements.some(({ name }) => name === 'durable');

/** The same database, whose statements wait until the session of the moment may go on. */
export function stepped(
  database: Database,
  session: () => Session | undefined,
  isNoStep: (statements: readonly Statement[]) => boolean = () => false,
): Database {
  return {
    ...database,
    readerOf: (merchant) => reader(database.readerOf(merchant), session),
    reader: reader(database.reader, session),
    reserve: reader(database.reserve, session),
    writer: writer(database.writer, session, isNoStep),
    spanningWriter: writer(database.spanningWriter, session, isNoStep),
    inCell: (cell) => stepped(database.inCell(cell), session, isNoStep),
  };
}

/** Reads take no locks, so whoever reads is at rest before and after. */
function reader(inner: Reader, session: () => Session | undefined): Reader {
  return {
    query: async (statement) => {
      await session()?.halt(statement.name);
      return inner.query(statement);
    },
  };
}

function writer(
  inner: Writer,
  session: () => Session | undefined,
  isNoStep: (statements: readonly Statement[]) => boolean,
): Writer {
  return {
    async connect() {
      const connection = await inner.connect();
      const [answer] = await connection.send([backend]);
      const [row] = (answer?.rows ?? []) as { pid: number }[];
      const one = session();
      if (one === undefined) return connection;
      const steps = inSteps(connection, one);
      return {
        ...connection,
        send: (statements) => {
          if (isNoStep(statements)) return connection.send(statements);
          one.pid = row?.pid;
          return steps.send(statements);
        },
      };
    },
  };
}

const backend: Statement = { name: 'backend', text: 'select pg_backend_pid() as pid', values: [] };

function inSteps(inner: Connection, session: Session): Connection {
  return {
    ...inner,
    async send(statements) {
      const results: Result[] = [];
      for (const [index, statement] of statements.entries()) {
        // BEGIN takes neither a snapshot nor a lock: it is no step.
        if (statement !== begin) await session.halt(statement.name);
        try {
          results.push(...(await session.ask(inner.send([statement]))));
        } catch (error) {
          // What stands behind it in the pipeline has been sent as well; COMMIT rolls back then.
          const rest = statements.slice(index + 1);
          if (rest.length > 0) await inner.send(rest).catch(() => undefined);
          throw error;
        }
      }
      return results;
    },
  };
}
