// How the level of a product at one location came about: a chart, and the movements it is made of.

import { Button, Card, Group, Text, Title } from '@mantine/core';
import type { InventoryMovement, Product } from '@tallybook/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { LocationSelect } from '../../parts/location-select.tsx';
import { useAsOf } from '../../service/as-of.ts';
import { tb } from '../../service/client.ts';
import { usePlace } from '../../service/place.ts';
import { texts } from '../../texts.ts';
import { useLevels } from './levels.tsx';
import { MovementTable } from './movement-table.tsx';
import { Reservations } from './reservations.tsx';
import { StepChart } from './step-chart.tsx';

const words = texts.product;

/** So many are in the chart; the table shows fewer at a time. */
const pageSize = 100;
const rowsShown = 15;

export function History({ product }: { readonly product: Product }) {
  const { data: levels } = useLevels(product.id);
  const [place, choose] = usePlace();
  const [chosen, setChosen] = useState<string>();
  // Where it never was there is nothing to tell.
  const first = levels?.some(({ location_id }) => location_id === place)
    ? place
    : (levels?.[0]?.location_id ?? place);
  const location = chosen ?? first;
  if (levels === undefined || typeof location !== 'string') return null;
  return (
    <Card withBorder component="section" aria-labelledby="product-history">
      <Group justify="space-between" align="flex-end" mb="sm">
        <Title order={2} id="product-history">
          {words.history}
        </Title>
        <LocationSelect
          value={location}
          onChange={(id) => {
            setChosen(id ?? undefined);
            choose(id);
          }}
        />
      </Group>
      <HistoryAt key={location} product={product} location={location} />
    </Card>
  );
}

interface AtProps {
  readonly product: Product;
  readonly location: string;
}

function HistoryAt({ product, location }: AtProps) {
  const { moment } = useAsOf();
  const [shown, setShown] = useState(rowsShown);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useMovements(
    product.id,
    location,
  );
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const movements = data.pages.flatMap((page) => page.data);
  if (movements.length === 0) return <Text size="sm">{words.noHistory}</Text>;
  const showMore = () => {
    const next = shown + pageSize / 2;
    setShown(next);
    if (next > movements.length && hasNextPage) void fetchNextPage();
  };
  return (
    <>
      <StepChart movements={movements} until={moment} unit={product.unit.code} />
      {moment === undefined && <Reservations product={product} location={location} />}
      <MovementTable movements={movements.slice(0, shown)} />
      {(shown < movements.length || hasNextPage) && (
        <Group justify="center" mt="sm">
          <Button variant="default" loading={isFetchingNextPage} onClick={showMore}>
            {texts.more}
          </Button>
        </Group>
      )}
    </>
  );
}

interface MovementPage {
  readonly data: readonly InventoryMovement[];
  readonly nextCursor: string | undefined;
}

function useMovements(product_id: string, location_id: string) {
  const { moment } = useAsOf();
  const before = moment === undefined ? {} : { recorded_before: moment };
  const query = { product_id, location_id, ...before, limit: pageSize };
  return useInfiniteQuery({
    queryKey: ['movements', 'product', query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }): Promise<MovementPage> => {
      const { data, nextCursor } = await tb.inventory.movements.list(
        { ...query, cursor },
        { signal },
      );
      return { data, nextCursor };
    },
    getNextPageParam: ({ nextCursor }: MovementPage) => nextCursor,
  });
}
