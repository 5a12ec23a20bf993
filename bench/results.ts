// What a run found, as it is written to a file.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Judgement } from './judge/bars.ts';
import type { Verdict } from './judge/verdict.ts';
import { type Options, resultsDirectory } from './options.ts';
import type { CaseResults } from './parts/case-part.ts';
import type { GrowthResults } from './parts/growth-part.ts';
import type { Machine } from './setup/usage.ts';

export interface RunResults {
  readonly startedAt: Date;
  /** How long the run took. */
  readonly seconds: number;
  readonly machine: Machine;
  readonly settings: Readonly<Record<string, string>>;
  readonly drivers: { readonly load: string; readonly raw: string; readonly rampSeconds: number };
  readonly options: Options;
  readonly verdict: Verdict;
  readonly cases: CaseResults | undefined;
  readonly growth: GrowthResults | undefined;
  readonly bars: readonly Judgement[];
}

/** @returns the path of the file. */
export async function writeResults(startedAt: Date, results: RunResults): Promise<string> {
  await mkdir(resultsDirectory, { recursive: true });
  const name = `${startedAt.toISOString().replace(/:/g, '-').slice(0, 19)}.json`;
  const path = join(resultsDirectory, name);
  await writeFile(path, `${JSON.stringify(results, null, 2)}\n`);
  return path;
}
