// Loads a backup into an empty database, in one transaction: after any failure the database is as
// empty as before. Check constraints, unique keys and triggers check the rows as they come in.
// Foreign keys check all rows at the end, because two tables refer to each other.

import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { firstCell } from '../../core/cells.ts';
import { mintId } from '../../core/id.ts';
import { begin, commit, requireCommitted, type Statement } from '../../core/statement.ts';
import { findCells } from '../cells.ts';
import { fireEverywhere, spreadLoad } from '../citus.ts';
import type { Found } from '../find.ts';
import { makeCell, migrateThrough } from '../migrate.ts';
import type { Manifest, Trailer } from './format.ts';
import type { BackupReader } from './read.ts';
import { refusing } from './refusal.ts';
import { beginLong, withSession } from './session.ts';
import { slicesOf } from './slices.ts';
import { appliedMigrations, columnList, findTables, type Table, tableName } from './tables.ts';

export interface LoadOptions {
  /** As the owner of the schema. */
  readonly url: string;
  /** The database as that role found it. */
  readonly found: Found;
  /** The line that follows in the audit trail that is restored. */
  readonly auditLine: (trailer: Trailer) => Statement;
  /** Takes rows as they are, although they contradict each other. */
  readonly acceptUnsound?: boolean | undefined;
  /** Into how many cells merchants are dealt out; otherwise each stays in its own. */
  readonly cells?: number | undefined;
  /** How many rows are added by one statement. */
  readonly rowsAtOnce?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a trigger of a statement looks at has to fit into one value of the database, of 1 GB: of
 * movements that are some 3 million (measured: 325 bytes each). So many take 33 MB there.
 */
const rowsAtOnceMax = 100_000;

type NamedTable = Pick<Table, 'name' | 'cell'>;

interface Loaded extends Trailer {
  /** Foreign keys that not all rows keep, as `table constraint`; none unless that is accepted. */
  readonly broken: readonly string[];
}

/**
 * Afterwards the schema is of the version of the backup: migrate on from there.
 * @throws Error when the backup cannot be loaded whole; nothing was loaded then.
 */
export async function loadBackup(
  { url, found, auditLine, acceptUnsound = false, cells, rowsAtOnce, signal }: LoadOptions,
  backup: BackupReader,
): Promise<Loaded> {
  const { manifest } = backup;
  if (!found.isOwner) {
    throw new Error('a restore needs the owner of the schema: set TALLYBOOK_MIGRATE_URL');
  }
  return withSession(url, signal, async (client) => {
    if (found.version > 0) await requireReady(client, manifest);
    await migrateThrough(url, manifest.schema_version);
    await beginLong(client, found.isSpread ? begin.text + spreadLoad : begin.text);
    const loaded = await refusing('the backup', async () => {
      await lock(client);
      await requireReady(client, manifest);
      const wanted = cells === undefined ? undefined : namesOf(cells);
      await makeMissingCells(client, manifest, wanted ?? cellsOf(manifest));
      await requireSameTables(client, manifest);
      await clearTrail(client);
      const { kept } = await findTables(client);
      const rows = await withoutTriggers(client, acceptUnsound ? kept : [], () =>
        load(client, backup, kept, {
          ...{ acceptUnsound, cells: wanted, rowsAtOnce, isSpread: found.isSpread },
        }),
      );
      const { text, values } = auditLine(rows);
      await client.query(text, [...values]);
      return rows;
    });
    requireCommitted(await client.query(commit.text));
    return loaded;
  });
}

/** Keeps out migrations, another restore, and services that have started already. */
async function lock(client: pg.Client): Promise<void> {
  await client.query('select from public.schema_migrations where number = 0 for update');
  const { kept } = await findTables(client);
  await client.query(`lock table ${kept.map(tableName).join(', ')} in access exclusive mode`);
}

/** The trail of the backup replaces that of the empty database. */
const trail = ['audit_records', 'audit_head'];

/** @throws Error when it holds anything, or its schema is newer than the backup's. */
async function requireReady(client: pg.Client, { schema_version }: Manifest): Promise<void> {
  const { kept } = await findTables(client);
  const full: string[] = [];
  for (const table of kept) {
    if (trail.includes(table.name)) continue;
    const { rowCount } = await client.query(`select from ${tableName(table)} limit 1`);
    if (rowCount !== 0) full.push(table.name);
  }
  if (full.length > 0) {
    throw new Error(
      `the database is not empty, it holds ${full.join(', ')}: ` +
        'restore into a new data directory or an empty database',
    );
  }
  const { length: version } = await appliedMigrations(client);
  if (version > schema_version) {
    throw new Error(
      `the database is at schema version ${version} already, the backup at ${schema_version}: ` +
        'restore into a database that nothing has been started on',
    );
  }
}

const namesOf = (cells: number) => Array.from({ length: cells }, (_, n) => `cell_${n + 1}`);

async function makeMissingCells(
  client: pg.Client,
  manifest: Manifest,
  wanted: readonly string[],
): Promise<void> {
  const found = await findCells(client);
  const missing = wanted.filter((cell) => !found.includes(cell));
  for (const cell of missing) await makeCell(client, cell, manifest.schema_version);
}

const cellsOf = ({ tables }: Manifest): string[] => [
  ...new Set(tables.flatMap(({ cell }) => (cell === undefined ? [] : [cell]))),
];

/** @throws Error when the backup has not exactly the tables and columns that are to be filled. */
async function requireSameTables(client: pg.Client, { tables }: Manifest): Promise<void> {
  const { kept } = await findTables(client);
  const list = (all: readonly Pick<Table, 'name' | 'columns'>[]) =>
    new Set(all.map(({ name, columns }) => `${name} (${[...columns].sort().join(', ')})`));
  const wanted = list(kept);
  const held = list(tables);
  const other = [
    ...[...wanted].filter((one) => !held.has(one)),
    ...[...held].filter((one) => !wanted.has(one)),
  ];
  if (other.length > 0 || new Set(tables.map(tableName)).size !== tables.length) {
    throw new Error(`backup and database differ in their tables: ${other.join('; ')}`);
  }
}

/** The migrations leave the end of an empty chain, and a service that has started its lines. */
async function clearTrail(client: pg.Client): Promise<void> {
  const { kept } = await findTables(client);
  const found = kept.filter(({ name }) => trail.includes(name));
  await withoutTriggers(client, found, async () => {
    for (const table of found) await client.query(`delete from ${tableName(table)}`);
  });
}

async function withoutTriggers<Result>(
  client: pg.Client,
  tables: readonly NamedTable[],
  work: () => Promise<Result>,
): Promise<Result> {
  const set = async (how: 'enable' | 'disable') => {
    for (const table of tables) {
      await client.query(`alter table ${tableName(table)} ${how} trigger user`);
    }
  };
  await set('disable');
  const result = await work();
  await set('enable');
  return result;
}

interface How {
  readonly acceptUnsound: boolean;
  /** Among which merchants are dealt out. */
  readonly cells: readonly string[] | undefined;
  readonly rowsAtOnce: number | undefined;
  readonly isSpread: boolean;
}

/** @param tables those of the database. */
async function load(
  client: pg.Client,
  backup: BackupReader,
  tables: readonly Table[],
  { acceptUnsound, cells, rowsAtOnce = rowsAtOnceMax, isSpread }: How,
): Promise<Loaded> {
  const keys = await dropForeignKeys(client, tables);
  const counts: number[] = [];
  for (const table of backup.manifest.tables) {
    const slices = slicesOf(backup.rows(), rowsAtOnce);
    const isDealt = cells !== undefined && table.cell !== undefined;
    counts.push(
      isDealt ? await deal(client, table, slices, cells) : await fill(client, table, slices),
    );
    if (cells !== undefined && table.name === 'merchants') await dealMerchants(client, cells);
  }
  const trailer = await backup.end(counts);
  // First: what follows is planned by what the tables hold now.
  await client.query(`analyze ${tables.map(tableName).join(', ')}`);
  // Deferred triggers would wait for the commit, and a table with a waiting trigger gets no key.
  await refusing('the backup', async () => {
    if (isSpread) await fireEverywhere(client);
    await client.query('set constraints all immediate');
  });
  for (const table of tables) {
    if (table.name === 'journals') await renewJournals(client, table);
    if (table.name === 'webhooks') await pauseWebhooks(client, table);
  }
  const broken: string[] = [];
  for (const key of keys) {
    if (!(await addForeignKey(client, key, acceptUnsound))) broken.push(`${key.table} ${key.name}`);
  }
  return { ...trailer, broken };
}

/**
 * What was read behind the moment of the backup is taken back, and happens anew in another way. So
 * the journal is another one, and whoever goes on from an old position is told.
 */
async function renewJournals(client: pg.Client, journals: NamedTable): Promise<void> {
  const { rows } = await client.query<{ merchant_id: string }>(
    `select merchant_id from ${tableName(journals)}`,
  );
  await client.query(
    `update ${tableName(journals)} j set id = r.id
     from unnest($1::text[], $2::text[]) as r (merchant_id, id)
     where j.merchant_id = r.merchant_id`,
    [rows.map((row) => row.merchant_id), rows.map(() => mintId('jrn_'))],
  );
}

/** A copy must not call the receivers of the original. Whoever restores for good resumes them. */
async function pauseWebhooks(client: pg.Client, webhooks: NamedTable): Promise<void> {
  await client.query(
    `update ${tableName({ ...webhooks, name: 'webhook_progress' })} p
     set epoch = p.epoch + 1, lease_holder = null, lease_ends_at = null
     from ${tableName(webhooks)} w
     where w.merchant_id = p.merchant_id and w.id = p.webhook_id and w.status = 'active'`,
  );
  await client.query(
    `update ${tableName(webhooks)} set status = 'paused', pause_reason = 'restored',
       version = version + 1, updated_at = now()
     where status = 'active'`,
  );
}

type Slices = AsyncIterable<AsyncIterable<Buffer>>;

async function fill(
  client: pg.Client,
  table: Manifest['tables'][number],
  slices: Slices,
): Promise<number> {
  let count = 0;
  for await (const slice of slices) count += await copyIn(client, tableName(table), table, slice);
  return count;
}

async function copyIn(
  client: pg.Client,
  target: string,
  { name, columns }: Manifest['tables'][number],
  slice: AsyncIterable<Buffer>,
): Promise<number> {
  const rows = client.query(copyStreams.from(`copy ${target} (${columnList(columns)}) from stdin`));
  await refusing(`its ${name}`, () => pipeline(slice, rows));
  return rows.rowCount;
}

/** Evenly, in the order of their IDs. They are loaded before what is theirs. */
async function dealMerchants(client: pg.Client, cells: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    'select id from public.merchants order by id',
  );
  const dealt = [rows.map(({ id }) => id), rows.map((_, index) => cells[index % cells.length])];
  const each = 'unnest($1::text[], $2::text[]) as d (id, cell)';
  await client.query(
    `update public.merchants m set cell = d.cell from ${each} where d.id = m.id`,
    dealt,
  );
  // Of this session alone: on Citus what is dealt out is joined to nothing on other servers.
  await client.query('create temporary table homes (whose text primary key, home text)');
  await client.query(`insert into homes select * from ${each}`, dealt);
}

