// What a backup holds of the database. Which tables there are, their columns and keys come from the
// catalogue; which of them are ours to keep is said here, and a test fails when a table is neither
// kept nor left out for a reason.

import pg from 'pg';
import { resources } from '../../resources.ts';
import { findCells } from '../cells.ts';

const resourceTables = resources.flatMap(({ tables }) => tables.map(({ name }) => name));

/**
 * In the order in which they are loaded: operations before the movements that name them, and a
 * level before its movements.
 */
export const keptTables: readonly string[] = [
  'merchants',
  'applications',
  'application_secrets',
  'credentials',
  'credential_tokens',
  'person_passwords',
  'person_passkeys',
  'oauth_records',
  'operations',
  ...resourceTables.filter((name) => name !== 'operations'),
  'audit_records',
  'audit_head',
];

/** Tables that no backup holds, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  cells: 'a restore makes them; the manifest names them',
  schema_migrations: 'a restore makes it by migrating; the manifest has its numbers and checksums',
  rate_buckets:
    'a crash empties it as well: everyone begins with a full bucket, which harms nobody',
  sign_in_challenges: 'they end within minutes: whoever signs in asks for another one',
  sign_in_tries: 'a crash empties it as well: everyone may try a few passwords again',
};

/**
 * Of tables that are not kept in the order of their key, because a restore adds rows in slices and
 * a trigger looks at each: a movement comes after the one before it of its level, and of its
 * operation. The clocks of nodes order IDs, and those may differ.
 */
const orders: Readonly<Record<string, readonly string[]>> = {
  inventory_movements: ['merchant_id', 'position', 'line'],
};

export interface Table {
  readonly name: string;
  /** The cell that it is in; undefined: it is global. */
  readonly cell?: string | undefined;
  /** Those that can be written: what the server generates, it generates again. */
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** In which rows are kept. */
  readonly order: readonly string[];
}

interface FoundTables {
  /**
   * In the order of `keptTables`, and one cell after the other; a schema of an earlier version has
   * fewer.
   */
  readonly kept: readonly Table[];
  /** Tables beside ours that this program knows nothing of. */
  readonly foreign: readonly string[];
}

export async function findTables(client: pg.Client): Promise<FoundTables> {
  const cells = await findCells(client);
  const { rows } = await client.query<
    Omit<Table, 'cell' | 'order'> & { readonly cell: string | null }
  >(
    `
    select c.relname::text as name, nullif(c.relnamespace::regnamespace::text, 'public') as cell,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        order by a.attnum) as columns,
      array(select a.attname::text from pg_index i
        cross join lateral unnest(i.indkey) with ordinality as k (attnum, place)
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where i.indrelid = c.oid and i.indisprimary
        order by k.place) as key
    from pg_class c
    where c.relnamespace::regnamespace::text = any ($1) and c.relkind in ('r', 'p')
    order by c.relname collate "C", cell`,
    [['public', ...cells]],
  );
  const tables = rows.map(({ cell, ...table }) => ({
    ...table,
    order: orders[table.name] ?? table.key,
    ...(cell !== null && { cell }),
  }));
  return {
    kept: keptTables.flatMap((name) => tables.filter((table) => table.name === name)),
    foreign: tables
      .map(({ name }) => name)
      .filter((name) => !keptTables.includes(name) && !(name in leftOut)),
  };
}

/** As it stands in a statement. */
export function tableName({ name, cell = 'public' }: Pick<Table, 'name' | 'cell'>): string {
  return `${cell}.${pg.escapeIdentifier(name)}`;
}

export function columnList(columns: readonly string[]): string {
  return columns.map((column) => pg.escapeIdentifier(column)).join(', ');
}

export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

export async function appliedMigrations(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'select number, name, checksum from public.schema_migrations where number > 0 order by number',
  );
  return rows;
}
