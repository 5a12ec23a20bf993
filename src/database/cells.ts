// A cell is a schema that holds the data of many merchants. The global tables are in `public`, and
// nothing of merchants is: a statement sent without its cell finds the tables of the first.

import { createHash } from 'node:crypto';
import type pg from 'pg';
import { firstCell } from '../core/cells.ts';
import { commit, type Statement } from '../core/statement.ts';

/** Where the statements of a cell find their tables. */
export const pathOf = (cell: string): string => `${cell}, public`;

/** What the server can tell apart. */
const nameLengthMax = 63;

/**
 * A name leads to one plan for the life of a connection, and that to the tables of one cell. COMMIT
 * is of none.
 */
export function inCell(statement: Statement, cell: string): Statement {
  const isOfNone = statement.name === '' || statement.text === commit.text;
  if (isOfNone || cell === firstCell) return statement;
  const suffix = `@${cell.slice('cell_'.length)}`;
  return { ...statement, name: shortened(statement.name, nameLengthMax - suffix.length) + suffix };
}

/** What is longer than that is called by its sum. */
function shortened(name: string, length: number): string {
  if (name.length <= length) return name;
  const known = sums.get(name) ?? createHash('sha256').update(name).digest('hex').slice(0, 32);
  sums.set(name, known);
  return known;
}

/** Of names: as many as there are long texts. */
const sums = new Map<string, string>();

/** How the sessions at a server enter a cell. */
export interface Entrance {
  /** The cell that a connection is in as it is opened. */
  readonly first?: string;
  /** Settings by which the statements of a cell find its tables. */
  readonly settings: (cell: string) => Readonly<Record<string, string>>;
  /** Statements that come before the first of what writes in a cell. */
  readonly holding: (cell: string) => readonly string[];
}

/** On one server, and at the coordinator of a cluster. */
export const atHome: Entrance = {
  first: firstCell,
  settings: (cell) => ({ search_path: pathOf(cell) }),
  holding: () => [],
};

/** All there are, in one order. */
export const listCells: Statement<{ readonly name: string }> = {
  name: 'list_cells',
  text: 'select name from public.cells order by name',
  values: [],
};

export async function findCells(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(listCells.text);
  return rows.map(({ name }) => name);
}
