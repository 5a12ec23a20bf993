// The rule of a count, judged on the locked levels: what each line changes, or why none may.

import type { BodyOf } from '../contract/contract.ts';
import type { Decision, Place, Write } from '../contract/endpoint.ts';
import {
  add,
  canonicalQuantity,
  isLess,
  isTooLarge,
  type Quantity,
  subtract,
  zero,
} from '../core/decimal.ts';
import { mintId } from '../core/id.ts';
import type { Detail } from '../core/problem.ts';
import {
  fault,
  levelKey,
  locationInactive,
  lowLevels,
  type Movement,
  move,
  noticesOf,
  type Pair,
  precisionFault,
  productFault,
  quantityOf,
  type Recorded,
  recordedBy,
  refuseAll,
  type Stock,
} from '../inventory/ledger.ts';
import { repetitions } from '../inventory/lines.ts';
import { mismatchOf } from '../journal/known.ts';
import type { Journal } from '../journal/store.ts';
import { type countInventory, counts } from './contract.ts';

/** The body of a count, normalised. */
export type Count = BodyOf<typeof countInventory>;

type Line = Count['lines'][number];

/** A line as it was asked for, with what became of it. */
export interface CountedLine {
  readonly product_id: string;
  readonly counted_quantity: string;
  readonly expected_quantity: string | null;
  readonly counted_at_position: string | null;
  readonly quantity_before: string;
  readonly quantity_after: string;
  /** Null when the level was what was counted. */
  readonly movement_id: string | null;
}

export interface CountRow extends Recorded {
  readonly id: string;
  readonly location_id: string;
  readonly note: string | null;
  readonly reference: string | null;
  readonly lines: readonly CountedLine[];
}

/** A count to save, with its movements. */
export interface CountChange {
  readonly count: CountRow;
  readonly movements: readonly Movement[];
}

/** A level as of a position. */
export interface Look extends Pair {
  readonly position: string;
}

export const lookKey = (look: Look): string => `${levelKey(look)} ${look.position}`;

/** What counts are decided on. */
export interface CountStock extends Stock {
  /** Undefined where nothing names it. */
  readonly journal: Journal | undefined;
  /** Levels as of the positions that lines name, by `lookKey`. */
  readonly earlier: ReadonlyMap<string, Earlier>;
  /** By how much earlier counts of this batch corrected levels, by `levelKey`. */
  readonly corrections: Map<string, Quantity>;
}

/** What a level was at a position, and by how much it was corrected since: nothing moved then. */
export interface Earlier {
  readonly quantity: string;
  readonly corrected: string;
}

/** The levels that a count sets. */
export function pairsOf({ location_id, lines }: Count): Pair[] {
  return lines.map(({ product_id }) => ({ product_id, location_id }));
}

/** The levels as of a position that it needs to know. */
export function looksOf({ location_id, lines, ...body }: Count): Look[] {
  return lines.flatMap(({ product_id, ...line }) => {
    const position = positionOf(body, line);
    return position === null ? [] : [{ product_id, location_id, position }];
  });
}

type Counted = Pick<Line, 'counted_at_position'>;

function positionOf(body: Counted, line: Counted): string | null {
  return line.counted_at_position ?? body.counted_at_position ?? null;
}

/** Rules over several fields: each product once, and a journal for positions. */
export function countFaults(body: Partial<Count>): Detail[] {
  const { lines = [], counted_at_position = null, journal } = body;
  const named = [counted_at_position, ...lines.map((line) => line.counted_at_position)];
  const details: Detail[] = [];
  if (journal === null && named.some((position) => (position ?? '0') !== '0')) {
    const message = 'is required with counted_at_position';
    details.push({ field: 'journal', code: 'required', message });
  }
  return [...details, ...repetitions(lines).flat()];
}

export function decideCount(
  ground: CountStock,
  write: Write<Count>,
  place: Place,
): Decision<CountRow, CountChange> {
  const { body } = write;
  const misplaced = positionFaults(ground, body);
  if (misplaced.length > 0) {
    return { kind: 'rejected', code: 'validation_failed', details: misplaced };
  }
  const judged = body.lines.map((line, index) => judge(ground, body, line, `lines.${index}`));
  const isOpen = ground.activeLocations.has(body.location_id);
  const faults = [
    ...(isOpen ? [] : [locationInactive('location_id')]),
    ...judged.flatMap((one) => ('fault' in one ? one.fault : [])),
  ];
  if (faults.length > 0) return refuseAll(faults);
  const movements: Movement[] = [];
  const lines = judged.flatMap((one) =>
    'fault' in one ? [] : carryOut(ground, write, place, one, movements),
  );
  const count = rowOf(write, place, lines);
  const change = { count, movements };
  const moved = movements.map(({ movement }) => movement);
  return {
    kind: 'succeeded',
    row: count,
    changes: [change],
    movements: movements.length,
    notices: noticesOf({ low_stock: lowLevels(ground, moved) }),
  };
}