/** Rows of which one cell of the backup holds all, each into the cell of its merchant. */
async function deal(
  client: pg.Client,
  table: Manifest['tables'][number],
  slices: Slices,
  cells: readonly string[],
): Promise<number> {
  const [only = firstCell, ...others] = cells;
  if (others.length === 0) return fill(client, { ...table, cell: only }, slices);
  const columns = columnList(table.columns);
  await client.query(`create temporary table dealt (like ${tableName({ ...table, cell: only })})`);
  let count = 0;
  for await (const slice of slices) {
    count += await copyIn(client, 'dealt', table, slice);
    for (const cell of cells) {
      await refusing(`its ${table.name}`, () =>
        client.query(
          `insert into ${tableName({ ...table, cell })} (${columns})
           select ${columns} from dealt d
           left join homes m on m.whose = d.merchant_id
           where coalesce(m.home, $2) = $1`,
          [cell, only],
        ),
      );
    }
    await client.query('truncate dealt');
  }
  await client.query('drop table dealt');
  return count;
}

interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

async function dropForeignKeys(
  client: pg.Client,
  tables: readonly NamedTable[],
): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select k.conrelid::regclass::text as table, quote_ident(k.conname) as name,
      pg_get_constraintdef(k.oid) as definition
    from pg_constraint k
    where k.contype = 'f' and k.conrelid = any ($1::regclass[])
    order by k.conrelid::regclass::text collate "C", k.conname collate "C"`,
    [tables.map(tableName)],
  );
  for (const { table, name } of rows) {
    await client.query(`alter table ${table} drop constraint ${name}`);
  }
  return rows;
}

/**
 * One that rows break is still there for later rows, if that is accepted.
 * @returns whether all rows keep it.
 */
async function addForeignKey(
  client: pg.Client,
  { table, name, definition }: ForeignKey,
  acceptUnsound: boolean,
): Promise<boolean> {
  const add = `alter table ${table} add constraint ${name} ${definition}`;
  if (!acceptUnsound) {
    await refusing(`its ${table}`, () => client.query(add));
    return true;
  }
  await client.query('savepoint before_key');
  try {
    await client.query(add);
    return true;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== foreignKeyViolation) throw error;
    await client.query('rollback to savepoint before_key');
    await client.query(`${add} not valid`);
    return false;
  }
}

const foreignKeyViolation = '23503';
