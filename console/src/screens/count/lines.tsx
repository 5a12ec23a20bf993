// The lines of a count, each with the difference to what should be there.

import { Quantity } from '@tallybook/client';
import { changeText, quantityOf, quantityText } from '../../format.ts';
import { ProductLine } from '../../parts/product-line.tsx';
import { texts } from '../../texts.ts';
import { type CountLine, countFault, type UsedCount } from './use-count.ts';

const words = texts.count;

interface CountLinesProps extends UsedCount {
  onEnter(): void;
}

export function CountLines({ count, isBlocked, type, remove, onEnter }: CountLinesProps) {
  return (
    <ul className="product-lines" aria-label={words.lines}>
      {count.lines.map((line) => {
        const { product_id: id, name, unit } = line.product;
        return (
          <ProductLine
            key={id}
            product={line.product}
            typed={line.typed}
            label={words.countedOf(name)}
            there={words.expected(quantityText(line.expected))}
            outcome={difference(line)}
            fault={countFault(line.typed, unit)}
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

function difference({ typed, expected }: CountLine) {
  const counted = quantityOf(typed);
  if (counted === undefined) return undefined;
  const sign = Quantity.compare(counted, expected);
  if (sign === 0) return { text: words.same, color: 'teal' };
  const text = changeText(Quantity.subtract(counted, expected));
  return { text, color: sign < 0 ? 'red' : 'orange' };
}
