// Copies of the service with something broken in them, each with the sentence of `tallybook check`
// that finds it. Most are mutants that tests notice, too.

import type { Edit } from '../mutants/mutant.ts';
import { namedMutants } from '../mutants/named.ts';
import { predicateMutants } from '../mutants/predicates.ts';

interface ServiceFault {
  readonly name: string;
  readonly found: string;
  readonly edits: readonly Edit[];
}

/** The sentence that finds each of them. */
const found: Readonly<Record<string, string>> = {
  'stored-answer-replayed': 'A replay shows the current state of the resource',
  'fingerprint-ignored': 'The same key with a changed request is 409',
  'rejection-not-stored': 'A refusal by a rule binds the key, and stays',
  'transfer-takes-what-is-not-there': 'A sale of more than is there is refused, and takes nothing',
  'transfer-refused-by-its-first-line':
    'A transfer moves all of its lines or none, and names each that lacks',
  'transfer-shown-as-a-whole': 'A transfer is shown cut to the side that is granted',
  'second-location-not-granted': 'A transfer needs a grant of both of its locations',
  'shortage-not-told': 'A sale that was short says so in its event',
  'reservation-of-what-is-put-aside': 'More than is available cannot be put aside',
  'sale-of-what-is-put-aside': 'What is put aside cannot be sold or carried away',
  'count-overwrites-what-moved-since': 'counted_at_position adds what has moved since',
  'movements-not-cut-out': 'An event shows movements of granted locations only',
  'as-of-before-its-operation': 'as_of_position shows what was there after that write',
  'cursor-without-associated-data': 'A cursor of another merchant is refused',
  'low-told-again': 'What runs out is told once, by the write that takes it there',
  'upsert-status-forgotten': 'An upsert creates what has no such ID: 201',
  'signature-over-other-bytes': 'A call is signed, so that the client of the SDK verifies it',
  'list-means-nothing': 'Another list under the key of a batch is 409, and nothing of it is done',
  'writes-of-batches-not-judged': 'A write of a batch needs its own scope and its own location',
  'src/records/store.ts find: r.merchant_id = $1':
    'A record of another merchant is 404, in the words of one that is not there',
  'src/operations/store.ts listOperations: o.merchant_id = $1':
    'GET /operations shows nothing of another merchant',
};

const known = [...namedMutants, ...predicateMutants()].flatMap(({ name, edits }): ServiceFault[] =>
  found[name] === undefined ? [] : [{ name, found: found[name], edits }],
);

const own: readonly ServiceFault[] = [
  {
    name: 'replays-with-another-status',
    found: 'A replay has the status of the first answer',
    edits: [
      {
        file: 'src/http/pipeline.ts',
        from: 'status: answer.created ? 201 : 200',
        to: 'status: answer.created && !answer.replayed ? 201 : 200',
      },
    ],
  },
  {
    name: 'location-of-the-token-ignored',
    found: 'Levels of a location that is not granted are 403',
    edits: [
      {
        file: 'src/access/principal.ts',
        from: 'return permissionsOf(row).every((one) => hasLocation(one, locationId));',
        to: 'return locationId !== undefined;',
      },
    ],
  },
  {
    name: 'level-beside-its-movements',
    found: 'Every level equals the sum of its movements',
    edits: [
      {
        file: 'src/inventory/read-store.ts',
        from: 'v.quantity::text as quantity, v.sequence',
        to: '(v.quantity + 1)::text as quantity, v.sequence',
      },
    ],
  },
  {
    name: 'cursor-skips-a-row',
    found: 'A walk over pages shows each record once',
    edits: [
      {
        file: 'src/contract/page.ts',
        from: 'isMore ? keys[count - 1]',
        to: 'isMore ? (keys[count] ?? keys[count - 1])',
      },
    ],
  },
];

export const serviceFaults: readonly ServiceFault[] = [...own, ...known];
