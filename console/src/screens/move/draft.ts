// What somebody is about to move: kept in the browser until it is posted.

import type { InventoryTransferBody } from '@tallybook/client';
import { quantityOf } from '../../format.ts';
import type { LineProduct } from '../../parts/product-line.tsx';
import { quantityFault } from '../../parts/quantity-fault.ts';
import { texts } from '../../texts.ts';

export const kinds = ['sale', 'receipt', 'transfer', 'gone'] as const;
export type Kind = (typeof kinds)[number];

export interface Line {
  readonly product: LineProduct;
  readonly typed: string;
}

export interface Move {
  readonly kind: Kind;
  /** Where it leaves from; of a receipt: where it comes to. */
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
