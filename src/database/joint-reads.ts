// Reads by ID that wait at the same moment share one query: a query of its own for each request was
// a third of what a read cost the service. A request joins only a query that is not sent yet,
// because one that is running may have an older snapshot than the request. Nothing is kept beyond
// its answer.

import { DatabaseFailure, type Reader, type Reads, type Statement } from '../core/statement.ts';

/** Two cost no more than one, and one that hangs does not hold up all. More share less. */
const queriesAtOnceMax = 2;
const idsPerQueryMax = 256;

type StatementOf<Row> = (ids: readonly string[]) => Statement<Row>;

interface Sought {
  readonly id: string;
  resolve(row: unknown): void;
  reject(error: unknown): void;
}

/** Reads whose statements differ in nothing but the IDs. */
interface Group {
  readonly key: string;
  readonly reader: Reader;
  readonly statementOf: StatementOf<{ readonly id: string }>;
  waiting: Sought[];
  queriesRunning: number;
  isScheduled: boolean;
}

export class JointReads {
  readonly #readerOf: (merchant: string) => Reader;
  /** Of those that somebody waits for just now. */
  readonly #groups = new Map<string, Group>();

  constructor(readerOf: (merchant: string) => Reader) {
    this.#readerOf = readerOf;
  }

  /** Each query takes its turn among those of other merchants. */
  readerOf(merchant: string): Reads {
    const reader = this.#readerOf(merchant);
    return {
      query: (statement) => reader.query(statement),
      find: (statementOf, id) => this.#find(reader, statementOf, id),
    };
  }

  #find<Row extends { readonly id: string }>(
    reader: Reader,
    statementOf: StatementOf<Row>,
    id: string,
  ): Promise<Row | undefined> {
    const { name, text, values } = statementOf([]);
    const key = `${name === '' ? text : name} ${JSON.stringify(values)}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { key, reader, statementOf, waiting: [], queriesRunning: 0, isScheduled: false };
      this.#groups.set(key, group);
    }
    const { waiting } = group;
    const found = new Promise<unknown>((resolve, reject) => waiting.push({ id, resolve, reject }));
    this.#schedule(group);
    return found as Promise<Row | undefined>;
  }

  /** After all that runs at this moment: whom one look-up let in asks one by one, but at once. */
  #schedule(group: Group): void {
    if (group.isScheduled || group.queriesRunning >= queriesAtOnceMax) return;
    group.isScheduled = true;
    process.nextTick(() => {
      group.isScheduled = false;
      const batch = group.waiting.splice(0, idsPerQueryMax);
      group.queriesRunning += 1;
      void ask(group, batch).finally(() => {
        group.queriesRunning -= 1;
        if (group.waiting.length > 0) this.#schedule(group);
        else if (group.queriesRunning === 0) this.#groups.delete(group.key);
      });
      if (group.waiting.length > 0) this.#schedule(group);
    });
  }
}

async function ask(group: Group, batch: readonly Sought[]): Promise<void> {
  const ids = [...new Set(batch.map(({ id }) => id))];
  try {
    const rows = await group.reader.query(group.statementOf(ids));
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { id, resolve } of batch) resolve(byId.get(id));
  } catch (error) {
    // A record on a damaged page must not keep the others from whoever asks for them.
    if (ids.length > 1 && error instanceof DatabaseFailure && error.kind === 'damaged') {
      const seekers = (id: string) => batch.filter((one) => one.id === id);
      await Promise.all(ids.map((id) => ask(group, seekers(id))));
      return;
    }
    for (const { reject } of batch) reject(error);
  }
}
