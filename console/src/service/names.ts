// What things are called that others name by their ID.

import type { Product } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { texts } from '../texts.ts';
import { tb } from './client.ts';
import { useLocations, useMay } from './me.tsx';

/** Undefined while it is read, and where nobody may know. */
export function useProduct(id: string | undefined): Product | undefined {
  const mayRead = useMay('products.read');
  const { data } = useQuery({
    queryKey: ['product', 'name', id],
    enabled: id !== undefined && mayRead,
    staleTime: 300_000,
    queryFn: async ({ signal }) => (await tb.products.get(id ?? '', { signal })).data,
  });
  return data;
}

export function useLocationName(): (id: string | null) => string {
  const locations = useLocations();
  return (id) => {
    if (id === null) return texts.outside;
    return locations?.find((location) => location.id === id)?.name ?? id;
  };
}
