// The rules of reservations, judged on locked levels: what may be put aside, and how a reservation
// ends. What is active is told by the clock of the database, as it was behind the locks.

import type { BodyOf } from '../contract/contract.ts';
import type { Decision, Notices, Place, Refusal, Write } from '../contract/endpoint.ts';
import { add, canonicalQuantity, type Quantity, subtract, zero } from '../core/decimal.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Detail } from '../core/problem.ts';
import {
  availableOf,
  fault,
  levelKey,
  locationInactive,
  lowLevels,
  type Movement,
  move,
  noticesOf,
  type Pair,
  quantityOf,
  type Recorded,
  recordedBy,
  refuse,
  refuseAll,
  reservedOf,
  type Stock,
} from '../inventory/ledger.ts';
import { lackingLines, productFaults } from '../inventory/lines.ts';
import type {
  fulfilReservation,
  releaseReservation,
  reserveInventory,
  Status,
} from './contract.ts';

/** The bodies, normalised. */
export type Reserve = BodyOf<typeof reserveInventory>;
export type Release = BodyOf<typeof releaseReservation>;
export type Fulfil = BodyOf<typeof fulfilReservation>;

export interface ReservationRow extends Omit<Recorded, 'position'> {
  readonly id: string;
  readonly location_id: string;
  readonly status: Status;
  readonly expires_at: string | null;
  readonly note: string | null;
  readonly reference: string | null;
  /** In the order of the request: the first is line 1. */
  readonly lines: readonly { readonly product_id: string; readonly quantity: string }[];
  readonly end_operation_id: string | null;
  readonly ended_at: string | null;
  readonly end_note: string | null;
  readonly movement_ids: readonly string[];
}

/** A reservation to save, made or ended, with the movements that took it out. */
export interface ReservationChange {
  readonly reservation: ReservationRow;
  readonly movements: readonly Movement[];
}

type Outcome = Decision<ReservationRow, ReservationChange>;

/** What putting aside is decided on. */
export interface ReserveGround {
  readonly stock: Stock;
  /** Now, as the database says. */
  readonly moment: string;
}

/** One that is stored, with the moment at which it was read, as the database says. */
export interface HeldRow extends ReservationRow {
  readonly moment: string;
}

/** What ending reservations is decided on: they are the batch's own working copy. */
export interface Held {
  readonly reservations: Map<string, HeldRow>;
}

/** The same where they are taken out. */
export interface HeldStock extends Held {
  readonly stock: Stock;
}

export const pairsOf = ({ location_id, lines }: Reserve): Pair[] =>
  lines.map(({ product_id }) => ({ product_id, location_id }));

export function decideReserve(
  { stock, moment }: ReserveGround,
  write: Write<Reserve>,
  place: Place,
): Outcome {
  const { body } = write;
  const { location_id, lines } = body;
  const isClosed = !stock.activeLocations.has(location_id);
  const faults = [
    ...(isClosed ? [locationInactive('location_id')] : []),
    ...productFaults(stock, lines),
    ...expiryFaults(body.expires_at, moment),
  ];
  if (faults.length > 0) return refuseAll(faults);
  const lacking = lackingLines(lines, (product_id) =>
    availableOf(stock, { product_id, location_id }),
  );
  if (lacking.length > 0) return refuseAll(lacking);
  const reservation: ReservationRow = {
    id: mintId('rsv_'),
    location_id,
    status: 'active',
    expires_at: body.expires_at,
    note: body.note,
    reference: body.reference,
    lines: lines.map(({ product_id, quantity }) => ({ product_id, quantity })),
    end_operation_id: null,
    ended_at: null,
    end_note: null,
    movement_ids: [],
    ...recordedBy(write, place),
  };
  const changes = lines.map(({ product_id, quantity }) => {
    const pair = { product_id, location_id };
    stock.reserved.set(levelKey(pair), add(reservedOf(stock, pair), quantity));
    return { product_id, location_id, quantity_delta: subtract(zero, quantity) };
  });
  return done(reservation, [], { low_stock: lowLevels(stock, changes) });
}

/** By the clock of the database, which also ends it. */
function expiryFaults(expiry: string | null, moment: string): Detail[] {
  if (expiry === null) return [];
  const left = Date.parse(expiry) - Date.parse(moment);
  const isInTime = left > 0 && left <= limits.reservationDaysMax * 86_400_000;
  if (isInTime) return [];
  const message = `must be later than now, and at most ${limits.reservationDaysMax} days from now`;
  return [{ field: 'expires_at', code: 'value_not_allowed', message }];
}

