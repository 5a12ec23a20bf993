// Mutants of many writes in one request: what each of them is, and what the list is.

import type { Mutant } from './mutant.ts';

const pipeline = 'src/http/pipeline.ts';
const batches = 'src/batches/batches.test.ts';

export const batchMutants: readonly Mutant[] = [
  {
    name: 'list-means-nothing',
    breaks: 'another list under the key of a batch is done',
    edits: [
      {
        file: 'src/operations/write.ts',
        from: "items.map((item) => item.fingerprint.toString('hex'))",
        to: 'items.slice(0, 0)',
      },
    ],
    suites: [batches],
  },
  {
    name: 'writes-of-batches-not-judged',
    breaks: 'a write of a batch needs neither its scope nor its location',
    edits: [
      {
        file: pipeline,
        from: 'return perform(item, await judge(item));',
        to: 'return perform(item, item.found.bound);',
      },
    ],
    suites: [batches],
  },
  {
    name: 'batch-counts-once',
    breaks: 'a batch of 200 writes counts as one request',
    edits: [
      {
        file: 'src/batches/endpoints.ts',
        from: '    requests: requestsIn,\n',
        to: '',
      },
    ],
    suites: ['src/http/rate-limit.test.ts'],
  },
  {
    name: 'large-bodies-of-anybody',
    breaks: 'a body of a MiB is read before anybody knows whose it is',
    edits: [
      {
        file: 'src/http/server.ts',
        from: '      await largeBodies.admit(request, reply, bodyLimit);\n',
        to: '',
      },
    ],
    suites: ['src/http/large-bodies.test.ts'],
  },
];
