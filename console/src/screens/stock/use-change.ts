// What was typed for a level, and the adjustment that it becomes.

import type { StockItem } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import { quantityOf, quantityText } from '../../format.ts';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { tell } from '../../service/notices.ts';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';

const words = texts.stock;

export type Reason = keyof typeof words.reasons;

export interface Change {
  /** As it stood there when the person began to type. */
  readonly expected: string;
  readonly typed: string;
  readonly reason: Reason;
  readonly note: string;
}

export function useChange({ product_id, location_id, quantity, name }: StockItem) {
  const queries = useQueryClient();
  const draft = useDraft<Change>(`level:${location_id}:${product_id}`, {
    ...{ expected: quantity, typed: '', reason: 'correction', note: '' },
  });
  const post = usePost({
    draft,
    write: ({ expected, typed, reason, note }, options) =>
      tb.inventory.adjust(
        {
          product_id,
          location_id,
          target_quantity: quantityOf(typed) ?? typed,
          expected_quantity: expected,
          reason,
          note: note.trim() === '' ? null : note.trim(),
        },
        options,
      ),
    onDone: ({ data }) => {
      const { quantity_before: before, quantity_after: after, operation_id } = data;
      tell(words.saved(name, quantityText(after)), {
        operation_id,
        // What changed since is not overwritten: then it is refused, and says what is there.
        write: (options) =>
          tb.inventory.adjust(
            {
              ...{ product_id, location_id, reason: 'correction' },
              ...{ target_quantity: before, expected_quantity: after },
              note: texts.undo.note(operation_id),
            },
            options,
          ),
      });
      void queries.invalidateQueries({ queryKey: ['stock'] });
    },
  });
  return { draft, post };
}
