// The endpoints of reservations: which contract, which functions.

import { rowsOf } from '../contract/columns.ts';
import type { DataOf, WriteContract } from '../contract/contract.ts';
import type {
  AnyWriteEndpoint,
  CollectionEndpoint,
  Endpoint,
  Load,
  MemberEndpoint,
  Write,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { lookupId } from '../core/id.ts';
import type { SetStatement } from '../core/statement.ts';
import { actorOf, locationsOf } from '../inventory/endpoints.ts';
import { lineFaults } from '../inventory/lines.ts';
import { loadStock, loadStockOf, lockLevelsOf, saveMoved } from '../inventory/store.ts';
import * as contract from './contract.ts';
import * as rule from './decide.ts';
import * as store from './store.ts';

type ReservationWrite<C extends WriteContract, State> = WriteEndpoint<
  C,
  State,
  rule.ReservationRow,
  rule.ReservationChange
>;

type Shown = DataOf<typeof contract.getReservation>;

const reserve: ReservationWrite<typeof contract.reserveInventory, rule.ReserveGround> = {
  contract: contract.reserveInventory,
  check: ({ lines = [] }) => lineFaults(lines),
  load(writes) {
    const stock = loadStock(writes.flatMap(({ body }) => rule.pairsOf(body)));
    return {
      statements: [...stock.statements, store.readMoment()],
      state: (rows) => ({
        stock: stock.state(rows),
        moment: (rows.at(-1) as { moment: string }[])[0]?.moment ?? '',
      }),
    };
  },
  decide: rule.decideReserve,
  save: (changes) => store.saveReservations(changes.map(({ reservation }) => reservation)),
  find: (merchant, ids) => store.findReservations(merchant, ids, null),
  present: presentReservation,
};

/** Of one in the path: whoever has a grant of its location. */
const ofHeld = {
  isFor: ({ location_id }: rule.ReservationRow, { granted }: Write) =>
    granted === 'all' || granted.some((one) => one === location_id),
  linesOf: ({ lines }: rule.ReservationRow) => lines.length,
  find: reserve.find,
  present: presentReservation,
};

const endOf = (changes: readonly rule.ReservationChange[]) =>
  store.endReservations(changes.map(({ reservation }) => reservation));

/** What ends and moves nothing needs no more than the locks of its levels. */
function loadHeld(writes: readonly Write[]): Load<rule.Held> {
  const asked = askedBy(writes);
  return {
    statements: [lockLevelsOf(asked), store.findHeld(asked)],
    state: ([, held = []]) => ({ reservations: byId(held as rule.HeldRow[]) }),
  };
}

const byId = (rows: readonly rule.HeldRow[]) => new Map(rows.map((row) => [row.id, row]));

/** Each once. */
function askedBy(writes: readonly Write[]) {
  return [...new Set(writes.map(({ id }) => lookupId(id)))].map((id) => ({ id }));
}

const release: ReservationWrite<typeof contract.releaseReservation, rule.Held> = {
  ...ofHeld,
  contract: contract.releaseReservation,
  load: loadHeld,
  decide: rule.decideRelease,
  save: endOf,
};

const expire: ReservationWrite<typeof contract.expireReservation, rule.Held> = {
  ...ofHeld,
  contract: contract.expireReservation,
  load: loadHeld,
  decide: rule.decideExpire,
  save: endOf,
};

const fulfil: ReservationWrite<typeof contract.fulfilReservation, rule.HeldStock> = {
  ...ofHeld,
  contract: contract.fulfilReservation,
  load(writes) {
    const asked = askedBy(writes);
    const stock = loadStockOf(asked);
    return {
      statements: [...stock.statements, store.findHeld(asked)],
      state: (rows) => ({
        stock: stock.state(rows),
        reservations: byId(rows.at(-1) as rule.HeldRow[]),
      }),
    };
  },
  decide: rule.decideFulfil,
  save: (changes): SetStatement[] => [
    ...saveMoved(changes.flatMap(({ movements }) => movements)),
    ...endOf(changes),
  ],
};

const getReservation: MemberEndpoint<typeof contract.getReservation> = {
  contract: contract.getReservation,
  async run(reads, principal, id) {
    const { merchant } = principal;
    const locations = locationsOf(principal);
    const row = await reads.find((ids) => store.findReservations(merchant, ids, locations), id);
    return row && presentReservation(row);
  },
};

const listReservations: CollectionEndpoint<typeof contract.listReservations> = {
  contract: contract.listReservations,
  async run(reader, { principal, location, query, page }) {
    const answer = await reader.query(
      store.listReservations({
        merchant: principal.merchant,
        locations: location === undefined ? locationsOf(principal) : [location],
        status: query.status,
        reference: query.reference,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    return takePage(rowsOf(answer), page, (row) => row.id, presentReservation);
  },
};

export const reservationEndpoints: readonly Endpoint[] = [
  listReservations,
  getReservation,
  reserve,
  release,
  fulfil,
];

/** What only the service itself does. */
export const reservationCommands: readonly AnyWriteEndpoint[] = [expire as AnyWriteEndpoint];

function presentReservation(row: rule.ReservationRow): Shown {
  return {
    id: row.id,
    location_id: row.location_id,
    status: row.status,
    expires_at: row.expires_at,
    note: row.note,
    reference: row.reference,
    lines: row.lines.map(({ product_id, quantity }) => ({
      product_id,
      quantity: canonicalQuantity(quantity),
    })),
    operation_id: row.operation_id,
    actor: actorOf(row),
    recorded_at: row.recorded_at,
    end_operation_id: row.end_operation_id,
    ended_at: row.ended_at,
    end_note: row.end_note,
    movement_ids: [...row.movement_ids],
  };
}
