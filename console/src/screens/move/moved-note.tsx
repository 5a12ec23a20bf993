// What was moved just now.

import { Alert, Anchor, List, Text } from '@mantine/core';
import { Quantity } from '@tallybook/client';
import { Link } from 'react-router';
import { quantityText } from '../../format.ts';
import { UndoButton } from '../../parts/undo-button.tsx';
import { tb } from '../../service/client.ts';
import { texts } from '../../texts.ts';
import { oppositeOf } from './draft.ts';
import type { Moved } from './use-move.ts';

const words = texts.move;
const shown = 10;

interface MovedNoteProps {
  readonly moved: Moved;
  onUndone(): void;
}

export function MovedNote({ moved: { transfer, lines }, onUndone }: MovedNoteProps) {
  const back = oppositeOf(transfer);
  const names = new Map(lines.map(({ product }) => [product.product_id, product.name]));
  return (
    <Alert role="status" color="teal" variant="light" title={words.moved(transfer.lines.length)}>
      <List size="sm">
        {transfer.lines.slice(0, shown).map(({ product_id: id, quantity, quantity_short }) => (
          <List.Item key={id}>
            {words.movedLine(quantityText(quantity))}{' '}
            <Anchor component={Link} to={`/products/${id}`} size="sm">
              {names.get(id) ?? id}
            </Anchor>
            {Quantity.compare(quantity_short, '0') > 0 &&
              ` ${words.wasShort(quantityText(quantity_short))}`}
          </List.Item>
        ))}
        {transfer.lines.length > shown && (
          <List.Item>{texts.failure.more(transfer.lines.length - shown)}</List.Item>
        )}
      </List>
      <Text size="sm" mt={4}>
        {texts.failure.request} <span className="code">{transfer.operation_id}</span>
      </Text>
      {back.lines.length > 0 && (
        <UndoButton
          undo={{
            operation_id: transfer.operation_id,
            write: (options) => tb.inventory.transfers.create(back, options),
          }}
          onDone={onUndone}
        />
      )}
    </Alert>
  );
}
