// Mutants of idempotency: of what makes one key one effect and one answer.

import type { Edit, Mutant } from './mutant.ts';

const claim = 'src/operations/claim.ts';
const batch = 'src/operations/batch.ts';
const dispatch = 'src/operations/dispatch.ts';
const recover = 'src/operations/recover.ts';
const foundation = 'db/migrations/0001_foundation.sql';
const lookUp = 'db/migrations/0003_ledger_by_set.sql';
const unique = 'unique (merchant_id, credential_id, type, key_hash)';

const idempotency = 'src/operations/idempotency.test.ts';
const commit = 'src/operations/commit.test.ts';
const schedules = 'test/schedules/schedules.test.ts';

/** Keys as they would be bound and found if their names were made of these parts only. */
function namespace(columns: string, asked: string): readonly Edit[] {
  const found = columns.replaceAll(/\w+/g, 'f.$&');
  return [
    { file: foundation, from: unique, to: `unique (${columns})` },
    {
      file: lookUp,
      from: `where (f.merchant_id, f.credential_id, f.type, f.key_hash)
        >= (merchant, credential, k.type, k.key_hash)
      order by f.merchant_id, f.credential_id, f.type, f.key_hash`,
      to: `where (${found}) = (${asked}) order by f.id`,
    },
    {
      file: lookUp,
      from: `where (o.merchant_id, o.credential_id, o.type, o.key_hash)
      = (merchant, credential, k.type, k.key_hash));`,
      to: ');',
    },
  ];
}

