// Mutants of the journal: positions, the feed, and levels as of a moment.

import type { Mutant } from './mutant.ts';

const positions = 'src/journal/store.ts';
const batch = 'src/operations/batch.ts';
const feed = 'src/events/store.ts';
const pages = 'src/events/pages.ts';
const asOf = 'src/inventory/as-of-store.ts';

const lock =
  '    ...(locking.length === 0 ? [] : ' +
  '[{ ...lockJournals, values: [JSON.stringify(locking)] }]),\n';

export const journalMutants: readonly Mutant[] = [
  {
    name: 'position-from-a-sequence',
    breaks: 'positions have gaps, as those of a sequence have',
    edits: [
      {
        file: positions,
        from: 'select a.merchant_id, j.id, coalesce(o.position, 0) as last,',
        to: 'select a.merchant_id, j.id, coalesce(o.position, 0) + 1 as last,',
      },
    ],
    suites: ['src/inventory/followed.test.ts'],
  },
  {
    name: 'journal-locked-after-the-keys',
    breaks: 'batches meet at their keys before they meet at the journal',
    edits: [{ file: batch, from: `${lock}    saving,\n`, to: `    saving,\n${lock}` }],
    suites: ['test/failpoints/raise.test.ts'],
  },
  {
    name: 'feed-trusts-ids',
    breaks: 'events come in the order of their IDs, which is not that of their commits',
    edits: [
      {
        file: feed,
        from: 'order by o.position limit $' + '{limit}),',
        to: 'order by o.id limit $' + '{limit}),',
      },
      { file: feed, from: '    order by j.position),', to: '    order by j.id),' },
    ],
    suites: ['src/events/pages.test.ts', 'src/events/feed.test.ts'],
  },
  {
    name: 'through-position-from-a-later-statement',
    breaks: 'a page says it has judged what was committed after it was read',
    edits: [
      {
        file: pages,
        from: '    const horizon = Math.min(after + limits.eventsJudgedMax, last);',
        to: `    const [later] = await reads.query(findJournal(merchant));
    const horizon = Math.min(after + limits.eventsJudgedMax, later?.last ?? 0);`,
      },
      {
        file: pages,
        from: "import type { listEvents } from './contract.ts';",
        to: `import { findJournal } from '../journal/store.ts';
import type { listEvents } from './contract.ts';`,
      },
    ],
    suites: ['src/events/pages.test.ts'],
  },
  {
    name: 'movements-not-cut-out',
    breaks: 'an event shows movements at locations that are not granted',
    edits: [
      {
        file: feed,
        from: "'($8::text[] is null or m.location_id = any ($8))'",
        to: "'($8::text[] is null or m.location_id is not null)'",
      },
    ],
    suites: ['src/events/feed.test.ts'],
  },
  {
    name: 'as-of-off-by-one',
    breaks: 'a level is there only from the operation behind its first one on',
    edits: [
      {
        file: asOf,
        from: 'where v.first_position <= (select position from moment)',
        to: 'where v.first_position < (select position from moment)',
      },
    ],
    suites: ['src/inventory/as-of.test.ts'],
  },
  {
    name: 'as-of-before-its-operation',
    breaks: 'levels are shown as they were before the operation, and not after it',
    edits: [{ file: asOf, from: '        2147483647)', to: '        0)' }],
    suites: ['src/inventory/as-of.test.ts'],
  },
];
