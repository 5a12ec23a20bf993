// The draft of a move, and what can be done with it.

import type { InventoryTransfer, StockItem } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { oneMore } from '../../parts/one-more.ts';
import { lineProductOf } from '../../parts/product-line.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePlace } from '../../service/place.ts';
import { usePost } from '../../service/post.ts';
import { bodyOf, emptyMove, type Line, type Move } from './draft.ts';

export interface Moved {
  readonly transfer: InventoryTransfer;
  readonly lines: readonly Line[];
}

export function useMove(onMoved: () => void) {
  const queries = useQueryClient();
  const [place] = usePlace();
  const [moved, setMoved] = useState<Moved>();
  // The next one begins as the last one was: a morning's delivery is many receipts.
  const [begin, setBegin] = useState(emptyMove);
  const draft = useDraft<Move>('move', begin);
  const move = { ...draft.value, place: draft.value.place ?? place ?? null };
  // Scans come faster than the page is drawn.
  const latest = useRef(move);
  latest.current = move;
  const change = (some: Partial<Move>) => {
    latest.current = { ...latest.current, isDone: false, ...some };
    draft.change(latest.current);
  };
  const setLines = (lines: readonly Line[]) => change({ lines });
  const post = usePost({
    draft,
    write: async (value, options) => {
      const { data } = await tb.inventory.transfers.create(bodyOf(value), options);
      return { transfer: data, value };
    },
    onDone: ({ transfer, value: { kind, place: at, to, gone, lines } }) => {
      setMoved({ transfer, lines });
      setBegin({ ...emptyMove, kind, place: at, to, gone });
      void queries.invalidateQueries({ queryKey: ['levels'] });
      void queries.invalidateQueries({ queryKey: ['stock'] });
      onMoved();
    },
  });
  const add = (found: StockItem) => {
    setMoved(undefined);
    const { lines } = latest.current;
    const known = lines.find(({ product }) => product.product_id === found.product_id);
    const typed = known === undefined ? '1' : oneMore(known.typed);
    const others = lines.filter((line) => line !== known);
    setLines([{ product: lineProductOf(found), typed }, ...others]);
  };
  const type = (id: string, typed: string) =>
    setLines(
      latest.current.lines.map((line) =>
        line.product.product_id === id ? { ...line, typed } : line,
      ),
    );
  const remove = (id: string) =>
    setLines(latest.current.lines.filter(({ product }) => product.product_id !== id));
  const isBlocked = draft.isSent || post.isBusy;
  const forgetMoved = () => setMoved(undefined);
  const used = { move, moved, forgetMoved, post, isBlocked };
  return { ...used, change, add, type, remove, clear: draft.clear };
}

export type Used = ReturnType<typeof useMove>;
