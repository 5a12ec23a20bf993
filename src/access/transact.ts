// Small transactions: all statements and the commit in one round trip. Whether one took effect is
// known when it returns, and only then. What the operator does goes with its line in the audit
// trail: neither is there without the other.

import {
  begin,
  commit,
  requireCommitted,
  type Statement,
  type Writer,
  waitForDisk,
} from '../core/statement.ts';
import { type Deed, deedLine } from './audit/deed.ts';

const durable: Statement = { name: 'durable', text: `select ${waitForDisk}`, values: [] };

/**
 * The rows of each statement.
 * @throws DatabaseFailure; nothing was done then, unless its kind is `lost`.
 */
export async function transact(
  writer: Writer,
  deed: Deed,
  statements: readonly Statement[],
): Promise<(readonly unknown[])[]> {
  const results = await commitAll(writer, [...statements, deedLine(deed)]);
  return results.slice(0, -1);
}

/** The same for what is nobody's deed. */
export async function commitAll(
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
