// The files of db/migrations, each cut into its statements.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

const directory = new URL('../../db/migrations/', import.meta.url);

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  /** One statement each. */
  readonly steps: readonly string[];
}

export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(name.slice(0, 4));
      if (number !== index + 1) throw new Error(`migration ${name} leaves a gap in the numbers`);
      const sql = await readFile(new URL(name, directory), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      return { number, name, checksum, steps: statementsOf(sql) };
    }),
  );
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
