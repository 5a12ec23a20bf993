// A database on Citus: one server, the coordinator, knows all, and the others hold cells. What the
// program does differently there is said here: which tables every server has, what a transaction of
// migrations begins with, and where the servers and the cells are.

import type pg from 'pg';
import { limits } from '../core/limits.ts';
import { DatabaseFailure, type Statement } from '../core/statement.ts';
import { atHome, type Entrance, findCells, pathOf } from './cells.ts';

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
 * it selects, and plans by itself for the values then. Sessions at owners have the usual one.
 */
export const spreadSettings = { plan_cache_mode: 'auto' };

/** What a transaction of migrations begins with besides: its schemas are on one server each. */
export const spreadTransaction = `;
  set local citus.enable_schema_based_sharding = on;
  set local citus.multi_shard_modify_mode = 'sequential'`;

/** What a restore begins with besides. Where rows were written locally, ANALYZE is refused. */
export const spreadLoad = `${spreadTransaction};
  set local citus.enable_local_execution = off`;

/** Gives every server the tables of the kind that this transaction has made. */
export async function spreadTables(client: pg.Client): Promise<void> {
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
 * Fires the deferred triggers of this transaction on every server that has a cell: Citus tells no
 * other server to set constraints, but runs a function where the rows are that it is asked over.
 */
export async function fireEverywhere(client: pg.Client): Promise<void> {
  await client.query(`create function public.fire_deferred() returns void language plpgsql as
    $$ begin set constraints all immediate; end $$`);
  for (const cell of await findCells(client)) {
    await client.query(
      `select public.fire_deferred() from (select count(*) from ${cell}.journals) one_row`,
    );
  }
  await client.query('drop function public.fire_deferred()');
}

/**
 * The view of each table of a cell, on the server that owns it, is the table that Citus keeps the
 * rows in there. What is sent to it is planned and run by PostgreSQL alone: Citus plans a statement
 * anew at each run, refuses a part of SQL, and commits in two phases what an INSERT selects. A
 * batch of 16 writes took 12.6 ms of processor time through Citus, and 6.1 by the views.
 */
const viewsPrefix = 'here_';

/** Where the statements of a cell find their tables. Through Citus, while there are no views. */
export const pathAtOwner = (cell: string): string => `${viewsPrefix}${cell}, ${pathOf(cell)}`;

/** Makes the views that are missing, or are of tables that have changed since. */
export const showCell = (cell: string): Statement => ({
  name: 'show_cell',
  text: 'select show_cell($1)',
  values: [cell],
});

/**
 * Citus knows nothing of what writes by the views. So it takes the lock that the end of a move
 * waits for, and that whoever comes behind the move waits for.
 */
export const atOwner: Entrance = {
  settings: (cell) => ({
    search_path: pathAtOwner(cell),
    plan_cache_mode: 'force_generic_plan',
  }),
  holding: (cell) => [`select hold_cell('${cell}')`],
};

/** What a transaction has reached on other servers waits with it. */
export const atCoordinator: Entrance = {
  ...atHome,
  holding: () => ['select let_others_wait()'],
};

/** serialization_failure: what was sent has not happened, and is tried again. */
const hasLeftCode = '40001';

/** The server may have been the cell's owner before a move. */
export const hasLeft = (error: unknown): boolean =>
  error instanceof DatabaseFailure && error.sqlstate === hasLeftCode;

/** The tables of a schema `s` are together, so one of them says where it is, and stands for all. */
const onePart = `(
  select h.shardid from pg_dist_partition p
  join pg_dist_shard h on h.logicalrelid = p.logicalrelid
  where p.colocationid = s.colocationid limit 1) one`;

/** What stands in each table of a cell, and in those that every server has: their only part. */
const parts = `
  select h.shardid as id, c.relname as name, p.repmodel = 't' as is_everywhere,
    shard_name(c.oid, h.shardid) as place
  from pg_dist_partition p
  join pg_class c on c.oid = p.logicalrelid
  join pg_dist_shard h on h.logicalrelid = p.logicalrelid
  left join pg_dist_schema s on s.colocationid = p.colocationid
  where p.repmodel = 't' or s.schemaid = to_regnamespace(cell)`;

const columnsOf = (relation: string) => `
  (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a
    where a.attrelid = ${relation} and a.attnum > 0 and not a.attisdropped)`;

/** Citus would take a schema that is made for a cell, and gives other servers what is made here. */
const ofThisServerAlone = `
  set citus.enable_ddl_propagation = off
  set citus.enable_schema_based_sharding = off
  set citus.override_table_visibility = off`;

/**
 * What every server does for its cells. Rights are those on the tables: who asks a view asks as
 * himself. A table that every server has is changed through the coordinator alone, because a change
 * by its view would be one of this server.
 */
const functionsOfOwners = `
  create or replace function public.part_is_here(part bigint) returns boolean stable
    language plpgsql as $$
  begin
    perform from pg_dist_placement where shardid = part
      and groupid = (select groupid from pg_dist_local_group);
    if not found then
      raise exception 'the cell is on another server' using errcode = '${hasLeftCode}';
    end if;
    return true;
  end $$;

  -- While a transaction waits for a lock at one server it is idle at the others, for longer than
  -- the service may leave one idle. What is set here goes to those. Sent behind BEGIN in one
  -- message, all of that message would go there.
  create or replace function public.let_others_wait() returns void language plpgsql as $$
  begin
    set local citus.propagate_set_commands = 'local';
    set local idle_in_transaction_session_timeout = '${limits.requestDeadline}ms';
    set local citus.propagate_set_commands = 'none';
    set local idle_in_transaction_session_timeout = '${limits.idleInTransactionTimeout}ms';
  end $$;

  create or replace function public.hold_cell(cell text) returns boolean security definer
    language plpgsql set search_path = public, pg_temp as $$
  declare
    part bigint;
  begin
    select one.shardid into part from pg_dist_schema s cross join lateral ${onePart}
    where s.schemaid = to_regnamespace(cell);
    -- 5 is ShareLock, as Citus's own writes take it. A move locks all parts of the cell.
    perform lock_shard_metadata(5, array[part]);
    perform part_is_here(part);
    if to_regclass(format('${viewsPrefix}%s.journals', cell)) is null then
      perform show_cell(cell);
    end if;
    return true;
  end $$;

  create or replace function public.show_cell(cell text) returns void security definer
    language plpgsql set search_path = public, pg_temp ${ofThisServerAlone} as $$
  declare
    views text := '${viewsPrefix}' || cell;
    part record;
  begin
    perform from pg_dist_schema where schemaid = to_regnamespace(cell);
    if not found then
      raise exception 'there is no cell %', cell;
    end if;
    perform pg_advisory_xact_lock(hashtext(views));
    -- What to_regnamespace() knows may be from before the lock.
    perform from pg_namespace where nspname = views;
    if not found then
      execute format('create schema %I', views);
      execute format('grant usage on schema %I to public', views);
    end if;
    for part in
      select * from (${parts}) p
      where ${columnsOf('to_regclass(p.place)')} is distinct from
        ${columnsOf("to_regclass(format('%I.%I', views, p.name))")}
    loop
      execute format('drop view if exists %I.%I', views, part.name);
      execute format('create view %I.%I with (security_invoker) as select * from %s where %s',
        views, part.name, part.place,
        case when part.is_everywhere then 'true' else format('part_is_here(%L)', part.id) end);
      execute format('grant all on %I.%I to public', views, part.name);
      if part.is_everywhere then
        execute format('create trigger everywhere instead of insert or update or delete on %I.%I
          for each row execute function refuse_change()', views, part.name);
      end if;
    end loop;
  end $$;

  create or replace function public.hide_cells() returns void
    language plpgsql set search_path = public, pg_temp ${ofThisServerAlone} as $$
  declare
    views text;
  begin
    for views in select '${viewsPrefix}' || name from cells loop
      execute format('drop schema if exists %I cascade', views);
    end loop;
  end $$`;

/** Gives every server the functions, before any migration. */
export async function spreadFunctions(client: pg.Client): Promise<void> {
  await client.query(functionsOfOwners);
}

/**
 * Before a migration: no table changes under a view. Whoever starts next makes them anew.
 * @throws Error naming what a server said.
 */
export async function hideCells(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ result: string }>(
    "select result from run_command_on_workers('select hide_cells()') where not success",
  );
  const [refused] = rows;
  if (refused !== undefined) throw new Error(`a server kept its views: ${refused.result}`);
}

/**
 * For steps that make or change a cell, in their transaction. The functions of triggers keep the
 * path, and run at the cell's owner.
 */
export async function goInto(client: pg.Client, cell: string): Promise<void> {
  await client.query(
    `select set_config('search_path', case when ${isOnCitus} then $1 else $2 end, true)`,
    [`${pathAtOwner(cell)}, pg_temp`, `${pathOf(cell)}, pg_temp`],
  );
}

/** Where a cell is. */
export interface Placement {
  readonly cell: string;
  readonly host: string;
  readonly port: number;
  readonly is_coordinator: boolean;
}

export const findPlacement: Statement<Placement> = {
  name: 'find_placement',
  text: `
    select n.nspname as cell, o.nodename as host, o.nodeport as port,
      o.groupid = 0 as is_coordinator
    from pg_dist_schema s
    join pg_namespace n on n.oid = s.schemaid
    cross join lateral ${onePart}
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
