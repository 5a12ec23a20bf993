// What a read costs, in what no busy machine changes.

import type { Statement } from '../../src/core/statement.ts';
import type { TestDatabase } from './database.ts';

/**
 * The blocks that a statement touches: with its one plan for any values, or, without a name, with
 * one for these.
 */
export async function blocksOf(
  db: TestDatabase,
  { name, text, values }: Statement,
): Promise<number> {
  const session = await db.session();
  const mode = name === '' ? 'force_custom_plan' : 'force_generic_plan';
  await session.query(`set plan_cache_mode = '${mode}'`);
  await session.query(`prepare page as ${text}`);
  const given = values.map((value) =>
    value === null ? 'null' : session.escapeLiteral(String(value)),
  );
  const { rows } = await session.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, buffers) execute page (${given.join(', ')})`,
  );
  await session.end();
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const [, hit = '', read = '0'] = /Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(plan) ?? [];
  return Number(hit) + Number(read);
}
