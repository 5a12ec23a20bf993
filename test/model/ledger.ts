// What is at a place, put aside of it, and was there once; and the one step that changes it.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import type { Detail, Minted } from './rules.ts';
import { placesOf, precisionOf, productFault, rejected, type Verdict } from './rules.ts';
import { actorOf, type Credential, type Merchant, quantityOf, unitsOf } from './world.ts';

/** No level reaches this. */
export const most = 10n ** 17n;

export interface Line {
  readonly product_id: string;
  readonly quantity: string;
}

export const placeOf = (product: unknown, location: unknown) => `${product} ${location}`;

export function onHand(merchant: Merchant, place: string): bigint {
  return unitsOf(String(merchant.levels.get(place)?.quantity ?? '0'));
}

/** What the last movement up to a position left. */
export function onHandAt(merchant: Merchant, place: string, position: string): bigint {
  const last = [...merchant.movements.values()].findLast(
    (one) =>
      placeOf(one.product_id, one.location_id) === place &&
      Number(one.position) <= Number(position),
  );
  return unitsOf(String(last?.quantity_after ?? '0'));
}

/** What came and left behind a position: what somebody counted is neither. */
export function movedSince(merchant: Merchant, place: string, position: string): bigint {
  return [...merchant.movements.values()]
    .filter(
      (one) =>
        placeOf(one.product_id, one.location_id) === place &&
        Number(one.position) > Number(position) &&
        one.reason !== 'stock_count',
    )
    .reduce((sum, { quantity_delta }) => sum + unitsOf(String(quantity_delta)), 0n);
}

/** Whether or not anything has told that its time has come. */
export function statusNow({ status, expires_at }: JsonObject): string {
  const isOver = typeof expires_at === 'string' && Date.parse(expires_at) <= Date.now();
  return status === 'active' && isOver ? 'expired' : String(status);
}

function reserved(merchant: Merchant, place: string): bigint {
  return [...merchant.reservations.values()]
    .filter((one) => statusNow(one) === 'active')
    .flatMap((one) =>
      linesOf(one).filter((line) => placeOf(line.product_id, one.location_id) === place),
    )
    .reduce((sum, { quantity }) => sum + unitsOf(quantity), 0n);
}

export const linesOf = ({ lines }: JsonObject) => lines as unknown as readonly Line[];

/** On hand and not put aside: below 0 when that is not there any more. */
export const available = (merchant: Merchant, place: string): bigint =>
  onHand(merchant, place) - reserved(merchant, place);

/** A level as it is shown now. */
export function levelShown(merchant: Merchant, row: JsonObject): JsonObject {
  const place = placeOf(row.product_id, row.location_id);
  const { at = null, by = null } = merchant.counted.get(place) ?? {};
  return {
    ...row,
    ...{ counted_at: at, counted_by: by, reserved_quantity: quantityOf(reserved(merchant, place)) },
    available_quantity: quantityOf(available(merchant, place)),
  };
}

export interface Step extends JsonObject {
  readonly id: string;
  readonly line: number;
  readonly product_id: string;
  readonly location_id: string;
  readonly type: string;
  readonly reason: JsonValue;
  readonly note: JsonValue;
  readonly reference: JsonValue;
}

/** One movement to a quantity, and the level as it leaves it. */
export function move(
  credential: Credential,
  { operation, position, at }: Minted,
  step: Step,
  after: bigint,
): void {
  const { merchant } = credential;
  const { id, product_id, location_id } = step;
  const place = placeOf(product_id, location_id);
  const before = onHand(merchant, place);
  const sequence = Number(merchant.levels.get(place)?.version ?? 0) + 1;
  const quantity_after = quantityOf(after);
  merchant.movements.set(id, {
    ...step,
    ...{ sequence, quantity_before: quantityOf(before), quantity_after },
    quantity_delta: quantityOf(after - before),
    ...{ operation_id: operation, position, recorded_at: at, actor: actorOf(credential) },
  });
  merchant.levels.set(place, {
    ...{ product_id, location_id, quantity: quantity_after, version: sequence },
    ...{ last_movement_id: id, updated_at: at },
  });
}

/** Locations that are named and not open. */
export const closed = (merchant: Merchant, location: unknown, field: string): Detail[] =>
  merchant.locations.get(String(location))?.status === 'active'
    ? []
    : [{ field, code: 'location_inactive' }];

/** Of each line: why its product cannot move, or not by that much. */
export const lineFaults = (merchant: Merchant, lines: readonly Line[]): Detail[] =>
  lines.flatMap(({ product_id, quantity }, n) =>
    lineFault(merchant, { product_id, quantity }, `lines.${n}`),
  );

/** The first reason why a product cannot move by these quantities: one at most. */
export function lineFault(
  merchant: Merchant,
  { product_id, ...quantities }: Readonly<Record<string, string | null>>,
  field: string,
): Detail[] {
  const product = merchant.products.get(String(product_id));
  const code = productFault(product);
  if (code !== undefined) return [{ field: `${field}.product_id`, code }];
  const tooFine = Object.keys(quantities).find(
    (name) => placesOf(quantities[name]) > precisionOf(product),
  );
  if (tooFine === undefined) return [];
  return [{ field: `${field}.${tooFine}`, code: 'too_many_decimal_places' }];
}

/** Lines of which less is there. */
export function lacking(lines: readonly Line[], thereOf: (line: Line) => bigint): Detail[] {
  return lines.flatMap((line, n) => {
    const there = thereOf(line);
    if (unitsOf(line.quantity) <= there) return [];
    const known = { product_id: line.product_id, available_quantity: quantityOf(there) };
    return [{ field: `lines.${n}.quantity`, code: 'insufficient_quantity', ...known }];
  });
}

/** Codes of single members only: an answer with them says that the request is not valid. */
const ofMembers: readonly unknown[] = [
  ...['too_large', 'too_many_decimal_places', 'must_not_be_negative', 'value_not_allowed'],
  'journal_mismatch',
];

/** With the code of the first fault, where that is one of a whole answer. */
export function refused(details: readonly Detail[]): Verdict {
  const code = details[0]?.code;
  return rejected(422, ofMembers.includes(code) ? 'validation_failed' : String(code), details);
}
