// What somebody is about to move: kept in the browser until it is posted.

import { type InventoryTransfer, type InventoryTransferBody, Quantity } from '@tallybook/client';
import { quantityOf } from '../../format.ts';
import type { LineProduct } from '../../parts/product-line.tsx';
import { quantityFault } from '../../parts/quantity-fault.ts';
import { texts } from '../../texts.ts';

export const kinds = ['sale', 'return', 'receipt', 'transfer', 'gone'] as const;
export type Kind = (typeof kinds)[number];

export interface Line {
  readonly product: LineProduct;
  readonly typed: string;
}

export interface Move {
  readonly kind: Kind;
  /** Where it leaves from, or comes to from the outside. */
  readonly place: string | null;
  /** Where a transfer goes to. */
  readonly to: string | null;
  readonly gone: 'damage' | 'loss';
  /** The last one scanned first. */
  readonly lines: readonly Line[];
  readonly note: string;
  readonly reference: string;
  /** Whether it has happened already, whatever the levels say. */
  readonly isDone: boolean;
}

export const emptyMove: Move = {
  kind: 'sale',
  place: null,
  to: null,
  gone: 'damage',
  lines: [],
  note: '',
  reference: '',
  isDone: false,
};

/** Whether it comes from the outside. */
export const isArrival = (kind: Kind): boolean => kind === 'receipt' || kind === 'return';

export function lineFault({ typed, product }: Line): string | undefined {
  const fault = quantityFault(typed, product.unit);
  if (fault !== undefined) return fault;
  const isPositive = /[1-9]/.test(typed) && !quantityOf(typed)?.startsWith('-');
  return isPositive ? undefined : texts.move.notPositive;
}

export function bodyOf(move: Move): InventoryTransferBody {
  const { kind, place, to, gone, note, reference } = move;
  const reason = kind === 'gone' ? gone : kind;
  const ends = {
    sale: { from_location_id: place },
    gone: { from_location_id: place },
    return: { to_location_id: place },
    receipt: { to_location_id: place },
    transfer: { from_location_id: place, to_location_id: to },
  };
  return {
    ...ends[kind],
    reason,
    ...(move.isDone ? { shortage: 'record' as const } : {}),
    lines: move.lines.map(({ product, typed }) => ({
      product_id: product.product_id,
      quantity: quantityOf(typed) ?? typed,
    })),
    note: note.trim() === '' ? null : note.trim(),
    reference: reference.trim() === '' ? null : reference.trim(),
  };
}

/** What has moved, back to where it came from. It was no sale, nor a return of one. */
export function oppositeOf(transfer: InventoryTransfer): InventoryTransferBody {
  const { from_location_id, to_location_id, operation_id, reference } = transfer;
  return {
    from_location_id: to_location_id,
    to_location_id: from_location_id,
    reason: transfer.reason === 'transfer' ? 'transfer' : 'other',
    lines: transfer.lines.flatMap(({ product_id, quantity, quantity_short: short }) => {
      const moved = Quantity.subtract(quantity, short);
      return Quantity.compare(moved, '0') > 0 ? [{ product_id, quantity: moved }] : [];
    }),
    note: texts.undo.note(operation_id),
    reference,
  };
}