export const keyMutants: readonly Mutant[] = [
  {
    name: 'lost-binding-ignored',
    breaks: 'a twin that could not bind its key goes on with what it has decided',
    edits: [
      {
        file: claim,
        from: '      order by merchant_id, credential_id, type, key_hash`,',
        to: '      order by merchant_id, credential_id, type, key_hash on conflict do nothing`,',
      },
      {
        file: batch,
        from: 'expect_rows((select count(*) from saved_$' + '{index}), ',
        to:
          'expect_rows($' +
          "{index === 0 ? '$2::bigint' : `(select count(*) from saved_$" +
          '{index})`}, ',
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'key-not-unique',
    breaks: 'keys are looked up and then inserted, and nothing keeps two from doing so at once',
    edits: [
      {
        file: foundation,
        from: `alter table operations add constraint operations_key\n  ${unique};`,
        to: `create index operations_key on operations
  (merchant_id, credential_id, type, key_hash);`,
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'fingerprint-ignored',
    breaks: 'another request under a used key is answered with the first one’s result',
    edits: [
      {
        file: dispatch,
        from: 'if (!known.fingerprint.equals(request.fingerprint)) throw keyReused(known);',
        to: '',
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'fingerprint-of-the-body-as-sent',
    breaks: 'the same request in other words is 409',
    edits: [
      {
        file: 'src/http/submit.ts',
        from: 'body: { ...submission.body, ...body } };',
        to: 'body: JSON.stringify(submission.body) };',
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'refused-before-the-key',
    breaks: 'a request that is bound to its key is refused once the rules are stricter',
    edits: [
      {
        file: 'src/http/submit.ts',
        from: 'let { known } = submission;',
        to: 'let { known } = submission;\n    if (refusal !== undefined) throw refusal;',
      },
    ],
    suites: ['test/upgrade/stricter.test.ts'],
  },
  {
    name: 'fingerprint-of-what-is-known',
    breaks: 'a member that is not known does not make another request',
    edits: [
      {
        file: 'src/http/submit.ts',
        from: 'body: { ...submission.body, ...body } };',
        to: 'body };',
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'quantities-of-any-text',
    breaks: 'digits that no quantity may have are dropped, and the rest is taken for a replay',
    edits: [
      {
        file: 'src/http/parse.ts',
        from: "typeof value === 'string' && quantityFault(value) === undefined",
        to: "typeof value === 'string' && /^[0-9]+[.][0-9]*$/.test(value)",
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'namespace-without-merchant',
    breaks: 'merchants share keys',
    edits: namespace('credential_id, type, key_hash', 'credential, k.type, k.key_hash'),
    suites: [idempotency],
  },
  {
    name: 'namespace-without-credential',
    breaks: 'the credentials of a merchant share keys',
    edits: namespace('merchant_id, type, key_hash', 'merchant, k.type, k.key_hash'),
    suites: [idempotency],
  },
  {
    name: 'namespace-without-type',
    breaks: 'kinds of writes share keys',
    edits: namespace('merchant_id, credential_id, key_hash', 'merchant, credential, k.key_hash'),
    suites: ['test/writes.test.ts'],
  },
  {
    name: 'rejection-not-stored',
    breaks: 'a refused request may succeed when it is sent again',
    edits: [
      {
        file: batch,
        from: 'return [bindKeys(all, now), ...merged(parts)];',
        to: `const kept = all.filter(({ outcome }) => outcome.status === 'succeeded');
  return [bindKeys(kept, now), ...merged(parts)];`,
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'stored-answer-replayed',
    breaks: 'a replay shows what was answered at first, not what is there now',
    edits: [
      {
        file: dispatch,
        from: 'export class Dispatcher {',
        to: 'const answered = new Map();\n\nexport class Dispatcher {',
      },
      {
        file: dispatch,
        from: 'const data = request.endpoint.present(row);',
        to: 'const data = request.endpoint.present(row);\n    answered.set(operationId, row);',
      },
      {
        file: dispatch,
        from: 'await reads.find((ids) => endpoint.find(merchant, ids), resourceId);',
        to: `answered.get(operationId)
      ?? (await reads.find((ids) => endpoint.find(merchant, ids), resourceId));`,
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'replay-without-grant',
    breaks: 'a replay is shown to a credential that lost the location',
    edits: [
      {
        file: 'src/http/pipeline.ts',
        from: 'if (hint !== undefined && caller.location === undefined) {',
        to: `if (hint !== undefined && caller.location === undefined
      && caller.bound === undefined) {`,
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'retry-with-a-new-key',
    breaks: 'a batch that is run again binds other keys than it was asked with',
    edits: [
      {
        file: recover,
        from: "import { setTimeout as sleep } from 'node:timers/promises';",
        to: `import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';`,
      },
      {
        file: recover,
        from: 'return [{ ...part, attempt: attempt + 1 }];',
        to: `for (const one of tickets) Object.assign(one, { keyHash: randomBytes(32) });
    return [{ ...part, attempt: attempt + 1 }];`,
      },
    ],
    suites: [commit],
  },
  {
    name: 'retry-as-a-new-operation',
    breaks: 'a batch that is run again saves another operation than it answers with',
    edits: [
      {
        file: recover,
        from: "import { limits } from '../core/limits.ts';",
        to: `import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';`,
      },
      {
        file: recover,
        from: 'return [{ ...part, attempt: attempt + 1 }];',
        to: `for (const one of tickets) Object.assign(one, { operationId: mintId('operation') });
    return [{ ...part, attempt: attempt + 1 }];`,
      },
    ],
    suites: [commit],
  },
  {
    name: 'flight-left-behind',
    breaks: 'a key is remembered as under way for ever, with what became of it at first',
    edits: [{ file: dispatch, from: 'this.#flights.delete(key);', to: 'void key;' }],
    suites: [schedules],
  },
  {
    name: 'twin-in-flight-not-compared',
    breaks: 'another request under a key in flight is answered with the first one’s result',
    edits: [
      {
        file: dispatch,
        from: 'if (known !== undefined) return this.#replay(request, known);\n        continue;',
        to: `const { fingerprint } = known ?? request;
        if (known !== undefined) return this.#replay({ ...request, fingerprint }, known);
        continue;`,
      },
    ],
    suites: [schedules],
  },
  {
    name: 'set-apart-and-forgotten',
    breaks: 'whoever waited in vain together with other merchants is never answered',
    edits: [
      {
        file: dispatch,
        from: "if (result === 'apart') return this.#queue.addApart(merchant, type, one);",
        to: "if (result === 'apart') return;",
      },
    ],
    suites: [schedules],
  },
  {
    name: 'culprit-takes-a-neighbour-along',
    breaks: 'of a batch that is halved one command is lost',
    edits: [
      {
        file: recover,
        from: 'tickets.slice(middle)]',
        to: 'tickets.slice(middle + 1)]',
      },
    ],
    suites: [schedules],
  },
];
