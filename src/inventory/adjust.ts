// The rule of an adjustment, judged on the locked level: what the target changes, or why it may
// not. Later writes of the same batch see the level as earlier ones leave it.

import type { BodyOf } from '../contract/contract.ts';
import type { Decision, Place, Refusal, Write } from '../contract/endpoint.ts';
import {
  canonicalQuantity,
  decimalPlaces,
  type Quantity,
  subtract,
  zero,
} from '../core/decimal.ts';
import { mintIdAfter } from '../core/id.ts';
import type { CredentialKind } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import type { adjustInventory } from './contract.ts';

/** The body of an adjustment, normalised. */
export type Adjust = BodyOf<typeof adjustInventory>;

export interface LevelRow {
  readonly product_id: string;
  readonly location_id: string;
  readonly quantity: string;
  /** 0 for a pair that never moved. */
  readonly sequence: number;
  readonly last_movement_id: string | null;
  /** Of its first movement. */
  readonly first_position: number | null;
  readonly updated_at: string | null;
}

export interface ProductRow {
  readonly id: string;
  readonly status: string;
  readonly inventory_tracked: boolean;
  readonly unit_precision: number;
}

/** What adjustments are decided on. Levels are the batch's own working copy. */
export interface InventoryState {
  readonly levels: Map<string, LevelRow>;
  readonly products: ReadonlyMap<string, ProductRow>;
  readonly activeLocations: ReadonlySet<string>;
}

export interface MovementRow {
  readonly id: string;
  readonly sequence: number;
  readonly product_id: string;
  readonly location_id: string;
  readonly type: 'adjustment';
  readonly reason: Adjust['reason'];
  readonly quantity_before: string;
  readonly quantity_delta: string;
  readonly quantity_after: string;
  readonly note: string | null;
  readonly reference: string | null;
  readonly operation_id: string;
  /** That of its operation in the journal. */
  readonly position: number;
  /** Its place among the movements of its operation, from 1 on. */
  readonly line: number;
  readonly credential_id: string;
  /** Of the credential, as it is now: no column of the movement. */
  readonly actor_name: string;
  readonly actor_kind: CredentialKind;
  readonly application_id: string | null;
  readonly recorded_at: string;
}

/** A movement to save, with the level as it leaves it. */
export interface Movement {
  readonly movement: MovementRow;
  readonly level: LevelRow;
}

/** A movement with what its level is now. */
export interface AdjustmentRow extends MovementRow {
  readonly level_quantity: string;
  readonly level_sequence: number;
  readonly level_last_movement_id: string | null;
  readonly level_updated_at: string | null;
}

export const levelKey = (pair: { product_id: string; location_id: string }): string =>
  `${pair.product_id} ${pair.location_id}`;

export function decideAdjustment(
  state: InventoryState,
  write: Write<Adjust>,
  place: Place,
): Decision<AdjustmentRow, Movement> {
  const { body } = write;
  const refusal = refusalByProduct(state.products.get(body.product_id), body);
  if (refusal !== undefined) return refusal;
  if (!state.activeLocations.has(body.location_id)) {
    return refuse('location_inactive', 'location_id', 'names an inactive location');
  }
  const level = state.levels.get(levelKey(body)) ?? neverMoved(body);
  const current = canonicalQuantity(level.quantity);
  if (body.expected_quantity !== null && body.expected_quantity !== current) {
    const message = `is not the current quantity, ${current}`;
    return refuse('inventory_quantity_mismatch', 'expected_quantity', message, {
      current_quantity: current,
    });
  }
  if (body.target_quantity === current) {
    return refuse('inventory_no_change', 'target_quantity', 'equals the current quantity', {
      current_quantity: current,
    });
  }
  const change = move(level, current, write, place);
  state.levels.set(levelKey(body), change.level);
  return { kind: 'succeeded', row: rowOf(change), changes: [change], movements: 1 };
}

function refusalByProduct(product: ProductRow | undefined, body: Adjust): Refusal | undefined {
  if (product === undefined) {
    return refuse('product_not_found', 'product_id', 'names no product');
  }
  if (product.status === 'archived') {
    return refuse('product_archived', 'product_id', 'names an archived product');
  }
  if (!product.inventory_tracked) {
    return refuse('inventory_not_tracked', 'product_id', 'names a product that is not tracked');
  }
  const details = (['target_quantity', 'expected_quantity'] as const).flatMap((field): Detail[] => {
    const places = decimalPlaces(body[field] ?? zero);
    if (places <= product.unit_precision) return [];
    const message = `must have at most ${product.unit_precision} decimal places, as its unit has`;
    return [{ field, code: 'too_many_decimal_places', message }];
  });
  if (details.length === 0) return undefined;
  return { kind: 'rejected', code: 'validation_failed', details };
}

/**
 * The next movement of a level. IDs never go back within a level, whatever the clocks of the
 * processes say, so that the order of IDs is the order of sequences.
 */
function move(level: LevelRow, current: Quantity, write: Write<Adjust>, place: Place): Movement {
  const { body, actor } = write;
  const id = mintIdAfter('imv_', level.last_movement_id ?? undefined);
  const sequence = level.sequence + 1;
  const { product_id, location_id } = body;
  return {
    movement: {
      id,
      sequence,
      product_id,
      location_id,
      type: 'adjustment',
      reason: body.reason,
      quantity_before: current,
      quantity_delta: subtract(body.target_quantity, current),
      quantity_after: body.target_quantity,
      note: body.note,
      reference: body.reference,
      operation_id: write.operationId,
      position: place.position,
      line: 1,
      credential_id: actor.credential_id,
      actor_name: actor.name,
      actor_kind: actor.kind,
      application_id: actor.application_id,
      recorded_at: place.time,
    },
    level: {
      product_id,
      location_id,
      quantity: body.target_quantity,
      sequence,
      last_movement_id: id,
      first_position: level.first_position ?? place.position,
      updated_at: place.time,
    },
  };
}

/** As `findAdjustments` reads it. */
function rowOf({ movement, level }: Movement): AdjustmentRow {
  return {
    ...movement,
    level_quantity: level.quantity,
    level_sequence: level.sequence,
    level_last_movement_id: level.last_movement_id,
    level_updated_at: level.updated_at,
  };
}

function neverMoved(pair: { product_id: string; location_id: string }): LevelRow {
  const { product_id, location_id } = pair;
  return {
    product_id,
    location_id,
    quantity: zero,
    sequence: 0,
    last_movement_id: null,
    first_position: null,
    updated_at: null,
  };
}

function refuse(
  code: ProblemCode,
  field: string,
  message: string,
  extra: Record<string, unknown> = {},
): Refusal {
  return { kind: 'rejected', code, details: [{ field, code, message, ...extra }] };
}
