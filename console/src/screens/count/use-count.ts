// A count that somebody makes: one for each location, kept in the browser until it is posted.

import type { InventoryCount, StockItem } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { quantityOf } from '../../format.ts';
import { oneMore } from '../../parts/one-more.ts';
import { type LineProduct, lineProductOf } from '../../parts/product-line.tsx';
import { quantityFault } from '../../parts/quantity-fault.ts';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';

export interface CountLine {
  readonly product: LineProduct;
  /** What the ledger says was there when the count began. */
  readonly expected: string;
  readonly typed: string;
}

/** Where the journal was when the count began: what is sold meanwhile is not counted away. */
export interface Beginning {
  readonly position: string;
  readonly journal: string;
  readonly time: string;
}

interface Count {
  readonly begun: Beginning | null;
  /** The last one scanned first. */
  readonly lines: readonly CountLine[];
  readonly note: string;
  readonly reference: string;
}

const emptyCount: Count = { begun: null, lines: [], note: '', reference: '' };

export interface Counted {
  readonly count: InventoryCount;
  readonly lines: readonly CountLine[];
}

export function useCount(location_id: string, onCounted: () => void) {
  const queries = useQueryClient();
  const [counted, setCounted] = useState<Counted>();
  const draft = useDraft(`count:${location_id}`, emptyCount);
  // Scans come faster than the page is drawn.
  const latest = useRef(draft.value);
  latest.current = draft.value;
  const change = (some: Partial<Count>) => {
    latest.current = { ...latest.current, ...some };
    draft.change(latest.current);
  };
  const post = usePost({
    draft,
    write: async (value, options) => {
      const { data } = await tb.inventory.counts.create(bodyOf(location_id, value), options);
      return { count: data, lines: value.lines };
    },
    onDone: (done) => {
      setCounted(done);
      void queries.invalidateQueries({ queryKey: ['stock'] });
      onCounted();
    },
  });
  const begin = (begun: Beginning) => {
    setCounted(undefined);
    change({ begun });
  };
  const add = (found: StockItem) => {
    const { lines } = latest.current;
    const known = lines.find(({ product }) => product.product_id === found.product_id);
    const line = known ?? { product: lineProductOf(found), expected: found.quantity, typed: '0' };
    const others = lines.filter((one) => one !== known);
    change({ lines: [{ ...line, typed: oneMore(line.typed) }, ...others] });
  };
  /** Lines of a sheet: they stand for what was counted of the same products before. */
  const take = (found: readonly CountLine[]) => {
    const ids = new Set(found.map(({ product }) => product.product_id));
    const others = latest.current.lines.filter(({ product }) => !ids.has(product.product_id));
    change({ lines: [...found, ...others] });
  };
  const type = (id: string, typed: string) =>
    change({
      lines: latest.current.lines.map((line) =>
        line.product.product_id === id ? { ...line, typed } : line,
      ),
    });
  const remove = (id: string) =>
    change({ lines: latest.current.lines.filter(({ product }) => product.product_id !== id) });
  const isBlocked = draft.isSent || post.isBusy;
  const used = { count: draft.value, counted, post, isBlocked, clear: draft.clear };
  return { ...used, begin, change, add, take, type, remove };
}

export type UsedCount = ReturnType<typeof useCount>;

export function countFault(typed: string, unit: LineProduct['unit']): string | undefined {
  const fault = quantityFault(typed, unit);
  const isNegative = quantityOf(typed)?.startsWith('-') === true;
  return fault ?? (isNegative ? texts.count.negative : undefined);
}

function bodyOf(location_id: string, { begun, lines, note, reference }: Count) {
  return {
    location_id,
    counted_at_position: begun?.position ?? null,
    journal: begun?.journal ?? null,
    note: note.trim() === '' ? null : note.trim(),
    reference: reference.trim() === '' ? null : reference.trim(),
    lines: lines.map(({ product, typed }) => ({
      product_id: product.product_id,
      counted_quantity: quantityOf(typed) ?? typed,
    })),
  };
}
