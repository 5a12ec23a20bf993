// Small transactions: all statements and the commit in one round trip. When a function here
// returns, its transaction is committed. What an operator does is committed together with its line
// of the audit trail: neither exists without the other.

import {
  begin,
  commit,
  DatabaseFailure,
  type Reader,
  requireCommitted,
  type Statement,
  type Writer,
  waitForDisk,
} from '../core/statement.ts';
import { operatorLine } from './audit/operator-entry.ts';
import type { AuditEntry } from './audit/store.ts';

/** What the functions of an operator's commands need of the database. */
export interface Connections {
  readonly reader: Reader;
  readonly writer: Writer;
  /** The same, for what is about merchants of a cell. */
  inCell(cell: string): Connections;
}

const durable: Statement = { name: 'durable', text: `select ${waitForDisk}`, values: [] };

/**
 * Commits what an operator does, and its line. Returns the rows of each statement.
 * @throws DatabaseFailure; nothing is committed then, unless its kind is `lost`.
 */
export async function transact(
  writer: Writer,
  entry: AuditEntry,
  statements: readonly Statement[],
): Promise<(readonly unknown[])[]> {
  const results = await commitAll(writer, [...statements, operatorLine(entry)]);
  return results.slice(0, -1);
}

/** Commits the line of an action that changes nothing, before it is done. */
export async function recordAction(writer: Writer, entry: AuditEntry): Promise<void> {
  await transact(writer, entry, []);
}

/**
 * Commits statements without a line, for what no operator does. After a deadlock nothing has
 * happened, and they are sent again: on a cluster whoever changes a table that every server has
 * locks all of it, so transactions meet that change different rows.
 */
export async function commitAll(
  writer: Writer,
  statements: readonly Statement[],
): Promise<(readonly unknown[])[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await commitOnce(writer, statements);
    } catch (error) {
      if (tries === triesMax || !isDeadlock(error)) throw error;
    }
  }
}

const triesMax = 3;

const isDeadlock = (error: unknown) =>
  error instanceof DatabaseFailure && error.sqlstate === '40P01';

async function commitOnce(
  writer: Writer,
  statements: readonly Statement[],
): Promise<(readonly unknown[])[]> {
  const connection = await writer.connect();
  try {
    const [, , ...results] = await connection.send([begin, durable, ...statements, commit]);
    requireCommitted(results.pop());
    connection.release();
    return results.map((result) => result.rows);
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
