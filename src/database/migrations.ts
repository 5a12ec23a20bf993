// The files of db/migrations, each cut into its statements. What is done to the global tables and
// what is done to each cell are files of one number in two folders; either may be missing.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

const ofGlobalTables = new URL('../../db/migrations/', import.meta.url);
const ofCells = new URL('cell/', ofGlobalTables);

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  /** Of the global tables, one statement each. They come first. */
  readonly steps: readonly string[];
  /** Of each cell. */
  readonly cellSteps: readonly string[];
}

export async function readMigrations(): Promise<readonly Migration[]> {
  const global = await readFolder(ofGlobalTables);
  const cell = await readFolder(ofCells);
  const numbers = [...new Set([...global.keys(), ...cell.keys()])].sort(
    (one, other) => one - other,
  );
  return numbers.map((number, index) => {
    const files = [global.get(number), cell.get(number)];
    const name = files.find((file) => file !== undefined)?.name ?? '';
    if (number !== index + 1) throw new Error(`migration ${name} leaves a gap in the numbers`);
    const [sql = '', cellSql = ''] = files.map((file) => file?.sql);
    const checksum = createHash('sha256').update(sql).update(cellSql).digest('hex');
    return {
      ...{ number, name, checksum },
      steps: statementsOf(sql),
      cellSteps: statementsOf(cellSql),
    };
  });
}

interface MigrationFile {
  readonly name: string;
  readonly sql: string;
}

async function readFolder(folder: URL): Promise<ReadonlyMap<number, MigrationFile>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql'));
  const files = names.map(
    async (name): Promise<[number, MigrationFile]> => [
      Number(name.slice(0, 4)),
      { name, sql: await readFile(new URL(name, folder), 'utf8') },
    ],
  );
  return new Map(await Promise.all(files));
}

/** What may hold a semicolon that ends no statement, the semicolon, or anything else. */
const part = /\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*.*?\*\/|;|./gs;

export function statementsOf(sql: string): string[] {
  const statements: string[] = [];
  let text = '';
  let isEmpty = true;
  for (const [found] of sql.matchAll(part)) {
    text += found;
    if (found === ';' && !isEmpty) statements.push(text.trim());
    if (found === ';') [text, isEmpty] = ['', true];
    else if (!/^(?:\s|--|\/\*)/.test(found)) isEmpty = false;
  }
  if (!isEmpty) statements.push(text.trim());
  return statements;
}
