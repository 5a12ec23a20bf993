// Cells: the data of each merchant is in one of them, for ever. A database that nobody has divided
// has one, and then nothing has to be asked or said of it.

import type { Reader, Writer } from './statement.ts';

/** The cell that every database has. What says no cell means this one. */
export const firstCell = 'cell_1';

/** What needs no quotes in SQL, and leaves room for it in the name of a statement. */
export const cellName = /^cell_[a-z0-9_]{1,12}$/;

/** Connections, and the same for what is about merchants of a cell. */
export interface InCells<Connections = { readonly reader: Reader; readonly writer: Writer }> {
  readonly reader: Reader;
  inCell(cell: string): Connections;
  /** The names of all there are, in one order. */
  cells(): Promise<readonly string[]>;
}

/** By their names, what leads to each. */
export async function eachCell<Connections>(
  database: InCells<Connections>,
): Promise<ReadonlyMap<string, Connections>> {
  const cells = await database.cells();
  return new Map(cells.map((cell) => [cell, database.inCell(cell)]));
}
