// Loads rows without the indexes and keys of their tables, and makes these again afterwards. What
// there is to make is read from the catalogue, so that a migration needs no change here.

import type pg from 'pg';

interface Definition {
  /** What makes it. */
  readonly create: string;
  readonly drop: string;
}

/** @throws Error when the tables do not end up with what they had. */
export async function withoutIndexes(
  owner: pg.Client,
  tables: readonly string[],
  load: () => Promise<void>,
): Promise<void> {
  const keys = await foreignKeys(owner, tables);
  const indexes = await indexesOf(owner, tables);
  // A foreign key needs the index that it refers to.
  for (const { drop } of [...keys, ...indexes]) await owner.query(drop);
  await load();
  await owner.query("set maintenance_work_mem = '1GB'; set max_parallel_maintenance_workers = 1");
  for (const { create } of [...indexes, ...keys]) await owner.query(create);
  await owner.query('reset maintenance_work_mem; reset max_parallel_maintenance_workers');
  const after = [...(await foreignKeys(owner, tables)), ...(await indexesOf(owner, tables))];
  const lost = [...keys, ...indexes].filter(
    ({ create }) => !after.some((one) => one.create === create),
  );
  if (lost.length > 0) throw new Error(`not made again: ${lost.map(({ create }) => create)}`);
}

async function foreignKeys(owner: pg.Client, tables: readonly string[]): Promise<Definition[]> {
  const { rows } = await owner.query<Definition>(
    `select format('alter table %s add constraint %I %s', c.conrelid::regclass, c.conname,
         pg_get_constraintdef(c.oid)) as create,
       format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname) as drop
     from pg_constraint c
     where c.contype = 'f'
       and (c.conrelid = any ($1::regclass[]) or c.confrelid = any ($1::regclass[]))
     order by c.oid`,
    [tables],
  );
  return rows;
}

/** In the order in which they were made: the planner goes by it where two cost the same. */
async function indexesOf(owner: pg.Client, tables: readonly string[]): Promise<Definition[]> {
  const { rows } = await owner.query<Definition>(
    `select case when c.oid is null then pg_get_indexdef(i.indexrelid)
         else format('alter table %s add constraint %I %s', c.conrelid::regclass, c.conname,
           pg_get_constraintdef(c.oid)) end as create,
       case when c.oid is null then format('drop index %s', i.indexrelid::regclass)
         else format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname)
         end as drop
     from pg_index i
     left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x')
     where i.indrelid = any ($1::regclass[])
     order by i.indexrelid`,
    [tables],
  );
  return rows;
}
