// With --statements: what each case costs in the database, statement by statement, as
// pg_stat_statements counts it. It runs after the measurements and is not part of them.

import type pg from 'pg';
import type { Case } from '../cases/case.ts';
import type { Measured } from '../measure.ts';

export const statementSettings: Readonly<Record<string, string>> = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.track_planning': 'on',
};

export interface StatementCost {
  readonly case: string;
  readonly statement: string;
  readonly calls: number;
  /** Per request of the case, in milliseconds. */
  readonly executing: number;
  readonly planning: number;
  readonly callsPerRequest: number;
  readonly rowsPerRequest: number;
  readonly blocksPerRequest: number;
  readonly walBytesPerRequest: number;
}

const perCase = 14;

export async function costsOf(
  owner: pg.Client,
  one: Case,
  run: () => Promise<Measured>,
): Promise<StatementCost[]> {
  await owner.query('create extension if not exists pg_stat_statements');
  await owner.query('select pg_stat_statements_reset()');
  const { total } = await run();
  const { rows } = await owner.query<Omit<StatementCost, 'case'>>(
    `select s.query as statement, s.calls::float8, s.total_exec_time / $1::float8 as executing,
       s.total_plan_time / $1 as planning, s.calls / $1 as "callsPerRequest",
       s.rows / $1 as "rowsPerRequest",
       (s.shared_blks_hit + s.shared_blks_read) / $1 as "blocksPerRequest",
       s.wal_bytes::float8 / $1 as "walBytesPerRequest"
     from pg_stat_statements s join pg_roles r on r.oid = s.userid and r.rolname <> current_user
     order by s.total_exec_time + s.total_plan_time desc limit ${perCase}`,
    [Math.max(1, total)],
  );
  return rows.map((row) => ({ case: one.name, ...row }));
}
