// The location that somebody works at: in the address, and for the next visit in the browser.

import { useAddress } from './address.ts';
import { useLocations, useMe } from './me.tsx';

/** Undefined while locations are read; null: there is none. */
export function usePlace(): readonly [string | null | undefined, (id: string | null) => void] {
  const { person } = useMe();
  const locations = useLocations();
  const address = useAddress();
  const kept = `tallybook:${person.id}:place`;
  const wanted = address.get('location') ?? localStorage.getItem(kept);
  const found = locations?.find(({ id }) => id === wanted) ?? locations?.[0];
  const choose = (id: string | null) => {
    if (id === null) return;
    localStorage.setItem(kept, id);
    address.set('location', id);
  };
  return [locations === undefined ? undefined : (found?.id ?? null), choose];
}
