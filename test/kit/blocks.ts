// What a read costs, in what no busy machine changes.

import type pg from 'pg';
import type { Statement } from '../../src/core/statement.ts';
import type { TestDatabase } from './database.ts';

/**
 * The blocks that a statement touches: with its one plan for any values, or, without a name, with
 * one for these. The least of three times, because the first may come across rows that are gone,
 * and marks them.
 */
export async function blocksOf(
  db: TestDatabase,
  { name, text, values }: Statement,
): Promise<number> {
  const session = await db.session();
  const mode = name === '' ? 'force_custom_plan' : 'force_generic_plan';
  await session.query(`set plan_cache_mode = '${mode}'`);
  await session.query(`prepare page as ${text}`);
  const given = values.map((value) => literal(session, value));
  const counts: number[] = [];
  for (let time = 0; time < 3; time += 1) {
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers) execute page (${given.join(', ')})`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const [, hit = '', read = '0'] = /Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(plan) ?? [];
    counts.push(Number(hit) + Number(read));
  }
  await session.end();
  return Math.min(...counts);
}

/** A value as EXECUTE takes it. */
export function literal(client: pg.Client, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (!Array.isArray(value)) return client.escapeLiteral(String(value));
  return client.escapeLiteral(`{${value.map((item) => `"${item}"`).join(',')}}`);
}

/** Until every row is seen by all: whoever reads at that moment keeps a vacuum from saying so. */
export async function vacuum(db: TestDatabase, table: string): Promise<void> {
  for (;;) {
    await db.sql(`vacuum analyze ${table}`);
    const [pages] = await db.sql<{ are_visible: boolean }>(
      'select relallvisible >= relpages as are_visible from pg_class where oid = $1::regclass',
      [table],
    );
    if (pages?.are_visible === true) return;
  }
}
