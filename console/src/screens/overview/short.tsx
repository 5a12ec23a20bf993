// What was taken that was not there: the stock is wrong, or somebody is waiting for it.

import { Group, Stack, Text } from '@mantine/core';
import { type InventoryTransfer, Quantity } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { quantityText } from '../../format.ts';
import { Ago } from '../../parts/ago.tsx';
import { ProductLink } from '../../parts/product-link.tsx';
import { RequestLink } from '../../parts/request-link.tsx';
import { tb } from '../../service/client.ts';
import { useProduct } from '../../service/names.ts';
import { texts } from '../../texts.ts';
import { Panel } from './panel.tsx';

const words = texts.overview;

const transfersMax = 5;

export function Short({ location }: { readonly location: string }) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['transfers', 'short', location],
    queryFn: async ({ signal }) => {
      const query = { location_id: location, short: 'true', limit: transfersMax } as const;
      return (await tb.inventory.transfers.list(query, { signal })).data;
    },
  });
  const transfers = data ?? [];
  return (
    <Panel title={words.short} {...{ error, isPending }} onAgain={() => void refetch()}>
      <Text size="sm" c="dimmed">
        {transfers.length === 0 ? words.nothingShort : words.shortHint}
      </Text>
      {transfers.map((transfer) => (
        <Transfer key={transfer.id} transfer={transfer} />
      ))}
    </Panel>
  );
}

function Transfer({ transfer }: { readonly transfer: InventoryTransfer }) {
  const missing = transfer.lines.filter(
    ({ quantity_short }) => Quantity.compare(quantity_short, '0') > 0,
  );
  return (
    <Stack gap={2}>
      {missing.map((line) => (
        <Line key={`${line.product_id} ${line.quantity}`} line={line} />
      ))}
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          <Ago time={transfer.recorded_at} /> · {transfer.actor.name}
        </Text>
        <RequestLink id={transfer.operation_id} />
      </Group>
    </Stack>
  );
}

function Line({ line }: { readonly line: InventoryTransfer['lines'][number] }) {
  const product = useProduct(line.product_id);
  return (
    <Group justify="space-between" wrap="nowrap" gap="sm">
      <ProductLink id={line.product_id} name={product?.name} />
      <Text size="sm" className="quantity" style={{ whiteSpace: 'nowrap' }}>
        {words.missing(quantityText(line.quantity_short), quantityText(line.quantity))}
      </Text>
    </Group>
  );
}
