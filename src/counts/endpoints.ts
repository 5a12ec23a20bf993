// The endpoints of counts: which contract, which functions.

import { rowsOf } from '../contract/columns.ts';
import type { DataOf } from '../contract/contract.ts';
import type {
  CollectionEndpoint,
  Endpoint,
  Load,
  MemberEndpoint,
  Write,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { actorOf, locationsOf } from '../inventory/endpoints.ts';
import { loadStock, saveMoved } from '../inventory/store.ts';
import type { Journal } from '../journal/store.ts';
import * as contract from './contract.ts';
import {
  type Count,
  type CountChange,
  type CountRow,
  type CountStock,
  countFaults,
  decideCount,
  type Earlier,
  type Look,
  lookKey,
  looksOf,
  pairsOf,
} from './decide.ts';
import * as store from './store.ts';

const count: WriteEndpoint<typeof contract.countInventory, CountStock, CountRow, CountChange> = {
  contract: contract.countInventory,
  check: countFaults,
  load: loadCountStock,
  decide: decideCount,
  save: (changes) => [
    ...saveMoved(changes.flatMap(({ movements }) => movements)),
    store.saveCounts(changes.map((change) => change.count)),
    store.saveLastCounts(changes.map((change) => change.count)),
  ],
  find: (merchant, ids) => store.findCounts(merchant, ids, null),
  present: presentCount,
};

/** Positions are looked at once the levels are locked. */
function loadCountStock(writes: readonly Write<Count>[]): Load<CountStock> {
  const stock = loadStock(writes.flatMap(({ body }) => pairsOf(body)));
  const looks = writes.flatMap(({ body }) => looksOf(body));
  const isNamed = looks.length > 0 || writes.some(({ body }) => body.journal !== null);
  return {
    statements: [
      ...stock.statements,
      store.findJournalEnd(isNamed),
      store.findEarlierLevels(looks),
    ],
    state(rows) {
      const [journals = [], earlier = []] = rows.slice(stock.statements.length);
      return {
        ...stock.state(rows),
        journal: (journals as Journal[])[0],
        earlier: new Map((earlier as (Look & Earlier)[]).map((look) => [lookKey(look), look])),
        corrections: new Map(),
      };
    },
  };
}

const getCount: MemberEndpoint<typeof contract.getCount> = {
  contract: contract.getCount,
  async run(reads, principal, id) {
    const { merchant } = principal;
    const locations = locationsOf(principal);
    const row = await reads.find((ids) => store.findCounts(merchant, ids, locations), id);
    return row === undefined ? undefined : presentCount(row);
  },
};

const listCounts: CollectionEndpoint<typeof contract.listCounts> = {
  contract: contract.listCounts,
  async run(reader, { principal, location, page }) {
    const answer = await reader.query(
      store.listCounts({
        merchant: principal.merchant,
        locations: location === undefined ? locationsOf(principal) : [location],
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    return takePage(rowsOf(answer), page, (row) => row.id, presentCount);
  },
};

export const countEndpoints: readonly Endpoint[] = [listCounts, getCount, count];

function presentCount(row: CountRow): DataOf<typeof contract.getCount> {
  return {
    id: row.id,
    location_id: row.location_id,
    note: row.note,
    reference: row.reference,
    lines: row.lines.map((line) => ({
      product_id: line.product_id,
      counted_quantity: line.counted_quantity,
      expected_quantity: line.expected_quantity,
      counted_at_position: line.counted_at_position,
      outcome: line.movement_id === null ? 'unchanged' : 'changed',
      quantity_before: line.quantity_before,
      quantity_after: line.quantity_after,
      movement_id: line.movement_id,
    })),
    operation_id: row.operation_id,
    position: String(row.position),
    actor: actorOf(row),
    recorded_at: row.recorded_at,
  };
}
