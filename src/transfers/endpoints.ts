// The endpoints of transfers: which contract, which functions.

import { rowsOf } from '../contract/columns.ts';
import type { DataOf } from '../contract/contract.ts';
import type {
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { actorOf, locationsOf } from '../inventory/endpoints.ts';
import type { Stock } from '../inventory/ledger.ts';
import type { VisibleLocations } from '../inventory/read-store.ts';
import { loadStock, saveMoved } from '../inventory/store.ts';
import * as contract from './contract.ts';
import {
  decideTransfer,
  pairsOf,
  type TransferChange,
  type TransferRow,
  transferFaults,
} from './decide.ts';
import * as store from './store.ts';

const transfer: WriteEndpoint<
  typeof contract.transferInventory,
  Stock,
  TransferRow,
  TransferChange
> = {
  contract: contract.transferInventory,
  check: transferFaults,
  load: (writes) => loadStock(writes.flatMap(({ body }) => pairsOf(body))),
  decide: decideTransfer,
  save: (changes) => [
    ...saveMoved(changes.flatMap(({ movements }) => movements)),
    store.saveTransfers(changes.map((change) => change.transfer)),
  ],
  find: (merchant, ids) => store.findTransfers(merchant, ids, null),
  present: (row) => presentTransfer(row, null),
};

const getTransfer: MemberEndpoint<typeof contract.getTransfer> = {
  contract: contract.getTransfer,
  async run(reads, principal, id) {
    const { merchant } = principal;
    const locations = locationsOf(principal);
    const row = await reads.find((ids) => store.findTransfers(merchant, ids, locations), id);
    return row === undefined ? undefined : presentTransfer(row, locations);
  },
};

const listTransfers: CollectionEndpoint<typeof contract.listTransfers> = {
  contract: contract.listTransfers,
  async run(reader, { principal, location, query, page }) {
    const locations = locationsOf(principal);
    const answer = await reader.query(
      store.listTransfers({
        merchant: principal.merchant,
        locations: location === undefined ? locations : [location],
        isShort: query.short !== undefined,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    const present = (row: TransferRow) => presentTransfer(row, locations);
    return takePage(rowsOf(answer), page, (row) => row.id, present);
  },
};

export const transferEndpoints: readonly Endpoint[] = [listTransfers, getTransfer, transfer];

/** As far as it was at locations that the caller may see. */
function presentTransfer(
  row: TransferRow,
  locations: VisibleLocations,
): DataOf<typeof contract.getTransfer> {
  const shown = (location: string | null) =>
    locations === null || locations.some((one) => one === location) ? location : null;
  const from = shown(row.from_location_id);
  const to = shown(row.to_location_id);
  return {
    id: row.id,
    from_location_id: from,
    to_location_id: to,
    reason: row.reason,
    note: row.note,
    reference: row.reference,
    lines: row.lines.map((line) => ({
      product_id: line.product_id,
      quantity: canonicalQuantity(line.quantity),
      quantity_short: canonicalQuantity(line.quantity_short),
      out_movement_id: from === null ? null : line.out_movement_id,
      in_movement_id: to === null ? null : line.in_movement_id,
    })),
    is_short: row.is_short,
    operation_id: row.operation_id,
    position: String(row.position),
    actor: actorOf(row),
    recorded_at: row.recorded_at,
  };
}
