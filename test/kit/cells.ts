// In how many cells the suite runs. With several, merchants of tests live in the middle one, where
// the owner's sessions look, and the mirror of a merchant lives in the next.

import type pg from 'pg';
import { addCell } from '../../src/database/migrate.ts';
import type { TestDatabase } from './database.ts';

export const cells: readonly string[] = Array.from(
  { length: Number(process.env.TALLYBOOK_TEST_CELLS ?? 1) },
  (_, index) => `cell_${index + 1}`,
);

export const homeCell = cells[Math.floor(cells.length / 2)] ?? 'cell_1';
export const mirrorCell = cells[Math.floor(cells.length / 2) + 1] ?? homeCell;

/** What the audit trail is told of that a test does: nothing. */
export const nothingToRecord = { name: '', text: "select append_audit('[]')", values: [] };

/** Adds cells, as their owner. */
export async function addCells(owner: string, names: readonly string[]): Promise<void> {
  for (const cell of names) await addCell(owner, cell, nothingToRecord);
}

/** Of the owner's sessions, before the database is migrated: it leaves one that is there. */
export async function lookHome(admin: pg.Client, database: string): Promise<void> {
  if (cells.length === 1) return;
  const role = (await admin.query('select quote_ident(current_user) as name')).rows[0].name;
  await admin.query(`alter role ${role} in database ${database}
    set search_path = ${homeCell}, public`);
}

/** SQL as the owner in the cell of a merchant, whichever that is. */
export async function sqlOf(
  db: Pick<TestDatabase, 'session'>,
  merchant: string,
  text: string,
  values: unknown[],
): Promise<Record<string, unknown>[]> {
  const session = await db.session();
  try {
    await session.query(
      `select set_config('search_path', cell || ', public', false) from merchants where id = $1`,
      [merchant],
    );
    return (await session.query(text, values)).rows;
  } finally {
    await session.end();
  }
}
