// What becomes of a transfer: each line by itself, all of them or none.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import {
  type Detail,
  done,
  type Minted,
  placesOf,
  precisionOf,
  productFault,
  rejected,
  type Verdict,
} from './rules.ts';
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
  readonly quantity: string;
}

interface Side {
  readonly location: string | null;
  readonly type: 'transfer_out' | 'transfer_in';
}

const most = 10n ** 17n;

const placeOf = (product: string, location: string) => `${product} ${location}`;

function onHand(merchant: Merchant, product: string, location: string): bigint {
  return unitsOf(String(merchant.levels.get(placeOf(product, location))?.quantity ?? '0'));
}

export function transfer(credential: Credential, { body }: Write): Verdict {
  const { merchant } = credential;
  const lines = body.lines as unknown as readonly Line[];
  const from = textOf(body.from_location_id);
  const to = textOf(body.to_location_id);
  const closed = ['from_location_id', 'to_location_id'].flatMap((field): Detail[] => {
    const location = textOf(body[field]);
    const isOpen = location === null || merchant.locations.get(location)?.status === 'active';
    return isOpen ? [] : [{ field, code: 'location_inactive' }];
  });
  const unusable = lines.flatMap((line, n) => lineFault(merchant, line, `lines.${n}`));
  const first = [...closed, ...unusable];
  if (first.length > 0) return refused(first);
  const missing = lines.map(({ product_id, quantity }) => {
    const lack = from === null ? 0n : unitsOf(quantity) - onHand(merchant, product_id, from);
    return lack > 0n ? lack : 0n;
  });
  const faults = lines.flatMap(({ product_id, quantity }, n): Detail[] => {
    const lack = missing[n] ?? 0n;
    const field = `lines.${n}.quantity`;
    if (lack > 0n && body.shortage === 'refuse') {
      const available_quantity = quantityOf(unitsOf(quantity) - lack);
      return [{ field, code: 'insufficient_quantity', product_id, available_quantity }];
    }
    const isTooLarge = to !== null && onHand(merchant, product_id, to) + unitsOf(quantity) >= most;
    return isTooLarge ? [{ field, code: 'too_large' }] : [];
  });
  if (faults.length > 0) return refused(faults);
  return done((minted) => move(credential, body, minted, { lines, missing, from, to }));
}

function lineFault(merchant: Merchant, { product_id, quantity }: Line, field: string): Detail[] {
  const product = merchant.products.get(product_id);
  const code = productFault(product);
  if (code !== undefined) return [{ field: `${field}.product_id`, code }];
  const isFine = placesOf(quantity) <= precisionOf(product);
  return isFine ? [] : [{ field: `${field}.quantity`, code: 'too_many_decimal_places' }];
}

interface Moving {
  readonly lines: readonly Line[];
  readonly missing: readonly bigint[];
  readonly from: string | null;
  readonly to: string | null;
}

function move(
  credential: Credential,
  body: JsonObject,
  minted: Minted,
  { lines, missing, from, to }: Moving,
): JsonObject {
  const { merchant } = credential;
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
      const delta = type === 'transfer_out' ? -moved : moved;
      note(credential, body, minted, { id, line: count, product_id, location, type, delta });
      return id;
    });
    const [out_movement_id = null, in_movement_id = null] = ids;
    const quantity_short = quantityOf(missing[n] ?? 0n);
    return { product_id, quantity, quantity_short, out_movement_id, in_movement_id };
  });
  const { reason = null, note: words = null, reference = null } = body;
  const row: JsonObject = {
    id: minted.id,
    from_location_id: from,
    to_location_id: to,
    ...{ reason, note: words, reference, lines: done },
    is_short: missing.some((lack) => lack > 0n),
    operation_id: minted.operation,
    position: minted.position,
    actor: actorOf(credential),
    recorded_at: minted.at,
  };
  merchant.transfers.set(minted.id, row);
  return row;
}

interface Step {
  readonly id: string;
  readonly line: number;
  readonly product_id: string;
  readonly location: string;
  readonly type: Side['type'];
  readonly delta: bigint;
}

/** One movement, and the level as it leaves it. */
function note(
  credential: Credential,
  { reason = null, note: words = null, reference = null }: JsonObject,
  { operation, position, at }: Minted,
  { id, line, product_id, location, type, delta }: Step,
): void {
  const { merchant } = credential;
  const place = placeOf(product_id, location);
  const level = merchant.levels.get(place);
  const before = unitsOf(String(level?.quantity ?? '0'));
  const sequence = Number(level?.version ?? 0) + 1;
  const quantity_after = quantityOf(before + delta);
  merchant.movements.set(id, {
    ...{ id, sequence, product_id, location_id: location, type, reason, note: words, reference },
    quantity_before: quantityOf(before),
    quantity_delta: quantityOf(delta),
    quantity_after,
    ...{ operation_id: operation, position, line, recorded_at: at },
    actor: actorOf(credential),
  });
  merchant.levels.set(place, {
    ...{ product_id, location_id: location, quantity: quantity_after, version: sequence },
    ...{ last_movement_id: id, updated_at: at, counted_at: null, counted_by: null },
    ...{ reserved_quantity: '0', available_quantity: quantity_after },
  });
}

/** With the code of the first fault, where that is one of a whole answer. */
function refused(details: readonly Detail[]): Verdict {
  const own = String(details[0]?.code);
  const isOfField = own === 'too_large' || own === 'too_many_decimal_places';
  return rejected(422, isOfField ? 'validation_failed' : own, details);
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
