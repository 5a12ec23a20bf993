import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { clientByName } from './vitest.config.ts';

// The long proofs, for `npm run prove`: files of their own, and every file that `npm test` runs
// with a sample of what there is to try, two of those at a time. Of its own is what starts
// programs, servers and browsers, breaks them, or takes long to prepare. Last come those that
// measure time or take the whole machine, one file at a time.

const alone = [
  'src/check/check.prove.ts',
  'src/contract/parse.test.ts',
  'test/chaos/chaos.prove.ts',
  'test/failover.prove.ts',
  'test/failpoints/frozen.prove.ts',
  'test/failpoints/stall.prove.ts',
  'test/import-large.prove.ts',
  'test/pooler.prove.ts',
  'test/wire/many-clients.prove.ts',
  'test/wire/patience.prove.ts',
  'test/work.test.ts',
  'test/workers.prove.ts',
];

const files = ['src', 'sdk', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
);
const measuresNothing = (path: string) => !alone.includes(path);
const isSampled = (path: string) =>
  /\.(?:test|prove)\.ts$/.test(path) &&
  /from '.*\/kit\/extent\.ts'/.test(readFileSync(path, 'utf8')) &&
  measuresNothing(path);
const isProof = (path: string) =>
  path.endsWith('.prove.ts') && measuresNothing(path) && !isSampled(path);
// A browser takes as much of a machine as several files: beside it, tests with deadlines would miss
// them.
const opensBrowser = (path: string) =>
  path.startsWith(join('test', 'console')) || path === join('sdk', 'browser.prove.ts');

export default defineConfig({
  resolve: { alias: clientByName },
  test: {
    globalSetup: ['test/kit/postgres.ts'],
    env: { TALLYBOOK_PROVE: 'everything' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 4,
    maxConcurrency: 16,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: files.filter((path) => isProof(path) && !opensBrowser(path)),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'browsers',
          include: files.filter((path) => isProof(path) && opensBrowser(path)),
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'sampled',
          include: files.filter(isSampled),
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
