// Where a product is: its level at each location, now or at a moment.

import { Card, Table, Text, Title } from '@mantine/core';
import { type InventoryLevel, type Product, Quantity } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { agoText, exactMomentText, quantityText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
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
  const columns = texts.stock.columns;
  const isNow = moment === undefined;
  const rows = levels.toSorted((a, b) =>
    nameOf(a.location_id).localeCompare(nameOf(b.location_id)),
  );
  return (
    <Table.ScrollContainer minWidth={isNow ? 440 : 280}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.location}</Table.Th>
            <Table.Th className="quantity">{columns.onHand}</Table.Th>
            {isNow && <Table.Th className="quantity">{columns.reserved}</Table.Th>}
            {isNow && <Table.Th className="quantity">{columns.available}</Table.Th>}
            <Table.Th>{columns.changed}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((level) => (
            <Table.Tr key={level.location_id}>
              <Table.Th scope="row" fw={500}>
                {nameOf(level.location_id)}
              </Table.Th>
              <Table.Td className="quantity">{quantityText(level.quantity)}</Table.Td>
              {isNow && <Table.Td className="quantity">{reservedText(level)}</Table.Td>}
              {isNow && (
                <Table.Td className="quantity">
                  {quantityText(level.available_quantity ?? level.quantity)}
                </Table.Td>
              )}
              <Table.Td title={exactMomentText(level.updated_at)}>
                {agoText(level.updated_at)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
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
