// The rows of the stock, page by page, kept as they are now by what the feed tells.

import type { InventoryLevel, StockItem, StockListQuery } from '@tallybook/client';
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { tb } from '../../service/client.ts';
import { movementsOf, useEvents } from '../../service/live.tsx';

export type StockQuery = Pick<StockListQuery, 'location_id' | 'q' | 'sort' | 'low_stock' | 'as_of'>;

interface StockPage {
  readonly data: readonly StockItem[];
  readonly nextCursor: string | undefined;
}

type Known = InfiniteData<StockPage, string | undefined>;

/** A screen shows some 20 rows: the first page is small, so that it is there at once. */
const firstRows = 50;
const pageRows = 200;

/** More products than this in one event are read again with the list. */
const productsMax = 20;

export function useStock(query: StockQuery) {
  const queryKey = ['stock', query] as const;
  const found = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }): Promise<StockPage> => {
      const limit = cursor === undefined ? firstRows : pageRows;
      const { data, nextCursor } = await tb.stock.list({ ...query, limit, cursor }, { signal });
      return { data, nextCursor };
    },
    getNextPageParam: ({ nextCursor }: StockPage) => nextCursor,
    placeholderData: (before) => before,
  });
  useLiveLevels(queryKey);
  const { data, error, hasNextPage, isFetchingNextPage, isFetching, fetchNextPage, refetch } =
    found;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  const readMore = () => {
    if (!isFetchingNextPage && !isFetching) void fetchNextPage();
  };
  return {
    rows,
    error,
    isPending: found.isPending,
    refetch: () => void refetch(),
    /** Undefined: these are all. */
    more: hasNextPage ? readMore : undefined,
  };
}

/** Levels that changed are read and put into their rows; the list keeps its place. */
function useLiveLevels(queryKey: readonly ['stock', StockQuery]): void {
  const queries = useQueryClient();
  const [, { location_id, as_of }] = queryKey;
  const put = (levels: readonly InventoryLevel[]) => {
    const byProduct = new Map(levels.map((level) => [level.product_id, level]));
    queries.setQueriesData<Known>({ queryKey: ['stock', { location_id }] }, (known) =>
      known === undefined ? known : { ...known, pages: known.pages.map(pageWith(byProduct)) },
    );
  };
  useEvents((event) => {
    if (as_of !== undefined || !event.location_ids.includes(location_id)) return;
    const here = movementsOf(event).filter((one) => one.location_id === location_id);
    const products = new Set(here.map(({ product_id }) => product_id));
    const isKnown = products.size > 0 && products.size <= productsMax;
    if (!isKnown) return void queries.invalidateQueries({ queryKey });
    for (const id of products) {
      levelAt(id, location_id).then(put, () => queries.invalidateQueries({ queryKey }));
    }
  });
}

async function levelAt(product: string, location: string): Promise<InventoryLevel[]> {
  const found: InventoryLevel[] = [];
  for await (const level of tb.products.levels.list(product, { limit: 200 })) {
    if (level.location_id === location) found.push(level);
  }
  return found;
}

const pageWith =
  (levels: ReadonlyMap<string, InventoryLevel>) =>
  (page: StockPage): StockPage => ({
    ...page,
    data: page.data.map((row) => {
      const level = levels.get(row.product_id);
      if (level === undefined) return row;
      const { quantity, reserved_quantity, available_quantity, updated_at } = level;
      const { counted_at, counted_by } = level;
      const now = { quantity, reserved_quantity, available_quantity, updated_at };
      return { ...row, ...now, counted_at, counted_by };
    }),
  });