export function decideRelease(held: Held, write: Write<Release>, { time }: Place): Outcome {
  const row = heldBy(held, write);
  const status = statusOf(row);
  if (status !== 'active') return notActive(row, status);
  return end(held, row, write, { status: 'released', time, note: write.body.note });
}

/**
 * @throws Error when its time has not come, because the clock of the database was set back since
 *   somebody saw that it had. A refusal would be bound to the one key that tells the end.
 */
export function decideExpire(held: Held, write: Write, { time }: Place): Outcome {
  const row = heldBy(held, write);
  if (row.status !== 'active') return notActive(row, row.status);
  if (statusOf(row) === 'active') throw new Error(`${row.id} has not expired yet`);
  return end(held, row, write, { status: 'expired', time, note: null });
}

/** What is taken out was put aside: as much is available as before. */
export function decideFulfil(held: HeldStock, write: Write<Fulfil>, place: Place): Outcome {
  const { stock } = held;
  const row = heldBy(held, write);
  const { location_id } = row;
  const status = statusOf(row);
  if (status !== 'active') return notActive(row, status);
  const lines = row.lines.map((line) => ({
    product_id: line.product_id,
    quantity: canonicalQuantity(line.quantity),
  }));
  const isClosed = !stock.activeLocations.has(location_id);
  const faults = [...(isClosed ? [locationInactive('id')] : []), ...productFaults(stock, lines)];
  if (faults.length > 0) return { ...refuseAll(faults), location_id };
  const lacking = lackingLines(lines, (product_id) =>
    quantityOf(stock, { product_id, location_id }),
  );
  if (lacking.length > 0) return { ...refuseAll(lacking), location_id };
  const movements = lines.map((line, index) => takeOut(stock, write, place, row, line, index + 1));
  const { note } = write.body;
  return end(held, row, write, { status: 'fulfilled', time: place.time, note, movements });
}

function takeOut(
  stock: Stock,
  write: Write<Fulfil>,
  place: Place,
  { location_id, ...row }: ReservationRow,
  { product_id, quantity }: { readonly product_id: string; readonly quantity: Quantity },
  line: number,
): Movement {
  const { reason, note, reference } = write.body;
  const before = quantityOf(stock, { product_id, location_id });
  return move(stock, write, place, {
    product_id,
    location_id,
    type: 'fulfilment',
    reason,
    quantity_after: subtract(before, quantity),
    note: note ?? row.note,
    reference: reference ?? row.reference,
    line,
  });
}

function heldBy({ reservations }: Held, { id }: Write): HeldRow {
  const row = reservations.get(id);
  if (row === undefined) throw new Error(`${id} is not there`);
  return row;
}

function statusOf({ status, expires_at, moment }: HeldRow): Status {
  const isDue = expires_at !== null && Date.parse(expires_at) <= Date.parse(moment);
  return status === 'active' && isDue ? 'expired' : status;
}

function notActive({ location_id }: ReservationRow, status: Status): Refusal {
  const message = `names a reservation that is ${status}`;
  return { ...refuse(fault('reservation_not_active', 'id', message, { status })), location_id };
}

function end(
  { reservations }: Held,
  row: HeldRow,
  { operationId }: Write,
  as: {
    readonly status: Status;
    readonly time: string;
    readonly note: string | null;
    readonly movements?: readonly Movement[];
  },
): Outcome {
  const { status, time, note, movements = [] } = as;
  const ended = {
    ...row,
    status,
    end_operation_id: operationId,
    ended_at: time,
    end_note: note,
    movement_ids: movements.map(({ movement }) => movement.id),
  };
  reservations.set(row.id, ended);
  return done(ended, movements);
}

function done(row: ReservationRow, movements: readonly Movement[], others: Notices = {}): Outcome {
  const { location_id } = row;
  const reservation_lines = row.lines.map(({ product_id, quantity }) => ({
    ...{ location_id, product_id, quantity: canonicalQuantity(quantity) },
  }));
  return {
    kind: 'succeeded',
    row,
    changes: [{ reservation: row, movements }],
    movements: movements.length,
    location_id,
    notices: noticesOf({ reservation_lines, ...others }),
  };
}
