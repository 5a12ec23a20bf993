// From the numbers of a command to writes of stock: what they move, count and put aside.

import type { JsonObject } from '../../src/contract/json.ts';
import type { Noun } from '../kit/bodies.ts';
import { available, onHand, onHandAt, placeOf } from './ledger.ts';
import { type Merchant, pick, quantityOf, unitsOf, type World, type Write } from './world.ts';

interface Remarks {
  readonly note: string | null;
  readonly reference: string | null;
}

interface AdjustDraft extends Remarks {
  readonly kind: 'adjust';
  readonly product: number;
  readonly location: number;
  /** In hundred-thousandths, or what the quantity is already. */
  readonly target: number | 'same';
  readonly expected: 'none' | 'current' | 'wrong';
  readonly reason: string;
}

/** In hundred-thousandths. */
type Lines = readonly { readonly product: number; readonly quantity: number }[];

/** A transfer by numbers: of the products those that differ. */
interface TransferDraft extends Remarks {
  readonly kind: 'transfer';
  readonly sides: 'in' | 'out' | 'between';
  readonly from: number;
  readonly to: number;
  readonly lines: Lines;
  /** The reason where it comes from the outside, or leaves. */
  readonly coming: string;
  readonly leaving: string;
  readonly shortage: string;
}

/** The same of a count. */
interface CountDraft extends Remarks {
  readonly kind: 'count';
  readonly location: number;
  readonly lines: readonly {
    readonly product: number;
    readonly counted: number | 'same';
    readonly expected: 'none' | 'current' | 'wrong';
    /** A position by its number. */
    readonly since: number | null;
  }[];
  readonly since: number | null;
  readonly journal: 'own' | 'none' | 'foreign';
}

interface ReserveDraft extends Remarks {
  readonly kind: 'reserve';
  readonly location: number;
  readonly lines: Lines;
  /** In days from now. */
  readonly expiry: number | null;
}

type EndDraft =
  | { readonly kind: 'release'; readonly which: number; readonly note: string | null }
  | (Remarks & { readonly kind: 'fulfil'; readonly which: number; readonly reason: string });

export type StockDraft = AdjustDraft | TransferDraft | CountDraft | ReserveDraft | EndDraft;

export function stockWriteOf(world: World, merchant: Merchant, what: StockDraft): Write {
  const made = (body: JsonObject, id = ''): Write => ({
    ...{ type: `inventory.${what.kind}`, id, ifMatch: undefined, body },
  });
  const { note } = what;
  switch (what.kind) {
    case 'adjust':
      return made(adjustmentOf(world, merchant, what));
    case 'transfer':
      return made(transferOf(world, merchant, what));
    case 'count':
      return made(countOf(world, merchant, what));
    case 'reserve':
      return made(reservationOf(world, merchant, what));
    case 'release':
      return made({ note }, heldBy(world, merchant, what.which));
    case 'fulfil': {
      const { reason, reference } = what;
      return made({ reason, note, reference }, heldBy(world, merchant, what.which));
    }
  }
}

/** The newest first: they are active most often. */
function heldBy(world: World, merchant: Merchant, n: number): string {
  const foreign = world.merchants.find((one) => one !== merchant);
  const own = [...merchant.reservations.keys()].reverse();
  return pick(own, [...(foreign?.reservations.keys() ?? [])], n);
}

function adjustmentOf(world: World, merchant: Merchant, what: AdjustDraft): JsonObject {
  const product_id = idOf(world, merchant, 'products', what.product);
  const location_id = idOf(world, merchant, 'locations', what.location);
  const current = quantityOf(onHand(merchant, placeOf(product_id, location_id)));
  return {
    product_id,
    location_id,
    target_quantity: what.target === 'same' ? current : quantityOf(BigInt(what.target)),
    reason: what.reason,
    expected_quantity: expectedOf(what.expected, current),
    note: what.note,
    reference: what.reference,
  };
}

