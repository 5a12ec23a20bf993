// Counts what a service asks of its database, by standing between the two. What it does by the
// clock, whatever is asked of it, is left out: rate limits' leases, when credentials were used, and
// the lines of denied requests.

import type { Connection, Reader, Statement, Writer } from '../../src/core/statement.ts';
import type { Database } from '../../src/database/connect.ts';

export interface Work {
  /** Round trips. */
  readonly trips: number;
  readonly statements: readonly Statement[];
}

export class WorkCounter {
  #trips = 0;
  #statements: Statement[] = [];

  /** The same database, with everything that passes counted. */
  watch(database: Database): Database {
    return {
      ...database,
      readerOf: (merchant) => this.#reader(database.readerOf(merchant)),
      reader: this.#reader(database.reader),
      reserve: this.#reader(database.reserve),
      writer: this.#writer(database.writer),
      spanningWriter: this.#writer(database.spanningWriter),
      inCell: (cell) => this.watch(database.inCell(cell)),
    };
  }

  /** What was asked since the last time. */
  take(): Work {
    const work = { trips: this.#trips, statements: this.#statements };
    this.#trips = 0;
    this.#statements = [];
    return work;
  }

  #reader(reader: Reader): Reader {
    return {
      query: (statement) => {
        this.#note([statement]);
        return reader.query(statement);
      },
    };
  }

  #writer(writer: Writer): Writer {
    return { connect: async () => this.#connection(await writer.connect()) };
  }

  #connection(connection: Connection): Connection {
    return {
      ...connection,
      send: (statements) => {
        if (!isByTheClock(statements)) this.#note(statements);
        return connection.send(statements);
      },
    };
  }

  #note(statements: readonly Statement[]): void {
    this.#trips += 1;
    this.#statements.push(...statements);
  }
}

/** Whether a transaction does nothing else. */
function isByTheClock(statements: readonly Statement[]): boolean {
  const names = statements.map(({ name }) => name);
  const [done, ...others] = names.filter((name) => !['begin', 'durable', 'commit'].includes(name));
  return others.length === 0 && (done === 'note_uses' || done === 'append_audit');
}
