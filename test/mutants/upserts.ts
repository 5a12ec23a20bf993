// Mutants of upserts: of what makes two of one ID one record, and tells a creation from a change.

import type { Mutant } from './mutant.ts';

const endpoints = 'src/records/endpoints.ts';
const upserts = 'src/records/upsert.test.ts';

export const upsertMutants: readonly Mutant[] = [
  {
    name: 'upsert-status-forgotten',
    breaks: 'an upsert that created is answered, and told to the feed, as a change',
    edits: [
      {
        file: 'src/operations/keys.ts',
        from: 'decision.created ?? successStatus(write.endpoint.contract) === 201',
        to: 'successStatus(write.endpoint.contract) === 201',
      },
    ],
    suites: [upserts],
  },
  {
    name: 'upsert-outcome-unasked',
    breaks: 'a feed of what was created shows what was changed by upserts, too',
    edits: [
      {
        file: 'src/events/store.ts',
        from: 'nullif(\n    o.type',
        to: 'nullif(false and o.type',
      },
    ],
    suites: [upserts],
  },
  {
    name: 'upsert-holders-read-late',
    breaks: 'the record that another upsert made meanwhile has taken its own SKU',
    edits: [
      {
        file: endpoints,
        from: `        store.findHolders({ name: resource.name, unique: others }, writes),
        store.lockNamed(resource, writes, strengthOf(rules)),
`,
        to: `        store.lockNamed(resource, writes, strengthOf(rules)),
        store.findHolders({ name: resource.name, unique: others }, writes),
`,
      },
      {
        file: endpoints,
        from: 'state([holders = [], rows = [], ...locked]) {',
        to: 'state([rows = [], holders = [], ...locked]) {',
      },
    ],
    suites: ['test/interleavings/upserts.test.ts', 'src/records/upsert-races.test.ts'],
  },
  {
    name: 'upsert-grant-once',
    breaks: 'whoever waits for a location that is not theirs any more creates one',
    edits: [
      {
        file: endpoints,
        from: 'if (rules.isGranted === true && !isGrantedTo(write, before)) {',
        to: 'if (rules.isGranted === true && before && !isGrantedTo(write, before)) {',
      },
    ],
    suites: ['src/locations/upsert.test.ts'],
  },
  {
    name: 'upsert-replayed-to-anybody',
    breaks: 'a replay shows a location to whom it is not granted any more',
    edits: [
      {
        file: 'src/http/grants.ts',
        from: 'locations.filter((id) => id === written)',
        to: '[written]',
      },
    ],
    suites: ['src/locations/upsert.test.ts'],
  },
];