const expectedOf = (kind: AdjustDraft['expected'], current: string): string | null =>
  ({ none: null, current, wrong: quantityOf(unitsOf(current) + 100_000n) })[kind];

function transferOf(world: World, merchant: Merchant, what: TransferDraft): JsonObject {
  const from = idOf(world, merchant, 'locations', what.from);
  const into = idOf(world, merchant, 'locations', what.to);
  const sides = from === into && what.sides === 'between' ? 'out' : what.sides;
  return {
    from_location_id: sides === 'in' ? null : from,
    to_location_id: sides === 'out' ? null : into,
    reason: { between: 'transfer', in: what.coming, out: what.leaving }[sides],
    shortage: sides === 'out' ? what.shortage : 'refuse',
    lines: linesOf(world, merchant, what.lines),
    note: what.note,
    reference: what.reference,
  };
}

function linesOf(world: World, merchant: Merchant, lines: Lines): JsonObject[] {
  const quantities = new Map(
    lines.map(({ product, quantity }) => [
      idOf(world, merchant, 'products', product),
      quantityOf(BigInt(quantity)),
    ]),
  );
  return [...quantities].map(([product_id, quantity]) => ({ product_id, quantity }));
}

function countOf(world: World, merchant: Merchant, what: CountDraft): JsonObject {
  const location_id = idOf(world, merchant, 'locations', what.location);
  const since = positionOf(merchant, what.since);
  const foreign = world.merchants.find((one) => one !== merchant);
  const journals = { own: merchant.journal.id, none: null, foreign: foreign?.journal.id ?? 'x' };
  const lines = new Map(
    what.lines.map(({ product, counted, expected, since: n }): [string, JsonObject] => {
      const product_id = idOf(world, merchant, 'products', product);
      const place = placeOf(product_id, location_id);
      const own = positionOf(merchant, n);
      const position = own ?? since;
      const then = quantityOf(
        position === null ? onHand(merchant, place) : onHandAt(merchant, place, position),
      );
      const line = {
        product_id,
        counted_quantity: counted === 'same' ? then : quantityOf(BigInt(counted)),
        expected_quantity: expectedOf(expected, then),
        counted_at_position: own,
      };
      return [product_id, line];
    }),
  );
  return {
    location_id,
    lines: [...lines.values()],
    counted_at_position: since,
    journal: journals[what.journal],
    note: what.note,
    reference: what.reference,
  };
}

/** Now and then one that nothing has yet; most often one of the last. */
function positionOf({ journal }: Merchant, n: number | null): string | null {
  if (n === null) return null;
  const last = journal.times.length;
  if (n >= 95) return String(last + 1);
  return String(n < 60 ? Math.max(0, last - (n % 8)) : n % (last + 1));
}

/** Mostly of something that is there. */
function reservationOf(world: World, merchant: Merchant, what: ReserveDraft): JsonObject {
  const { expiry, location } = what;
  const stocked = [...merchant.levels.entries()]
    .filter(([place]) => available(merchant, place) > 0n)
    .map(([, level]) => level);
  const level = location < 75 ? stocked[location % stocked.length] : undefined;
  const [first, ...others] = linesOf(world, merchant, what.lines);
  const product_id = level?.product_id ?? first?.product_id ?? null;
  const rest = others.filter((line) => line.product_id !== product_id);
  return {
    location_id: level?.location_id ?? idOf(world, merchant, 'locations', location),
    lines: [{ ...first, product_id }, ...rest],
    expires_at: expiry === null ? null : daysFromNow(expiry),
    note: what.note,
    reference: what.reference,
  };
}

const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** Of the merchant's own; now and then a foreign one, or one that nobody has. */
export function idOf(world: World, merchant: Merchant, noun: Noun, n: number): string {
  const foreign = world.merchants.find((one) => one !== merchant);
  return pick([...merchant[noun].keys()], [...(foreign?.[noun].keys() ?? [])], n);
}
