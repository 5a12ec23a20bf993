// Mutants of transfers.

import type { Mutant } from './mutant.ts';

const decide = 'src/transfers/decide.ts';
const endpoints = 'src/transfers/endpoints.ts';
const own = 'src/transfers/transfers.test.ts';

export const transferMutants: readonly Mutant[] = [
  {
    name: 'transfer-takes-what-is-not-there',
    breaks: 'a sale of more than there is takes the rest, and says nothing',
    edits: [
      {
        file: decide,
        from: "if (missing !== zero && body.shortage === 'refuse') {",
        to: "if (missing === zero && body.shortage === 'never') {",
      },
    ],
    suites: [own],
  },
  {
    name: 'transfer-refused-by-its-first-line',
    breaks: 'lines behind the first that lacks something are not named',
    edits: [
      {
        file: decide,
        from: 'if (refused.length > 0) return refuseAll(refused);',
        to: 'if (refused.length > 0) return refuseAll(refused.slice(0, 1));',
      },
    ],
    suites: [own],
  },
  {
    name: 'transfer-shown-as-a-whole',
    breaks: 'a location that is not granted is named by a transfer',
    edits: [
      {
        file: endpoints,
        from: 'locations === null || locations.some((one) => one === location) ? location : null;',
        to: 'location;',
      },
    ],
    suites: [own],
  },
  {
    name: 'second-location-not-granted',
    breaks: 'something may be sent to a location that is not granted',
    edits: [
      {
        file: 'src/http/gather.ts',
        from: "'location_ids' in properties ? listedIn(body) : others }",
        to: "'location_ids' in properties ? listedIn(body) : [] }",
      },
    ],
    suites: [own],
  },
  {
    name: 'shortage-not-told',
    breaks: 'the event of a transfer does not say what was short',
    edits: [{ file: decide, from: 'short: shortOf(transfer), ', to: '' }],
    suites: [own],
  },
];
