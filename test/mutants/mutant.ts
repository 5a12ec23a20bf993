// What a mutant is: the product with one thing broken, as replacements of text that must match. It
// says what it breaks, and which files of tests should notice, the quickest first.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Where `from` stands, when it may stand elsewhere too. */
  readonly at?: number;
}

export interface Mutant {
  readonly name: string;
  readonly breaks: string;
  readonly edits: readonly Edit[];
  readonly suites: readonly string[];
}

export const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export function readSource(file: string): string {
  return readFileSync(join(repository, file), 'utf8');
}

/** The files under a folder, named from the root of the repository, in a fixed order. */
export function filesUnder(folder: string): string[] {
  const entries = readdirSync(join(repository, folder), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(entry.parentPath.slice(repository.length + 1), entry.name))
    .sort();
}

/**
 * The files of a mutant as they become, of a tree that is read.
 * @throws Error when an edit does not find its text exactly once.
 */
export function mutated(
  { name, edits }: Mutant,
  read: (file: string) => string = readSource,
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const { file, from, to, at } of edits) {
    const text = files.get(file) ?? read(file);
    const start = at ?? text.indexOf(from);
    const isThere = start >= 0 && text.startsWith(from, start);
    if (!isThere || (at === undefined && text.includes(from, start + 1))) {
      throw new Error(`${name}: the mutant no longer applies to ${file}`);
    }
    files.set(file, text.slice(0, start) + to + text.slice(start + from.length));
  }
  return files;
}
