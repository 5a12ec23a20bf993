import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { clientByName } from './vitest.config.ts';

// The long proofs, for `npm run prove`: files of their own, and every file that `npm test` runs
// with a sample of what there is to try. Some measure time or take the whole machine: one file at a
// time.

const files = ['src', 'sdk', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
);
const isSampled = (path: string) =>
  path.endsWith('.test.ts') && /from '.*\/kit\/extent\.ts'/.test(readFileSync(path, 'utf8'));

export default defineConfig({
  resolve: { alias: clientByName },
  test: {
    globalSetup: ['test/kit/postgres.ts'],
    include: files.filter((path) => path.endsWith('.prove.ts') || isSampled(path)),
    env: { TALLYBOOK_PROVE: 'everything' },
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    maxConcurrency: 16,
  },
});
