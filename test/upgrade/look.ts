// What is looked at before and after an upgrade: the parts of the schema, the rows of each table,
// and how strongly and how long a migration locks out those who work.

import pg from 'pg';

/** Of a schema that the search path leads to. */
const isOurs = '= any (current_schemas(false)::text[]::regnamespace[])';

/** Tables, columns, constraints, indexes, triggers and functions, each as one line. */
export async function partsOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ part: string }>(`
    select 'table ' || c.relname as part from pg_class c
      where c.relnamespace ${isOurs} and c.relkind = 'r'
    union all select 'column ' || a.attrelid::regclass || '.' || a.attname from pg_attribute a
      join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
      where c.relnamespace ${isOurs} and a.attnum > 0 and not a.attisdropped
    union all select 'constraint ' || conrelid::regclass || '.' || conname from pg_constraint
      where connamespace ${isOurs} and contype in ('p', 'u', 'c', 'f', 'x')
    union all select 'index ' || indrelid::regclass || '.' || indexrelid::regclass from pg_index
      where indrelid in (select oid from pg_class
        where relnamespace ${isOurs})
    union all select 'trigger ' || tgrelid::regclass || '.' || tgname from pg_trigger
      where not tgisinternal
    union all select 'function ' || oid::regprocedure from pg_proc
      where pronamespace ${isOurs}
    order by 1`);
  return rows.map(({ part }) => part);
}

/** The parts that went and came, of tables that were there and stay. */
export function changeOf(before: readonly string[], after: readonly string[]) {
  const tables = after.filter((part) => part.startsWith('table ') && !before.includes(part));
  const isOfNew = (part: string) => {
    const [, owner = ''] = /^\w+ (\w+)\./.exec(part) ?? [];
    return tables.includes(`table ${owner}`);
  };
  return {
    gone: before.filter((part) => !after.includes(part)),
    come: after.filter((part) => !before.includes(part) && !isOfNew(part)),
  };
}

/** How many rows each table has, and a sum over all that is in them. */
export type Contents = Readonly<Record<string, { readonly rows: string; readonly sum: string }>>;

/** Of the tables and columns that are named: those that both versions have. */
export async function contentsOf(
  client: pg.Client,
  columns: ReadonlyMap<string, readonly string[]>,
): Promise<Contents> {
  const contents: Record<string, { rows: string; sum: string }> = {};
  for (const [table, names] of columns) {
    const { rows } = await client.query<{ rows: string; sum: string }>(
      `select count(*) as rows, coalesce(sum(hashtextextended(row(${names.join(', ')})::text, 0)
         ::numeric), 0)::text as sum from ${table}`,
    );
    const [found] = rows;
    if (found !== undefined) contents[table] = found;
  }
  return contents;
}

/** The columns that both databases have, by table; not of what is written while migrating. */
export async function commonColumns(
  one: pg.Client,
  other: pg.Client,
): Promise<Map<string, readonly string[]>> {
  const [a, b] = await Promise.all([partsOf(one), partsOf(other)]);
  const tables = new Map<string, string[]>();
  for (const part of a.filter((candidate) => b.includes(candidate))) {
    const [, table = '', column = ''] = /^column (\w+)\.(\w+)$/.exec(part) ?? [];
    if (table === '' || /^(cells|schema_migrations|audit_\w+)$/.test(table)) continue;
    tables.set(table, [...(tables.get(table) ?? []), column]);
  }
  return tables;
}

export interface Locks {
  /**
   * Milliseconds from the first to the last time that each was seen, by relation, mode and
   * transaction: one that gave way and came again holds nothing in between.
   */
  readonly held: ReadonlyMap<string, number>;
}

/** Modes that let nobody write, the strongest let nobody read. */
const excluding = ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'];

/** Looks at the locks of a database as fast as it can while something is done. */
export async function watchLocks(url: string, work: () => Promise<unknown>): Promise<Locks> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const seen = new Map<string, { first: number; last: number }>();
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { rows } = await client.query<{ what: string }>({
      name: 'locks',
      text: `select concat_ws(' ', c.relname, l.mode, l.virtualtransaction) as what from pg_locks l
        join pg_class c on c.oid = l.relation and c.relkind = 'r'
        where l.granted and l.mode = any ($1) and c.relnamespace ${isOurs}`,
      values: [excluding],
    });
    const now = performance.now();
    for (const { what } of rows) {
      seen.set(what, { first: seen.get(what)?.first ?? now, last: now });
    }
  }
  await client.end();
  await done;
  return { held: new Map([...seen].map(([what, { first, last }]) => [what, last - first])) };
}

export function longest({ held }: Locks): { what: string; ms: number } {
  const [what, ms] = [...held].sort(([, a], [, b]) => b - a)[0] ?? ['nothing', 0];
  return { what: what.replace(/ \S+$/, ''), ms: Math.round(ms) };
}
