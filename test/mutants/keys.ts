// Mutants of idempotency: of what makes one key one effect and one answer.

import type { Edit, Mutant } from './mutant.ts';

const keys = 'src/operations/keys.ts';
const batch = 'src/operations/batch.ts';
const dispatch = 'src/operations/dispatch.ts';
const recover = 'src/operations/recover.ts';
const foundation = 'db/migrations/cell/0001_foundation.sql';
const lookUp = 'src/access/store.ts';
const pipeline = 'src/http/pipeline.ts';
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
      >= (c.merchant_id, c.id, k.type, k.key_hash)
    order by f.merchant_id, f.credential_id, f.type, f.key_hash`,
      to: `where (${found}) = (${asked}) order by f.id`,
    },
    {
      file: lookUp,
      from: `where (o.merchant_id, o.credential_id, o.type, o.key_hash)
    = (c.merchant_id, c.id, k.type, k.key_hash)`,
      to: '',
    },
  ];
}

export const keyMutants: readonly Mutant[] = [
  {
    name: 'lost-binding-ignored',
    breaks: 'a duplicate that could not bind its key goes on with what it has decided',
    edits: [
      {
        file: keys,
        from: '      order by s.merchant_id, s.credential_id, s.type, s.key_hash`,',
        to: `      order by s.merchant_id, s.credential_id, s.type, s.key_hash
      on conflict do nothing\`,`,
      },
      {
        file: batch,
        from: 'expect_rows((select count(*) from saved_$' + '{index}), ',
        to:
          'expect_rows($' +
          "{index === 0 ? '$3::bigint' : `(select count(*) from saved_$" +
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
        from: 'if (!operation.fingerprint.equals(write.fingerprint)) throw keyReused(operation);',
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
        file: 'src/operations/write.ts',
        from: 'body: { ...sent, ...body },',
        to: 'body: JSON.stringify(asked.body),',
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'refused-before-the-key',
    breaks: 'a request that is bound to its key is refused once the rules are stricter',
    edits: [
      {
        file: pipeline,
        from: '  keyLookUp: ({ found }) => found?.bound,\n',
        to: '',
      },
      {
        file: dispatch,
        from: "return this.#unlessBound(write, new Problem('validation_failed', ",
        to: "throw (new Problem('validation_failed', ",
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'fingerprint-of-what-is-known',
    breaks: 'a member that is not known does not make another request',
    edits: [
      {
        file: 'src/operations/write.ts',
        from: 'body: { ...sent, ...body },',
        to: 'body,',
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'quantities-of-any-text',
    breaks: 'digits that no quantity may have are dropped, and the rest is taken for a replay',
    edits: [
      {
        file: 'src/contract/parse.ts',
        from: "typeof value === 'string' && quantityFault(value) === undefined",
        to: "typeof value === 'string' && /^[0-9]+[.][0-9]*$/.test(value)",
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'namespace-without-merchant',
    breaks: 'merchants share keys',
    edits: namespace('credential_id, type, key_hash', 'c.id, k.type, k.key_hash'),
    suites: [idempotency],
  },
  {
    name: 'namespace-without-credential',
    breaks: 'the credentials of a merchant share keys',
    edits: namespace('merchant_id, type, key_hash', 'c.merchant_id, k.type, k.key_hash'),
    suites: [idempotency],
  },
  {
    name: 'namespace-without-type',
    breaks: 'kinds of writes share keys',
    edits: namespace('merchant_id, credential_id, key_hash', 'c.merchant_id, c.id, k.key_hash'),
    suites: ['test/writes.test.ts'],
  },
  {
    name: 'rejection-not-stored',
    breaks: 'a refused request may succeed when it is sent again',
    edits: [
      {
        file: batch,
        from: 'bindKeys(decided.map(({ operation }) => operation))),',
        to: `bindKeys(decided.map(({ operation }) => operation)
      .filter(({ status }) => status === 'succeeded'))),`,
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
        from: 'const shown = row ?? (await reads.find(',
        to: `if (row !== undefined) answered.set(operationId, row);
    const shown = answered.get(operationId) ?? (await reads.find(`,
      },
    ],
    suites: [idempotency],
  },
  {
    name: 'replay-without-grant',
    breaks: 'a replay is shown to a credential that lost the location',
    edits: [
      {
        file: pipeline,
        from: 'if (locationId !== undefined && found?.location === undefined) {',
        to: `if (locationId !== undefined && found?.location === undefined
      && found?.bound === undefined) {`,
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
        to: `for (const one of writes) Object.assign(one, { keyHash: randomBytes(32) });
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
        to: `for (const one of writes) Object.assign(one, { operationId: mintId('op_') });
    return [{ ...part, attempt: attempt + 1 }];`,
      },
    ],
    suites: [commit],
  },
  {
    name: 'first-request-left-in-progress',
    breaks: 'a key is remembered as in progress for ever, with what became of it at first',
    edits: [{ file: dispatch, from: 'this.#inProgress.delete(key);', to: 'void key;' }],
    suites: [schedules],
  },
  {
    name: 'duplicate-in-progress-not-compared',
    breaks: 'another request under a key in progress is answered with the first one’s result',
    edits: [
      {
        file: dispatch,
        from: 'if (operation !== undefined) return this.#answer(write, { operation });',
        to: `const { fingerprint } = operation ?? write;
      if (operation !== undefined) return this.#answer({ ...write, fingerprint }, { operation });`,
      },
    ],
    suites: [schedules],
  },
  {
    name: 'run-alone-and-forgotten',
    breaks: 'a write whose batch of several merchants timed out is never answered',
    edits: [
      {
        file: dispatch,
        from: 'return this.#queue.addAlone(merchant, endpoint.contract.name, one, write.lines);',
        to: 'return;',
      },
    ],
    suites: [schedules],
  },
  {
    name: 'culprit-takes-a-neighbour-along',
    breaks: 'of a batch that is halved one write is lost',
    edits: [
      {
        file: recover,
        from: 'writes.slice(middle)]',
        to: 'writes.slice(middle + 1)]',
      },
    ],
    suites: [schedules],
  },
  {
    name: 'halves-have-one-try',
    breaks: 'writes that meet conflicts one after the other are 503',
    edits: [{ file: recover, from: 'attempt: 0, lockTimeout })', to: 'attempt, lockTimeout })' }],
    suites: ['src/operations/batch.test.ts'],
  },
];