/** Positions that are not in the journal of the merchant. */
function positionFaults(
  { journal: found }: CountStock,
  { journal, lines, ...body }: Count,
): Detail[] {
  if (found === undefined) return [];
  const named = [body, ...lines].map((one, index) => ({
    parameter: `${index === 0 ? '' : `lines.${index - 1}.`}counted_at_position`,
    position: one.counted_at_position ?? undefined,
  }));
  const wrong = named.flatMap((one) => {
    const fault = mismatchOf(found, { ...one, journal: journal ?? undefined });
    return fault === undefined ? [] : [fault];
  });
  const byField = new Map(wrong.map(({ parameter, message }) => [parameter, message]));
  return [...byField].map(([field, message]) => ({ field, code: 'journal_mismatch', message }));
}

interface Judged {
  readonly line: Line;
  readonly position: string | null;
  readonly before: Quantity;
  readonly after: Quantity;
}

/** What becomes of a line, or the first reason why nothing may. */
function judge(
  ground: CountStock,
  body: Count,
  line: Line,
  field: string,
): Judged | { readonly fault: Detail } {
  const { product_id, counted_quantity: counted, expected_quantity: expected = null } = line;
  const found = faultByProduct(ground, line, field);
  if (found !== undefined) return { fault: found };
  const pair = { product_id, location_id: body.location_id };
  const before = quantityOf(ground, pair);
  const position = positionOf(body, line);
  const { seen, since } =
    position === null
      ? { seen: before, since: zero }
      : movedSince(ground, { ...pair, position }, before);
  const known = {
    ...{ product_id, current_quantity: before },
    ...(position === null ? {} : { quantity_at_position: seen }),
  };
  if (expected !== null && expected !== seen) {
    const place = `${field}.expected_quantity`;
    const at = position === null ? 'current quantity' : 'quantity at that position';
    const message = `is not the ${at}, ${seen}`;
    return { fault: fault('inventory_quantity_mismatch', place, message, known) };
  }
  const after = add(counted, since);
  const wrong = rangeFault(after, since);
  if (wrong === undefined) return { line, position, before, after };
  return { fault: { field: `${field}.counted_quantity`, ...wrong, ...known } };
}

function rangeFault(
  after: Quantity,
  since: Quantity,
): Pick<Detail, 'code' | 'message'> | undefined {
  if (isLess(after, zero)) {
    const message = `is less than the ${subtract(zero, since)} that have left since that position`;
    return { code: 'must_not_be_negative', message };
  }
  if (!isTooLarge(after)) return undefined;
  return { code: 'too_large', message: `is too much with what came since that position, ${since}` };
}

function faultByProduct({ products }: CountStock, line: Line, field: string): Detail | undefined {
  const product = products.get(line.product_id);
  const found = productFault(product, `${field}.product_id`);
  if (product === undefined || found !== undefined) return found;
  for (const name of ['counted_quantity', 'expected_quantity'] as const) {
    const quantity = line[name];
    const wrong = quantity && precisionFault(product, quantity, `${field}.${name}`);
    if (wrong) return wrong;
  }
  return undefined;
}

/**
 * What a level was at a position, and what has moved since: what came and what left, but not what
 * somebody else's count found meanwhile, because that was there, or was not, all the time. What
 * earlier counts of this batch did is in `before`, and behind every position.
 */
function movedSince({ earlier, corrections }: CountStock, look: Look, before: Quantity) {
  const found = earlier.get(lookKey(look));
  if (found === undefined) throw new Error(`${lookKey(look)} was not read`);
  const seen = canonicalQuantity(found.quantity);
  const corrected = add(canonicalQuantity(found.corrected), correctedBy(corrections, look));
  return { seen, since: subtract(subtract(before, seen), corrected) };
}

const correctedBy = (corrections: CountStock['corrections'], pair: Pair): Quantity =>
  corrections.get(levelKey(pair)) ?? zero;

/** The movement of a line, if the level was another one. */
function carryOut(
  ground: CountStock,
  write: Write<Count>,
  place: Place,
  { line, position, before, after }: Judged,
  movements: Movement[],
): CountedLine {
  const { body } = write;
  const { product_id } = line;
  const pair = { product_id, location_id: body.location_id };
  if (after !== before) {
    const { corrections } = ground;
    const corrected = add(correctedBy(corrections, pair), subtract(after, before));
    corrections.set(levelKey(pair), corrected);
    movements.push(
      move(ground, write, place, {
        product_id,
        location_id: body.location_id,
        type: 'count',
        reason: 'stock_count',
        quantity_after: after,
        note: body.note,
        reference: body.reference,
        line: movements.length + 1,
      }),
    );
  }
  return {
    product_id,
    counted_quantity: line.counted_quantity,
    expected_quantity: line.expected_quantity ?? null,
    counted_at_position: position,
    quantity_before: before,
    quantity_after: after,
    movement_id: after === before ? null : (movements.at(-1)?.movement.id ?? null),
  };
}

function rowOf(write: Write<Count>, place: Place, lines: CountedLine[]): CountRow {
  const { body } = write;
  return {
    id: mintId(counts.prefix),
    location_id: body.location_id,
    note: body.note,
    reference: body.reference,
    lines,
    ...recordedBy(write, place),
  };
}
