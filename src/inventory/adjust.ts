// The rule of an adjustment, judged on the locked level: what the target changes, or why it may
// not.

import type { BodyOf } from '../contract/contract.ts';
import type { Decision, Place, Refusal, Write } from '../contract/endpoint.ts';
import type { adjustInventory } from './contract.ts';
import {
  fault,
  type LastCount,
  levelKey,
  locationInactive,
  lowLevels,
  type Movement,
  type MovementRow,
  move,
  noticesOf,
  precisionFault,
  productFault,
  quantityOf,
  refuse,
  reservedOf,
  type Stock,
} from './ledger.ts';

/** The body of an adjustment, normalised. */
export type Adjust = BodyOf<typeof adjustInventory>;

/** A movement with what its level is now. */
export interface AdjustmentRow extends MovementRow {
  readonly level_quantity: string;
  readonly level_sequence: number;
  readonly level_last_movement_id: string | null;
  readonly level_updated_at: string | null;
  readonly level_reserved: string | null;
  readonly level_counted_at: string | null;
  readonly level_counted_by: string | null;
}

/** What adjustments are decided on. Last counts are by `levelKey`. */
export interface CountedStock extends Stock {
  readonly lastCounts: ReadonlyMap<string, LastCount>;
}

export function decideAdjustment(
  stock: CountedStock,
  write: Write<Adjust>,
  place: Place,
): Decision<AdjustmentRow, Movement> {
  const { body } = write;
  const { target_quantity: target, expected_quantity: expected } = body;
  const refusal = refusalByProduct(stock, body);
  if (refusal !== undefined) return refusal;
  if (!stock.activeLocations.has(body.location_id)) return refuse(locationInactive('location_id'));
  const current = quantityOf(stock, body);
  const known = { current_quantity: current };
  if (expected !== null && expected !== current) {
    const message = `is not the current quantity, ${current}`;
    return refuse(fault('inventory_quantity_mismatch', 'expected_quantity', message, known));
  }
  if (target === current) {
    const message = 'equals the current quantity';
    return refuse(fault('inventory_no_change', 'target_quantity', message, known));
  }
  const change = move(stock, write, place, {
    product_id: body.product_id,
    location_id: body.location_id,
    type: 'adjustment',
    reason: body.reason,
    quantity_after: target,
    note: body.note,
    reference: body.reference,
    line: 1,
  });
  return {
    kind: 'succeeded',
    row: rowOf(stock, change),
    changes: [change],
    movements: 1,
    notices: noticesOf({ low_stock: lowLevels(stock, [change.movement]) }),
  };
}

function refusalByProduct({ products }: Stock, body: Adjust): Refusal | undefined {
  const product = products.get(body.product_id);
  const found = productFault(product, 'product_id');
  if (product === undefined || found !== undefined) return found && refuse(found);
  const details = (['target_quantity', 'expected_quantity'] as const).flatMap((field) => {
    const quantity = body[field];
    return (quantity && precisionFault(product, quantity, field)) ?? [];
  });
  if (details.length === 0) return undefined;
  return { kind: 'rejected', code: 'validation_failed', details };
}

/** As `findAdjustments` reads it. */
function rowOf(stock: CountedStock, { movement, level }: Movement): AdjustmentRow {
  const counted = stock.lastCounts.get(levelKey(level));
  return {
    level_quantity: level.quantity,
    level_sequence: level.sequence,
    level_last_movement_id: level.last_movement_id,
    level_updated_at: level.updated_at,
    level_reserved: reservedOf(stock, level),
    level_counted_at: counted?.counted_at ?? null,
    level_counted_by: counted?.counted_by ?? null,
    ...movement,
  };
}
