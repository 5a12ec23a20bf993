// What becomes of a transfer: each line by itself, all of them or none.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import {
  available,
  closed,
  type Line,
  lineFaults,
  linesOf,
  most,
  move,
  onHand,
  placeOf,
  refused,
} from './ledger.ts';
import { type Detail, done, type Minted, type Verdict } from './rules.ts';
import {
  actorOf,
  type Credential,
  type Merchant,
  quantityOf,
  unitsOf,
  type Write,
} from './world.ts';

interface Side {
  readonly location: string | null;
  readonly type: 'transfer_out' | 'transfer_in';
}

export function transfer(credential: Credential, { body }: Write): Verdict {
  const { merchant } = credential;
  const lines = linesOf(body);
  const from = textOf(body.from_location_id);
  const to = textOf(body.to_location_id);
  const sides = ['from_location_id', 'to_location_id'].filter((name) => body[name] !== null);
  const first = [
    ...sides.flatMap((field) => closed(merchant, body[field], field)),
    ...lineFaults(merchant, lines),
  ];
  if (first.length > 0) return refused(first);
  const missing = lines.map((line) => {
    const lack = from === null ? 0n : unitsOf(line.quantity) - thereOf(merchant, body, line);
    return lack > 0n ? lack : 0n;
  });
  const faults = lines.flatMap(({ product_id, quantity }, n): Detail[] => {
    const lack = missing[n] ?? 0n;
    const field = `lines.${n}.quantity`;
    if (lack > 0n && body.shortage === 'refuse') {
      const available_quantity = quantityOf(unitsOf(quantity) - lack);
      return [{ field, code: 'insufficient_quantity', product_id, available_quantity }];
    }
    const isTooLarge =
      to !== null && onHand(merchant, placeOf(product_id, to)) + unitsOf(quantity) >= most;
    return isTooLarge ? [{ field, code: 'too_large' }] : [];
  });
  if (faults.length > 0) return refused(faults);
  return done((minted) => carryOut(credential, body, minted, { lines, missing, from, to }));
}

/** What is gone already is gone, whatever was put aside of it. */
function thereOf(merchant: Merchant, body: JsonObject, { product_id }: Line): bigint {
  const isGone = body.shortage === 'record' || body.reason === 'damage' || body.reason === 'loss';
  const place = placeOf(product_id, body.from_location_id);
  return isGone ? onHand(merchant, place) : available(merchant, place);
}

interface Moving {
  readonly lines: readonly Line[];
  readonly missing: readonly bigint[];
  readonly from: string | null;
  readonly to: string | null;
}

function carryOut(
  credential: Credential,
  body: JsonObject,
  minted: Minted,
  { lines, missing, from, to }: Moving,
): JsonObject {
  const { merchant } = credential;
  const { reason = null, note = null, reference = null } = body;
  const shown = (minted.data.lines ?? []) as unknown as readonly JsonObject[];
  const sides: readonly Side[] = [
    { location: from, type: 'transfer_out' },
    { location: to, type: 'transfer_in' },
  ];
  let count = 0;
  const done = lines.map(({ product_id, quantity }, n): JsonObject => {
    const moved = unitsOf(quantity) - (missing[n] ?? 0n);
    const ids = sides.map(({ location, type }) => {
      if (location === null || moved === 0n) return null;
      count += 1;
      const member = type === 'transfer_out' ? 'out_movement_id' : 'in_movement_id';
      const id = minted.adopt(shown[n]?.[member], 'imv_');
      const before = onHand(merchant, placeOf(product_id, location));
      const after = type === 'transfer_out' ? before - moved : before + moved;
      const about = { product_id, location_id: location, reason, note, reference };
      move(credential, minted, { id, line: count, type, ...about }, after);
      return id;
    });
    const [out_movement_id = null, in_movement_id = null] = ids;
    const quantity_short = quantityOf(missing[n] ?? 0n);
    return { product_id, quantity, quantity_short, out_movement_id, in_movement_id };
  });
  const row: JsonObject = {
    id: minted.id,
    from_location_id: from,
    to_location_id: to,
    ...{ reason, note, reference, lines: done },
    is_short: missing.some((lack) => lack > 0n),
    operation_id: minted.operation,
    position: minted.position,
    actor: actorOf(credential),
    recorded_at: minted.at,
  };
  merchant.transfers.set(minted.id, row);
  return row;
}

const textOf = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' ? value : null;

/** As somebody sees it who has these locations. */
export function cut(transfer: JsonObject, sees: (location: unknown) => boolean): JsonObject {
  const side = (location: JsonValue | undefined) =>
    typeof location === 'string' && sees(location) ? location : null;
  const from_location_id = side(transfer.from_location_id);
  const to_location_id = side(transfer.to_location_id);
  const lines = (transfer.lines as unknown as readonly JsonObject[]).map((line) => ({
    ...line,
    out_movement_id: from_location_id === null ? null : (line.out_movement_id ?? null),
    in_movement_id: to_location_id === null ? null : (line.in_movement_id ?? null),
  }));
  return { ...transfer, from_location_id, to_location_id, lines };
}

/** What the event of a transfer says of what was not there. */
export function shortOf({ lines, from_location_id: location_id }: JsonObject): JsonObject[] {
  return (lines as unknown as readonly JsonObject[])
    .filter(({ quantity_short }) => quantity_short !== '0')
    .slice(0, 50)
    .map(({ product_id = null, quantity = null, quantity_short = null }) => ({
      ...{ location_id: location_id ?? null, product_id, quantity, quantity_short },
    }));
}
