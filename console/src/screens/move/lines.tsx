// The lines of a move, each with what is there.

import { type InventoryLevel, Quantity } from '@tallybook/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { quantityOf, quantityText } from '../../format.ts';
import { ProductLine } from '../../parts/product-line.tsx';
import { tb } from '../../service/client.ts';
import { texts } from '../../texts.ts';
import { isArrival, type Line, lineFault, type Move } from './draft.ts';
import type { Used } from './use-move.ts';

const words = texts.move;

export function Lines({ move, isBlocked, type, remove, onEnter }: Used & { onEnter(): void }) {
  const levels = useLevelsAt(move);
  return (
    <ul className="product-lines" aria-label={words.lines}>
      {move.lines.map((line) => {
        const { product_id: id, name } = line.product;
        const level = levels?.get(id);
        const known = levels === undefined ? '…' : thereText(move, level);
        return (
          <ProductLine
            key={id}
            product={line.product}
            typed={line.typed}
            label={words.quantityOf(name)}
            there={known}
            outcome={levels === undefined ? undefined : tooMuch(move, line, level)}
            fault={lineFault(line)}
            disabled={isBlocked}
            onType={(typed) => type(id, typed)}
            onEnter={onEnter}
            onRemove={() => remove(id)}
          />
        );
      })}
    </ul>
  );
}

function thereText({ kind }: Move, level: InventoryLevel | undefined): string {
  if (isArrival(kind)) return words.onHand(quantityText(level?.quantity ?? '0'));
  return words.available(quantityText(level?.available_quantity ?? '0'));
}

function tooMuch({ kind }: Move, { typed }: Line, level: InventoryLevel | undefined) {
  const quantity = quantityOf(typed);
  if (isArrival(kind) || quantity === undefined) return undefined;
  const available = level?.available_quantity ?? '0';
  if (Quantity.compare(quantity, available) <= 0) return undefined;
  return {
    text: words.missing(quantityText(Quantity.subtract(quantity, available))),
    color: 'red',
  };
}

/** As many as the service takes in one query. */
const atOnce = 100;

function useLevelsAt({ place, lines }: Move) {
  const ids = lines.map(({ product }) => product.product_id).sort();
  const { data } = useQuery({
    queryKey: ['levels', 'lines', place, ids],
    enabled: place !== null && ids.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const found = new Map<string, InventoryLevel>();
      for (let first = 0; first < ids.length; first += atOnce) {
        const product_id = ids.slice(first, first + atOnce);
        const query = { location_id: place ?? '', product_id, limit: 200 };
        for await (const level of tb.inventory.levels.list(query, { signal }))
          found.set(level.product_id, level);
      }
      return found;
    },
  });
  return data;
}
