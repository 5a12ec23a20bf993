// Mutants of what runs out.

import type { Mutant } from './mutant.ts';

const ledger = 'src/inventory/ledger.ts';
const own = 'src/inventory/low-stock.test.ts';

export const lowStockMutants: readonly Mutant[] = [
  {
    name: 'low-only-below',
    breaks: 'what falls to exactly what is low is not told, and what falls from there is',
    edits: [
      {
        file: ledger,
        from: 'if (isLess(low_stock_at, available_quantity)) return [];',
        to: 'if (!isLess(available_quantity, low_stock_at)) return [];',
      },
      {
        file: ledger,
        from: 'const wasLow = !isLess(low_stock_at, before);',
        to: 'const wasLow = isLess(before, low_stock_at);',
      },
    ],
    suites: [own],
  },
  {
    name: 'low-told-again',
    breaks: 'what is low already is told with every sale',
    edits: [
      {
        file: ledger,
        from: 'const wasLow = !isLess(low_stock_at, before);',
        to: 'const wasLow = false;',
      },
    ],
    suites: [own],
  },
  {
    name: 'low-by-what-was-replaced',
    breaks: 'a sale is judged by what was low before a PATCH that is earlier in the journal',
    edits: [
      {
        file: 'src/products/store.ts',
        from: 'or (a.sets_low_stock and p.low_stock_at is distinct from a.low_stock_at))`;',
        to: 'or (false and a.sets_low_stock and p.low_stock_at is distinct from a.low_stock_at))`;',
      },
    ],
    suites: ['src/products/low-stock.test.ts'],
  },
  {
    name: 'low-stock-elsewhere',
    breaks: 'a filter by what runs out finds what moved where nothing runs out',
    edits: [
      {
        file: 'src/events/store.ts',
        from: 'low_stock: isNoticeWanted("kind.key = \'low_stock\'"),',
        to: "low_stock: isNoticeWanted('true'),",
      },
    ],
    suites: [own],
  },
];
