// Mutants of the connections to a server: who gets one, and how long an opening may take.

import type { Mutant } from './mutant.ts';

const pool = 'src/database/pool.ts';
const health = 'src/database/health.ts';
const openings = ['test/openings.test.ts'];

export const connectionMutants: readonly Mutant[] = [
  {
    name: 'slow-openings-thrown-away',
    breaks: 'nobody gets a connection from a server that takes more than 1 s to open one',
    edits: [{ file: health, from: '      if (isSlow) timer', to: '      if (!isSlow) timer' }],
    suites: openings,
  },
  {
    name: 'waits-for-its-own-opening',
    breaks: 'a request waits for the connection that is opened for it while another is free',
    edits: [
      { file: pool, from: '(this.#pool.idleCount > 0 ? 0 : this.#coming)', to: 'this.#coming' },
    ],
    suites: openings,
  },
  {
    name: 'openings-hang-after-a-loss',
    breaks: 'after a failover an opening waits for the server that has died',
    edits: [
      {
        file: health,
        from: 'wasWell && this.#troubleAt < since && isOpening()',
        to: 'isOpening()',
      },
    ],
    suites: openings,
  },
];
