// A list of the service, page by page.

import type { CallOptions } from '@tallybook/client';
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

interface PageRead<Item> {
  readonly data: readonly Item[];
  readonly nextCursor: string | undefined;
}

interface PageWanted {
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface PagesRead<Item> {
  readonly rows: readonly Item[];
  readonly isPending: boolean;
  readonly error: Error | null;
  /** Undefined: these are all. */
  readonly more: (() => void) | undefined;
  /** The next page is on its way. */
  readonly isMore: boolean;
  again(): void;
}

const pageRows = 50;

interface PagesOptions {
  /** For what no event tells: the list is read again after so long. */
  readonly againMs?: number;
}

export function usePages<Item>(
  queryKey: QueryKey,
  read: (page: PageWanted, options: CallOptions) => PromiseLike<PageRead<Item>>,
  { againMs }: PagesOptions = {},
): PagesRead<Item> {
  const found = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }): Promise<PageRead<Item>> => {
      const { data, nextCursor } = await read({ limit: pageRows, cursor }, { signal });
      return { data, nextCursor };
    },
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: (before) => before,
    refetchInterval: againMs ?? false,
  });
  const { data, isFetchingNextPage, fetchNextPage, refetch } = found;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  return {
    rows,
    isPending: found.isPending,
    error: found.error,
    more: found.hasNextPage ? () => void fetchNextPage() : undefined,
    isMore: isFetchingNextPage,
    again: () => void refetch(),
  };
}
