// Many reads of one moment, for as long as somebody takes to write them away.

import {
  commit,
  type Reader,
  requireCommitted,
  type Statement,
  type Writer,
} from '../core/statement.ts';

const begin: Statement = {
  name: 'begin_long_snapshot',
  text: 'begin isolation level repeatable read read only',
  values: [],
};

/** The role's time-outs are for requests, which no slow reader can hold up. */
const allowTime: Statement = {
  name: 'allow_time',
  text: `select set_config('statement_timeout', '60s', true),
    set_config('idle_in_transaction_session_timeout', '0', true),
    set_config('plan_cache_mode', 'force_custom_plan', true)`,
  values: [],
};

/**
 * Does the work with a reader of one snapshot.
 * @throws what `work` throws, and DatabaseFailure
 */
export async function withSnapshot<Result>(
  writer: Writer,
  work: (reader: Reader) => Promise<Result>,
): Promise<Result> {
  const connection = await writer.connect();
  try {
    await connection.send([begin, allowTime]);
    const result = await work({
      async query<Row>(statement: Statement<Row>): Promise<Row[]> {
        const [answer] = await connection.send([statement]);
        return (answer?.rows ?? []) as Row[];
      },
    });
    const [committed] = await connection.send([commit]);
    requireCommitted(committed);
    connection.release();
    return result;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
