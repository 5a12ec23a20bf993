// What becomes of a count: each line by itself, all of them or none.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import {
  closed,
  lineFault,
  most,
  move,
  movedSince,
  onHand,
  onHandAt,
  placeOf,
  refused,
} from './ledger.ts';
import { type Detail, done, type Minted, sentBody, type Verdict } from './rules.ts';
import {
  actorOf,
  type Credential,
  type Merchant,
  quantityOf,
  unitsOf,
  type Write,
} from './world.ts';

interface Line {
  readonly product_id: string;
  readonly counted_quantity: string;
  readonly expected_quantity: string | null;
  readonly counted_at_position: string | null;
}

const linesOf = (body: JsonObject) => body.lines as unknown as readonly Line[];

/** Positions say nothing without their journal. What is spoilt is not looked at. */
export function journalFaults(write: Write): Detail[] {
  const { spoil } = write;
  const sent = sentBody(write);
  const isUsable = (name: string) =>
    spoil?.code === 'repeated' || spoil?.field.split('.')[0] !== name;
  const lines = isUsable('lines') ? linesOf(sent) : [];
  const own = isUsable('counted_at_position') ? (sent.counted_at_position ?? null) : null;
  const named = [own, ...lines.map((line) => line.counted_at_position)];
  const isMissing = isUsable('journal') && sent.journal === null;
  const isNamed = named.some((position) => position !== null && position !== '0');
  return isMissing && isNamed ? [{ field: 'journal', code: 'required' }] : [];
}

export function count(credential: Credential, { body }: Write): Verdict {
  const { merchant } = credential;
  const misplaced = positionFaults(merchant, body);
  if (misplaced.length > 0) return refused(misplaced);
  const judged = linesOf(body).map((line, n) => judge(merchant, body, line, `lines.${n}`));
  const faults = judged.flatMap(({ faults: [first] }) => (first === undefined ? [] : [first]));
  const first = [...closed(merchant, body.location_id, 'location_id'), ...faults];
  if (first.length > 0) return refused(first);
  return done((minted) => carryOut(credential, body, minted, judged));
}

/** The first of each field: a wrong journal, or what is beyond its end. */
function positionFaults({ journal }: Merchant, body: JsonObject): Detail[] {
  const code = 'journal_mismatch';
  if (body.journal !== null && body.journal !== journal.id) return [{ field: 'journal', code }];
  const own = { field: 'counted_at_position', position: body.counted_at_position };
  const lines = linesOf(body).map(({ counted_at_position: position }, n) => ({
    field: `lines.${n}.counted_at_position`,
    position,
  }));
  return [own, ...lines]
    .filter(({ position }) => Number(position ?? 0) > journal.times.length)
    .map(({ field }) => ({ field, code }));
}

interface Judged {
  readonly line: Line;
  readonly position: string | null;
  readonly before: bigint;
  readonly after: bigint;
  readonly faults: readonly Detail[];
}

function judge(merchant: Merchant, body: JsonObject, line: Line, field: string): Judged {
  const place = placeOf(line.product_id, body.location_id);
  const position = line.counted_at_position ?? (body.counted_at_position as string | null);
  const before = onHand(merchant, place);
  const then = position === null ? before : onHandAt(merchant, place, position);
  const moved = position === null ? 0n : movedSince(merchant, place, position);
  const after = unitsOf(line.counted_quantity) + moved;
  const known = {
    ...{ product_id: line.product_id, current_quantity: quantityOf(before) },
    ...(position === null ? {} : { quantity_at_position: quantityOf(then) }),
  };
  const ofQuantity = (name: string, code: string): Detail => ({
    ...{ field: `${field}.${name}`, code },
    ...known,
  });
  const { product_id, counted_quantity, expected_quantity } = line;
  const isOther = expected_quantity !== null && unitsOf(expected_quantity) !== then;
  const faults = [
    ...lineFault(merchant, { product_id, counted_quantity, expected_quantity }, field),
    ...(isOther ? [ofQuantity('expected_quantity', 'inventory_quantity_mismatch')] : []),
    ...(after < 0n ? [ofQuantity('counted_quantity', 'must_not_be_negative')] : []),
    ...(after >= most ? [ofQuantity('counted_quantity', 'too_large')] : []),
  ];
  return { line, position, before, after, faults };
}

function carryOut(
  credential: Credential,
  body: JsonObject,
  minted: Minted,
  judged: readonly Judged[],
): JsonObject {
  const { merchant } = credential;
  const { location_id = null, note = null, reference = null } = body;
  const shown = (minted.data.lines ?? []) as unknown as readonly JsonObject[];
  let moved = 0;
  const lines = judged.map(({ line, position, before, after }, n): JsonObject => {
    const { product_id, counted_quantity, expected_quantity } = line;
    const outcome = before === after ? 'unchanged' : 'changed';
    let movement_id: JsonValue = null;
    if (outcome === 'changed') {
      moved += 1;
      movement_id = minted.adopt(shown[n]?.movement_id, 'imv_');
      const about = { product_id, location_id: String(location_id), note, reference };
      const kind = { type: 'count', reason: 'stock_count' };
      move(credential, minted, { id: movement_id, line: moved, ...kind, ...about }, after);
    }
    const place = placeOf(product_id, location_id);
    merchant.counted.set(place, { at: minted.at, by: credential.id });
    return {
      ...{ product_id, counted_quantity, expected_quantity, counted_at_position: position },
      ...{ outcome, quantity_before: quantityOf(before), quantity_after: quantityOf(after) },
      movement_id,
    };
  });
  const row: JsonObject = {
    ...{ id: minted.id, location_id, note, reference, lines },
    ...{ operation_id: minted.operation, position: minted.position },
    ...{ actor: actorOf(credential), recorded_at: minted.at },
  };
  merchant.counts.set(minted.id, row);
  return row;
}
