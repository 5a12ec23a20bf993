// Mutants of cells: statements that go to another one than their merchant's.

import type { Mutant } from './mutant.ts';

const connection = 'src/database/connection.ts';
const pool = 'src/database/pool.ts';
const pooler = 'src/database/pooler.ts';
const statements = 'src/database/cells.test.ts';

export const cellMutants: readonly Mutant[] = [
  {
    name: 'transaction-without-its-cell',
    breaks: 'a transaction is in the first cell, whatever its merchant',
    edits: [
      {
        file: 'src/database/server-connections.ts',
        from: 'writer: poolWriter(this.#writes, cell),',
        to: "writer: poolWriter(this.#writes, 'cell_1'),",
      },
    ],
    suites: [statements],
  },
  {
    name: 'read-without-its-cell',
    breaks: 'a read goes to the first cell, whatever its merchant',
    edits: [
      {
        file: pool,
        from: '  if (cell === firstCell) return reader;\n',
        to: '  return reader;\n',
      },
    ],
    suites: [statements],
  },
  {
    name: 'begin-without-its-cell',
    breaks: 'a transaction is in the cell that the last read on its connection was about',
    edits: [
      {
        file: pooler,
        from: '[statement.text, own, ...holding]',
        to: '[statement.text, ...holding]',
      },
    ],
    suites: [statements],
  },
  {
    name: 'cell-of-a-connection-forgotten',
    breaks: 'a read is in the cell that the one before on its connection entered',
    edits: [{ file: connection, from: '      if (before > 0) cells.set(client, cell);\n', to: '' }],
    suites: [statements],
  },
  {
    name: 'shared-session-without-its-cell',
    breaks: 'behind a pooler all is in the first cell',
    edits: [
      {
        file: pooler,
        from: '} = entrance.settings(cell);',
        to: '} = entrance.settings(firstCell);',
      },
    ],
    suites: [statements],
  },
  {
    name: 'ready-with-one-cell',
    breaks: 'a service is ready when the first cell has the schema',
    edits: [
      {
        file: 'src/database/safety.ts',
        from: 'where version < $1 order by name)',
        to: "where version < $1 and name = 'cell_1')",
      },
    ],
    suites: ['src/database/open.test.ts'],
  },
];
