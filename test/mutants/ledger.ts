// Mutants of the ledger, of durability and of what reads see.

import type { Mutant } from './mutant.ts';

const ledger = 'src/inventory/ledger.ts';
const batch = 'src/operations/batch.ts';
const role = 'src/database/role.ts';
const foundation = 'db/migrations/cell/0001_foundation.sql';
const jointReads = 'src/database/joint-reads.ts';
const endpoints = 'src/inventory/endpoints.ts';

const batches = 'src/operations/batch.test.ts';
const commits = 'src/operations/commit.test.ts';
const rules = 'src/inventory/rules.test.ts';
const guards = 'src/inventory/ledger.test.ts';
const migrations = 'src/database/migrate.test.ts';

const readCommitted = "default_transaction_isolation: 'read committed',";
const quickly = `${readCommitted}\n  synchronous_commit: 'off',`;

const levels: readonly Mutant[] = [
  {
    name: 'level-read-without-lock',
    breaks: 'two adjustments are judged on the same quantity',
    edits: [
      {
        file: 'src/inventory/store.ts',
        from: "v.location_id for no key update of v';",
        to: "v.location_id';",
      },
    ],
    // A storm notices as well, but not each time: the chain refuses what comes of it, and a repeat
    // makes up for it.
    suites: ['test/interleavings/pairs.test.ts'],
  },
  {
    name: 'delta-off-by-one',
    breaks: 'a movement says it moved one more than it did, and nothing checks the sum',
    edits: [
      {
        file: foundation,
        from: 'check (quantity_after = quantity_before + quantity_delta),',
        to: '',
      },
      {
        file: ledger,
        from: 'quantity_delta: subtract(quantity_after, before),',
        to: "quantity_delta: subtract(quantity_after, subtract(before, '1')),",
      },
    ],
    suites: [rules, 'src/inventory/reads.test.ts', batches],
  },
  {
    name: 'chain-off-by-one',
    breaks: 'a movement begins one above the end of the one before, and nothing checks the chain',
    edits: [
      {
        file: foundation,
        from: `
          or coalesce(before.quantity_after, 0) <> a.quantity_before`,
        to: '',
      },
      {
        file: ledger,
        from: `quantity_before: before,
    quantity_delta: subtract(quantity_after, before),`,
        to: `quantity_before: sequence === 1 ? before : subtract(before, '-1'),
    quantity_delta: subtract(quantity_after,
        sequence === 1 ? before : subtract(before, '-1')),`,
      },
    ],
    suites: [rules, 'src/inventory/reads.test.ts', batches],
  },
];

const lines: readonly Mutant[] = [
  {
    name: 'movements-not-counted',
    breaks: 'an operation may have fewer movements than it says, or none',
    edits: [
      {
        file: foundation,
        from: 'for each row when (new.movements > 0) execute function refuse_missing_movements();',
        to: 'for each row when (new.movements < 0) execute function refuse_missing_movements();',
      },
    ],
    suites: [guards],
  },
  {
    name: 'line-beyond-its-operation',
    breaks: 'an operation may have more movements than it says',
    edits: [{ file: foundation, from: 'or o.movements < a.line or', to: 'or' }],
    suites: [guards],
  },
  {
    name: 'line-left-out',
    breaks: 'an operation may have its last line and not those before',
    edits: [{ file: foundation, from: 'when a.line > 1 and (', to: 'when a.line < 1 and (' }],
    suites: [guards],
  },
  {
    name: 'movement-of-what-moves-nothing',
    breaks: 'any type of operation may have movements',
    edits: [
      {
        file: foundation,
        from:
          "\n          or o.type not in ('inventory.adjust', 'inventory.transfer', " +
          "'inventory.count',\n            'inventory.fulfil')",
        to: '',
      },
    ],
    suites: [guards],
  },
  {
    name: 'first-line-not-named',
    breaks: 'an adjustment answers with a movement that is not its own',
    edits: [
      {
        file: foundation,
        from:
          "\n          or (o.type = 'inventory.adjust' and a.line = 1 " +
          'and o.resource_id <> a.id)',
        to: '',
      },
    ],
    suites: [guards],
  },
];

