// What a count came to, line by line.

import { Alert, Anchor, List, Text } from '@mantine/core';
import { Quantity } from '@tallybook/client';
import { Link } from 'react-router';
import { changeText, quantityText } from '../../format.ts';
import { texts } from '../../texts.ts';
import type { Counted } from './use-count.ts';

const words = texts.count;

export function CountedNote({ counted: { count, lines } }: { readonly counted: Counted }) {
  const names = new Map(lines.map(({ product }) => [product.product_id, product.name]));
  const changed = count.lines.filter(({ outcome }) => outcome === 'changed');
  return (
    <Alert
      role="status"
      color="teal"
      variant="light"
      className="no-print"
      title={words.counted(count.lines.length, changed.length)}
    >
      <List size="sm">
        {changed.map(({ product_id: id, quantity_before: before, quantity_after: after }) => (
          <List.Item key={id}>
            <Anchor component={Link} to={`/products/${id}`} size="sm">
              {names.get(id) ?? id}
            </Anchor>{' '}
            {words.became(
              quantityText(before),
              quantityText(after),
              changeText(Quantity.subtract(after, before)),
            )}
          </List.Item>
        ))}
      </List>
      <Text size="sm" mt={4}>
        {texts.failure.request} <span className="code">{count.operation_id}</span>
      </Text>
    </Alert>
  );
}
