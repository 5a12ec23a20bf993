// A database on Citus: one server, the coordinator, knows all, and the others hold cells. What the
// program does differently there is said here: which tables every server has, what a transaction of
// migrations begins with, and where the servers and the cells are.

import type pg from 'pg';
import {
  type Connection,
  DatabaseFailure,
  type MergedRecords,
  type Saves,
  type Statement,
  waitForDisk,
} from '../core/statement.ts';

/**
 * Tables that every server has whole. The data of cells refers to them, or callers are known by
 * them, and a change of one waits for all servers. The other global tables are the coordinator's
 * alone: nothing that is done with them needs another server.
 */
const everywhere = [
  'schema_migrations',
  'cells',
  'merchants',
  'applications',
  'application_secrets',
  'credentials',
  'credential_tokens',
  'person_passwords',
  'person_passkeys',
];

/** Whether it is one, for whoever asks the catalogue anyway. */
export const isOnCitus = `exists (select from pg_extension where extname = 'citus')`;

/**
 * Whoever changes a table that every server has locks it and what it refers to on one of them, for
 * which Citus asks for a right to change or delete whole rows. Foreign keys hold what is in use.
 */
export const spreadRights = `
  grant delete on ${everywhere.slice(1).join(', ')} to %ROLE%;`;

/**
 * Of the service's role. Citus refuses the one plan for any values of a statement that inserts what
 * it selects, and plans by itself for the values then.
 */
export const spreadSettings = { plan_cache_mode: 'auto' };

/** What a transaction of migrations begins with besides: its schemas are on one server each. */
export const spreadTransaction = `;
  set local citus.enable_schema_based_sharding = on;
  set local citus.multi_shard_modify_mode = 'sequential'`;

/** Gives every server the tables of the kind that this transaction has made. */
export async function spreadTables(client: pg.Client): Promise<void> {
  await client.query(`${insertRows};${requireCell}`);
  await client.query(
    `select create_reference_table(c.oid)
     from unnest($1::text[]) with ordinality as t (name, place)
     join pg_class c on c.oid = to_regclass('public.' || t.name)
     left join pg_dist_partition p on p.logicalrelid = c.oid
     where p.repmodel is distinct from 't' order by t.place`,
    [everywhere],
  );
}

/**
 * Inserts what `source` selects from `records`, as values, and returns how many rows that were.
 * Citus plans an INSERT of values for one server. What an INSERT selects goes to all servers first,
 * and is committed in two phases.
 */
const insertRows = `
  create or replace function insert_rows(target text, columns text, source text, ending text,
    records json) returns bigint language plpgsql as $$
  declare
    names text[] := string_to_array(columns, ', ');
    inserted text;
    counted bigint;
  begin
    execute format('select string_agg(format(%L, %s), '','') from (%s) x (%s)',
      '(' || array_to_string(array_fill('%L'::text, array[cardinality(names)]), ',') || ')',
      'x.' || array_to_string(names, ', x.'), source, columns)
      into inserted using records;
    if inserted is null then
      return 0;
    end if;
    execute format('insert into %s (%s) values %s %s', target, columns, inserted, ending);
    get diagnostics counted = row_count;
    return counted;
  end $$`;

/** serialization_failure: what was sent has not happened, and is tried again. */
const hasLeft = '40001';

/**
 * A server that a cell has left passes statements on, and what these keep for the ones behind them
 * is not here but where the cell is now.
 */
const requireCell = `
  create or replace function require_cell() returns boolean language plpgsql as $$
  begin
    if coalesce(current_setting('tallybook.journals', true), '') = '' then
      raise exception 'the cell is on another server' using errcode = '${hasLeft}';
    end if;
    return true;
  end $$`;

/** The journals that `findJournals` has kept, as a part of the statements behind it. */
const keptJournals = `
  select * from json_to_recordset(current_setting('tallybook.journals')::json)
    as j (merchant_id text, id text, last bigint, moment timestamptz)`;

/**
 * What saves a batch, as statements of their own: the first one answers as all would together.
 * Citus keeps one plan for any values of each but the insertions.
 */
