// Where a product is: its level at each location, now or at a moment.

import { Card, Table, Text, Title } from '@mantine/core';
import { type InventoryLevel, type Product, Quantity } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { agoText, exactMomentText, momentText, quantityText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Loading } from '../../parts/loading.tsx';
import { useAsOf } from '../../service/as-of.ts';
import { tb } from '../../service/client.ts';
import { useLocations } from '../../service/me.tsx';
import { texts } from '../../texts.ts';

const words = texts.product;

export function useLevels(id: string) {
  const { query } = useAsOf();
  return useQuery({
    queryKey: ['levels', 'product', id, query],
    queryFn: async ({ signal }) => {
      const found: InventoryLevel[] = [];
      for await (const level of tb.products.levels.list(id, { ...query, limit: 200 }, { signal }))
        found.push(level);
      return found;
    },
  });
}

export function Levels({ product }: { readonly product: Product }) {
  const { data: levels, error, refetch } = useLevels(product.id);
  return (
    <Card withBorder component="section" aria-labelledby="product-levels">
      <Title order={2} id="product-levels" mb="xs">
        {words.where}
      </Title>
      {error !== null && <Failure error={error} onAgain={() => void refetch()} />}
      {levels === undefined && error === null && <Loading />}
      {levels?.length === 0 && (
        <Text size="sm" c="dimmed">
          {product.inventory_tracked ? words.nowhere : words.notTracked}
        </Text>
      )}
      {levels !== undefined && levels.length > 0 && <LevelTable levels={levels} />}
    </Card>
  );
}

function LevelTable({ levels }: { readonly levels: readonly InventoryLevel[] }) {
  const { moment } = useAsOf();
  const nameOf = useLocationName();
  const { columns } = texts.stock;
  const isNow = moment === undefined;
  const { onHand, reserved, available, changed } = columns;
  const ofNow = isNow ? { reserved, available } : {};
  const shown = { location: texts.location, onHand, ...ofNow, changed };
  const rows = levels.toSorted((a, b) =>
    nameOf(a.location_id).localeCompare(nameOf(b.location_id)),
  );
  return (
    <ListTable label={words.where} columns={shown} quantities={['onHand', 'reserved', 'available']}>
      {rows.map((level) => (
        <Table.Tr key={level.location_id}>
          <Table.Th scope="row" fw={500}>
            {nameOf(level.location_id)}
          </Table.Th>
          <Table.Td className="quantity" data-label={columns.onHand}>
            {quantityText(level.quantity)}
          </Table.Td>
          {isNow && (
            <>
              <Table.Td className="quantity" data-label={columns.reserved}>
                {reservedText(level)}
              </Table.Td>
              <Table.Td className="quantity" data-label={columns.available}>
                {quantityText(level.available_quantity ?? level.quantity)}
              </Table.Td>
            </>
          )}
          <Table.Td title={exactMomentText(level.updated_at)} data-label={columns.changed}>
            {isNow ? agoText(level.updated_at) : momentText(level.updated_at)}
          </Table.Td>
        </Table.Tr>
      ))}
    </ListTable>
  );
}

function reservedText({ reserved_quantity: reserved }: InventoryLevel): string {
  return reserved === null || Quantity.compare(reserved, '0') === 0 ? '–' : quantityText(reserved);
}

/** A location that this person does not work at has an ID only. */
function useLocationName(): (id: string) => string {
  const names = new Map(useLocations()?.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}