const durability: readonly Mutant[] = [
  {
    name: 'acknowledged-before-commit',
    breaks: 'a write is answered when it is saved, whether it commits or not',
    edits: [
      {
        file: batch,
        from: `    commit,
  ]);
  requireCommitted(results.at(-1));
  const ends = rowsOf<JournalEnd>(results.at(-2));`,
        to: `  ]);
  connection.send([commit]).catch(() => undefined);
  const ends = rowsOf<JournalEnd>(results.at(-1));`,
      },
    ],
    suites: [commits],
  },
  {
    name: 'answer-to-commit-unread',
    breaks: 'a COMMIT that answers ROLLBACK counts as success',
    edits: [{ file: batch, from: 'requireCommitted(results.at(-1));', to: '' }],
    suites: [commits],
  },
  {
    name: 'role-commits-without-flush',
    breaks: 'the service’s role has synchronous_commit off',
    edits: [{ file: role, from: readCommitted, to: quickly }],
    suites: [migrations],
  },
  {
    name: 'unsafe-commit-accepted',
    breaks: 'the role has synchronous_commit off, and start-up does not look at it',
    edits: [
      { file: role, from: readCommitted, to: quickly },
      {
        file: 'src/database/safety.ts',
        from: "const synchronous = ['on', 'remote_apply'];",
        to: "const synchronous = ['on', 'remote_apply', 'off'];",
      },
    ],
    suites: [migrations],
  },
  {
    name: 'private-server-commits-without-flush',
    breaks: 'the private server is started with synchronous_commit off',
    edits: [
      {
        file: 'src/postgres/settings.ts',
        from: "synchronous_commit: 'on',",
        to: "synchronous_commit: 'off',",
      },
    ],
    suites: ['src/postgres/server.prove.ts'],
  },
  {
    name: 'batch-commits-without-flush',
    breaks: 'each batch turns synchronous_commit off for itself, past every check of start-up',
    edits: [
      {
        file: batch,
        from: 'const opening = [begin, ...shorterWait(lockTimeout)];',
        to: `const text = "select set_config('synchronous_commit', 'off', true)";
  const opening = [begin, { name: 'quickly', text, values: [] }, ...shorterWait(lockTimeout)];`,
      },
    ],
    suites: [commits],
  },
  {
    name: 'lock-time-out-as-conflict',
    breaks: 'a write that waited in vain is told that its key was used for another request',
    edits: [
      {
        file: 'src/operations/recover.ts',
        from: "new Problem('operation_in_progress', { headers, cause })",
        to: "new Problem('idempotency_key_reused', { cause })",
      },
    ],
    suites: [batches],
  },
];

const reads: readonly Mutant[] = [
  {
    name: 'cursor-without-associated-data',
    breaks: 'a cursor serves any collection and any merchant',
    edits: [
      {
        file: 'src/core/sealer.ts',
        from: "Buffer.from(JSON.stringify([version, ...owner]), 'utf8')",
        to: 'Buffer.alloc(owner.length === 0 ? 1 : 0)',
      },
    ],
    suites: ['test/collections.test.ts'],
  },
  {
    name: 'read-joins-a-sent-query',
    breaks: 'a read is answered by a query that was sent before it, with what was there then',
    edits: [
      {
        file: jointReads,
        from: 'for (const { id, resolve } of batch) resolve(byId.get(id));',
        to: `const late = group.waiting.filter(({ id }) => byId.has(id));
    for (const { id, resolve } of [...batch, ...late]) resolve(byId.get(id));`,
      },
    ],
    suites: ['src/database/joint-reads.test.ts'],
  },
  {
    name: 'levels-cached-for-a-moment',
    breaks: 'a list of levels is answered from memory for a tenth of a second',
    edits: [
      {
        file: endpoints,
        from: 'const listLevels: CollectionEndpoint',
        to: `const kept = new Map();
function keep(key, ask) {
  if (!kept.has(key)) {
    kept.set(key, ask());
    setTimeout(() => kept.delete(key), 100);
  }
  return kept.get(key);
}

const listLevels: CollectionEndpoint`,
      },
      {
        file: endpoints,
        from: `const answer = await reader.query(
      read.listLevels({`,
        to: `const asked = JSON.stringify([principal.merchant, location, query, page]);
    const answer = await keep(asked, () => reader.query(
      read.listLevels({`,
      },
      {
        file: endpoints,
        from: `limit: fetchSize(page),
      }),
    );
    const rows = read.countedRows(answer, (row) => row.product_id);`,
        to: `limit: fetchSize(page),
      }),
    ));
    const rows = read.countedRows(structuredClone(answer), (row) => row.product_id);`,
      },
    ],
    suites: ['src/inventory/reads.test.ts'],
  },
];

export const ledgerMutants: readonly Mutant[] = [...levels, ...lines, ...durability, ...reads];
