import { defineConfig } from 'vitest/config';

// What measures time or takes the whole machine runs by itself, after everything else: on two cores
// a neighbour's load would blur what it proves.
const alone = [
  'test/processes.test.ts',
  'test/rate-limits.test.ts',
  'test/work.test.ts',
  'test/chaos/chaos.test.ts',
  'test/wire/crowds.test.ts',
  'test/wire/mutated.test.ts',
  'src/access/rate/limiter.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    // Four files at a time on the two cores of the smallest machine: many of them wait.
    maxWorkers: 4,
    // Tests of one file that wait at the same time: slow clients, which wait for 30 s.
    maxConcurrency: 16,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: alone,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
