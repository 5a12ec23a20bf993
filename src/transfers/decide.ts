// The rule of a transfer, judged on the locked levels: what each line moves, or why none may.

import type { BodyOf } from '../contract/contract.ts';
import type { Decision, Place, Write } from '../contract/endpoint.ts';
import { add, isLess, isTooLarge, type Quantity, subtract, zero } from '../core/decimal.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Detail } from '../core/problem.ts';
import { comingReasons, leavingReasons } from '../inventory/contract.ts';
import {
  availableOf,
  insufficient,
  locationInactive,
  lowLevels,
  type Movement,
  move,
  noticesOf,
  type Pair,
  quantityOf,
  type Recorded,
  recordedBy,
  refuseAll,
  type Stock,
} from '../inventory/ledger.ts';
import { lineFaults, productFaults } from '../inventory/lines.ts';
import type { transferInventory } from './contract.ts';

/** The body of a transfer, normalised. */
export type Transfer = BodyOf<typeof transferInventory>;

/** A line as it was asked for, with what became of it. */
export interface LineRow {
  readonly product_id: string;
  readonly quantity: string;
  readonly quantity_short: string;
  readonly out_movement_id: string | null;
  readonly in_movement_id: string | null;
}

export interface TransferRow extends Recorded {
  readonly id: string;
  /** Null: the outside. */
  readonly from_location_id: string | null;
  readonly to_location_id: string | null;
  readonly reason: Transfer['reason'];
  readonly note: string | null;
  readonly reference: string | null;
  readonly lines: readonly LineRow[];
  readonly is_short: boolean;
}

/** A transfer to save, with its movements. */
export interface TransferChange {
  readonly transfer: TransferRow;
  readonly movements: readonly Movement[];
}

/** The levels that a transfer moves. */
export function pairsOf({ lines, ...body }: Transfer): Pair[] {
  const locations = [body.from_location_id, body.to_location_id];
  return lines.flatMap(({ product_id }) =>
    locations.flatMap((location_id) => (location_id === null ? [] : [{ product_id, location_id }])),
  );
}

/** What a reason says of the direction. */
function reasonFault(
  from: string | null,
  to: string | null,
  reason: Transfer['reason'],
): string | undefined {
  if (from !== null && to !== null) {
    return reason === 'transfer' ? undefined : 'must be transfer between two locations';
  }
  if (reason === 'transfer') return 'must not be transfer, because one side is the outside';
  if (to !== null && !comingReasons.some((one) => one === reason)) {
    return `must not be ${reason}, because it comes from the outside`;
  }
  if (from !== null && !leavingReasons.some((one) => one === reason)) {
    return `must not be ${reason}, because it leaves to the outside`;
  }
  return undefined;
}

/** Rules over several fields. */
export function transferFaults(body: Partial<Transfer>): Detail[] {
  const { from_location_id: from = null, to_location_id: to = null, reason, lines = [] } = body;
  const details: Detail[] = [];
  const isKnown = 'from_location_id' in body && 'to_location_id' in body;
  if (isKnown && from === null && to === null) {
    const message = 'is required, unless to_location_id is given';
    details.push({ field: 'from_location_id', code: 'required', message });
  }
  if (from !== null && from === to) {
    const message = 'must be another location than from_location_id';
    details.push({ field: 'to_location_id', code: 'value_not_allowed', message });
  }
  const message = reason && reasonFault(from, to, reason);
  if (isKnown && message !== undefined) {
    details.push({ field: 'reason', code: 'value_not_allowed', message });
  }
  if (isKnown && body.shortage === 'record' && to !== null) {
    const message = 'may be record only for what leaves to the outside';
    details.push({ field: 'shortage', code: 'value_not_allowed', message });
  }
  return [...details, ...lineFaults(lines)];
}

