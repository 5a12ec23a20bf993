// One small transaction for what the operator writes: all of its statements and its commit in one
// round trip. Whether it took effect is known when this returns, and only then.

import { begin, commit, requireCommitted, type Statement, type Writer } from '../core/statement.ts';

/**
 * The rows of each statement.
 * @throws DatabaseFailure; nothing was done then, unless its kind is `lost`.
 */
export async function transact(
  writer: Writer,
  statements: readonly Statement[],
): Promise<(readonly unknown[])[]> {
  const connection = await writer.connect();
  try {
    const [, ...results] = await connection.send([begin, ...statements, commit]);
    requireCommitted(results.pop());
    connection.release();
    return results.map((result) => result.rows);
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
