// What is known of mutants, kept in a file that Git ignores, so that a run that was ended goes on
// where it was. An entry counts for the very mutant, files and tests that it was made with.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesUnder, type Mutant, readSource, repository } from './mutant.ts';

const path = join(repository, '.mutants', 'results.json');

export interface Result {
  readonly verdict: 'killed' | 'survived' | 'invalid';
  /** The file and the test that noticed. */
  readonly by: string;
  readonly seconds: number;
  /** What that test said. */
  readonly said?: string;
}

type Entries = Record<string, Result & { readonly digest: string }>;

export class Results {
  /** Of the working tree as it is at the start: so it was copied. */
  readonly #digests: ReadonlyMap<Mutant, string>;

  constructor(mutants: readonly Mutant[], isFresh: boolean) {
    if (isFresh) rmSync(path, { force: true });
    this.#digests = new Map(mutants.map((mutant) => [mutant, digestOf(mutant)]));
  }

  of(mutant: Mutant): Result | undefined {
    const entry = entries()[mutant.name];
    return entry?.digest === this.#digests.get(mutant) ? entry : undefined;
  }

  keep(mutant: Mutant, result: Result): void {
    const digest = this.#digests.get(mutant) ?? '';
    const all = { ...entries(), [mutant.name]: { ...result, digest } };
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(all, undefined, 2)}\n`);
  }
}

/** Read each time: another run may be adding to them. */
function entries(): Entries {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

function digestOf({ edits, suites }: Mutant): string {
  const files = [...edits.map(({ file }) => file), ...suites, ...filesUnder('test/kit')];
  const hash = createHash('sha256').update(JSON.stringify([edits, suites]));
  for (const file of files) hash.update(readSource(file));
  return hash.digest('hex');
}