export function decideTransfer(
  stock: Stock,
  write: Write<Transfer>,
  place: Place,
): Decision<TransferRow, TransferChange> {
  const { body } = write;
  const faults = [...closedSides(stock, body), ...productFaults(stock, body.lines)];
  if (faults.length > 0) return refuseAll(faults);
  const judged = body.lines.map((line, index) => judge(stock, body, line, `lines.${index}`));
  const refused = judged.flatMap(({ fault: one }) => one ?? []);
  if (refused.length > 0) return refuseAll(refused);
  const movements: Movement[] = [];
  const lines = judged.map((one) => carryOut(stock, write, place, one, movements));
  const transfer = rowOf(write, place, lines);
  const change = { transfer, movements };
  const moved = movements.map(({ movement }) => movement);
  return {
    kind: 'succeeded',
    row: transfer,
    changes: [change],
    movements: movements.length,
    notices: noticesOf({ short: shortOf(transfer), low_stock: lowLevels(stock, moved) }),
  };
}

/** What its event says of what was not there. */
function shortOf({ from_location_id: location_id, lines }: TransferRow) {
  if (location_id === null) return [];
  return lines
    .filter(({ quantity_short: missing }) => missing !== zero)
    .slice(0, limits.eventMovementsMax)
    .map(({ product_id, quantity, quantity_short }) => ({
      ...{ location_id, product_id, quantity, quantity_short },
    }));
}

function closedSides({ activeLocations }: Stock, body: Transfer): Detail[] {
  return (['from_location_id', 'to_location_id'] as const).flatMap((field) => {
    const location = body[field];
    return location === null || activeLocations.has(location) ? [] : [locationInactive(field)];
  });
}

interface Judged {
  readonly line: Transfer['lines'][number];
  /** What is not there. */
  readonly missing: Quantity;
  readonly fault?: Detail;
}

function judge(stock: Stock, body: Transfer, line: Judged['line'], field: string): Judged {
  const { product_id, quantity } = line;
  const { from_location_id: from, to_location_id: to } = body;
  const there = from === null ? quantity : mayTake(stock, body, { product_id, location_id: from });
  const missing = isLess(there, quantity) ? subtract(quantity, there) : zero;
  if (missing !== zero && body.shortage === 'refuse') {
    return { line, missing, fault: insufficient(`${field}.quantity`, product_id, there) };
  }
  if (
    to === null ||
    !isTooLarge(add(quantityOf(stock, { product_id, location_id: to }), quantity))
  ) {
    return { line, missing };
  }
  const message = 'is more than fits: no level may reach 1,000,000,000,000';
  return { line, missing, fault: { field: `${field}.quantity`, code: 'too_large', message } };
}

/**
 * What is broken, lost or sold already is gone, whatever was put aside of it. Everything else takes
 * what is not put aside.
 */
function mayTake(stock: Stock, { reason, shortage }: Transfer, pair: Pair): Quantity {
  const isGone = shortage === 'record' || reason === 'damage' || reason === 'loss';
  return isGone ? quantityOf(stock, pair) : availableOf(stock, pair);
}

/** The movements of a line. What is not there does not move. */
function carryOut(
  stock: Stock,
  write: Write<Transfer>,
  place: Place,
  { line, missing }: Judged,
  movements: Movement[],
): LineRow {
  const { body } = write;
  const { product_id } = line;
  const moved = subtract(line.quantity, missing);
  const at = (location_id: string | null, type: 'transfer_in' | 'transfer_out') => {
    if (location_id === null || moved === zero) return null;
    const before = quantityOf(stock, { product_id, location_id });
    const change = move(stock, write, place, {
      product_id,
      location_id,
      type,
      reason: body.reason,
      quantity_after: type === 'transfer_in' ? add(before, moved) : subtract(before, moved),
      note: body.note,
      reference: body.reference,
      line: movements.length + 1,
    });
    movements.push(change);
    return change.movement.id;
  };
  return {
    product_id,
    quantity: line.quantity,
    quantity_short: missing,
    out_movement_id: at(body.from_location_id, 'transfer_out'),
    in_movement_id: at(body.to_location_id, 'transfer_in'),
  };
}

function rowOf(write: Write<Transfer>, place: Place, lines: LineRow[]): TransferRow {
  const { body } = write;
  return {
    id: mintId('itr_'),
    from_location_id: body.from_location_id,
    to_location_id: body.to_location_id,
    reason: body.reason,
    note: body.note,
    reference: body.reference,
    lines,
    is_short: lines.some(({ quantity_short: missing }) => missing !== zero),
    ...recordedBy(write, place),
  };
}
