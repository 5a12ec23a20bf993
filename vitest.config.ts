import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// What replaces modules or clocks of the process, or measures its memory, has a process of its own.
const isolated = ['test/schedules/schedules.test.ts', 'src/operations/queue.test.ts'];

// What measures how long something takes runs after everything else: on two cores the load of other
// tests would blur what it proves. Of these two one waits for its database and one for its clock.
const alone = ['test/work.test.ts', 'src/access/rate/limiter.test.ts'];

/** The service's own commands use the client as any program does: by its name. */
export const clientByName = {
  '@tallybook/client': fileURLToPath(new URL('sdk/main.ts', import.meta.url)),
};

export default defineConfig({
  resolve: { alias: clientByName },
  test: {
    globalSetup: ['test/kit/postgres.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Four files at a time on the two cores of the smallest machine: many of them wait.
    maxWorkers: 4,
    // Tests of one file that wait at the same time: slow clients, which wait for 30 s.
    maxConcurrency: 16,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['src/**/*.test.ts', 'sdk/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...isolated, ...alone],
          // Importing the service takes 1.4 s of processor time, for each file but the first of a
          // process that serves many.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'isolated', include: isolated, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