function savedApart({ journal, merchants, parts }: Saves): Statement[] {
  const findJournals: Statement = {
    name: 'find_journals',
    text: `
      with ends as (${journal}),
        kept as materialized (
          select set_config('tallybook.journals', coalesce(json_agg(e), '[]')::text, true) as ends
          from ends e)
      select j.*, ${waitForDisk} from kept k
      cross join json_to_recordset(k.ends::json)
        as j (merchant_id text, id text, last bigint, moment timestamptz)`,
    values: [merchants],
  };
  const required: Statement = { name: 'require_cell', text: 'select require_cell()', values: [] };
  return [findJournals, required, ...parts.map((part) => insertion(part) ?? updating(part))];
}

/** An INSERT that selects, as its table, its columns, what it selects, and what is behind that. */
const insertionText = /^\s*insert into (\w+) \(([^)]+)\)\s+(select .*?)(on conflict .*)?$/s;

function insertion({ name, text, count, records }: MergedRecords): Statement | undefined {
  const [, table, columns = '', source, ending = ''] = insertionText.exec(text) ?? [];
  if (source === undefined) return undefined;
  return {
    name: `${name}_rows`,
    text: 'select expect_rows(insert_rows($1, $2, $3, $4, $5), $6::bigint)',
    values: [
      ...[table, columns.trim().split(/,\s+/).join(', ')],
      ...[`with journal as (${keptJournals}) ${source}`, ending, records, count],
    ],
  };
}

function updating({ name, text, count, records }: MergedRecords): Statement {
  return {
    name: `${name}_counted`,
    text: `
      with journal as (${keptJournals}), saved as (${text} returning 1)
      select expect_rows((select count(*) from saved), $2::bigint)`,
    values: [records, count],
  };
}

/**
 * A connection to the owner of a cell, which saves each part of a batch by a statement of its own.
 * @param onLeft told when the cell has left: nothing was saved, and it may be tried again.
 */
export function savingApart(connection: Connection, onLeft: () => Promise<void>): Connection {
  return {
    async send(statements) {
      const groups = statements.map((one) => (one.saves ? savedApart(one.saves) : [one]));
      const results = await connection.send(groups.flat()).catch(async (error: unknown) => {
        if (error instanceof DatabaseFailure && error.sqlstate === hasLeft) await onLeft();
        throw error;
      });
      let behind = 0;
      return groups.map(({ length }) => {
        const first = results[behind];
        behind += length;
        if (first === undefined) throw new Error('the server left a statement unanswered');
        return first;
      });
    },
    release: () => connection.release(),
    destroy: () => connection.destroy(),
  };
}

/** Where a cell is. */
export interface Placement {
  readonly cell: string;
  readonly host: string;
  readonly port: number;
  readonly is_coordinator: boolean;
}

/** The tables of a schema are together, so one of them says it. */
export const findPlacement: Statement<Placement> = {
  name: 'find_placement',
  text: `
    select n.nspname as cell, o.nodename as host, o.nodeport as port,
      o.groupid = 0 as is_coordinator
    from pg_dist_schema s
    join pg_namespace n on n.oid = s.schemaid
    cross join lateral (
      select h.shardid from pg_dist_partition p
      join pg_dist_shard h on h.logicalrelid = p.logicalrelid
      where p.colocationid = s.colocationid limit 1) one
    join pg_dist_placement l on l.shardid = one.shardid
    join pg_dist_node o on o.groupid = l.groupid and o.noderole = 'primary'`,
  values: [],
};

/** A server of the cluster. */
export interface ServerRow {
  /** As the coordinator reaches it. */
  readonly host: string;
  readonly port: number;
  readonly is_coordinator: boolean;
  readonly cells: readonly string[];
}

/** As `cell move` takes it and `server list` shows it. */
export const addressOf = ({ host, port }: Pick<ServerRow, 'host' | 'port'>): string =>
  `${host}:${port}`;

export const listServers: Statement<ServerRow> = {
  name: 'list_servers',
  text: `
    with placed as (${findPlacement.text})
    select o.nodename as host, o.nodeport as port, o.groupid = 0 as is_coordinator,
      array(select p.cell::text from placed p where p.host = o.nodename and p.port = o.nodeport
        order by 1) as cells
    from pg_dist_node o where o.noderole = 'primary' order by o.groupid`,
  values: [],
};

/** The same role and database at another server. */
export function urlAt(url: string, { host, port }: Pick<ServerRow, 'host' | 'port'>): string {
  const other = new URL(url);
  other.searchParams.delete('host');
  other.searchParams.delete('port');
  other.hostname = host.includes(':') ? `[${host}]` : host;
  other.port = String(port);
  return other.toString();
}
