// What a product is counted in, where that is not by the piece.

import { Text } from '@mantine/core';
import type { StockItem } from '@tallybook/client';

export function Unit({ row: { unit } }: { readonly row: Pick<StockItem, 'unit'> }) {
  return unit.code === 'each' ? null : (
    <Text span size="xs" c="dimmed">
      {unit.code}
    </Text>
  );
}
