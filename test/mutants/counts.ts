// Mutants of counts.

import type { Mutant } from './mutant.ts';

const decide = 'src/counts/decide.ts';
const own = 'src/counts/counts.test.ts';

export const countMutants: readonly Mutant[] = [
  {
    name: 'count-overwrites-what-moved-since',
    breaks: 'what has moved since the shelf was counted is lost',
    edits: [
      { file: decide, from: 'const after = add(counted, since);', to: 'const after = counted;' },
    ],
    suites: [own],
  },
  {
    name: 'count-adds-what-others-found',
    breaks: 'a shelf that is counted twice from one position loses the difference twice',
    edits: [
      {
        file: 'src/counts/store.ts',
        from: "and c.reason = 'stock_count') as corrected",
        to: "and c.reason = 'none') as corrected",
      },
    ],
    suites: [own],
  },
  {
    name: 'count-of-what-is-there-is-not-kept',
    breaks: 'a line that equals the level is not recorded',
    edits: [
      {
        file: 'src/counts/endpoints.ts',
        from: 'lines: row.lines.map((line) => ({',
        to: 'lines: row.lines.filter((one) => one.movement_id !== null).map((line) => ({',
      },
    ],
    suites: [own],
  },
  {
    name: 'last-count-is-the-first',
    breaks: 'levels say who counted them first',
    edits: [
      {
        file: 'src/counts/store.ts',
        from: 'counted_at = excluded.counted_at`',
        to: 'counted_at = inventory_last_counts.counted_at`',
      },
    ],
    suites: ['src/counts/levels.test.ts'],
  },
];
