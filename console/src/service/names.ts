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
    queryFn: () => productOf(id ?? ''),
  });
  return data ?? undefined;
}

interface Awaited {
  readonly id: string;
  resolve(product: Product | null): void;
  reject(error: unknown): void;
}

/** What the service takes in one request. */
const together = 100;

const waiting: Awaited[] = [];

/** Those that are asked for at one moment, as by the rows of a list, are one request. */
function productOf(id: string): Promise<Product | null> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setTimeout(() => ask(waiting.splice(0)));
    waiting.push({ id, resolve, reject });
  });
}

function ask(all: readonly Awaited[]): void {
  for (let from = 0; from < all.length; from += together) {
    const some = all.slice(from, from + together);
    tb.products.list({ id: some.map(({ id }) => id), limit: together }).then(
      ({ data }) => {
        const byId = new Map(data.map((product) => [product.id, product]));
        for (const { id, resolve } of some) resolve(byId.get(id) ?? null);
      },
      (error: unknown) => {
        for (const { reject } of some) reject(error);
      },
    );
  }
}

export function useLocationName(): (id: string | null) => string {
  const locations = useLocations();
  return (id) => {
    if (id === null) return texts.outside;
    return locations?.find((location) => location.id === id)?.name ?? id;
  };
}
