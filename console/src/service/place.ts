// The location that somebody works at: in the address, and for the next visit in the browser.

import { useSearchParams } from 'react-router';
import { useLocations, useMe } from './me.tsx';

/** Undefined while locations are read; null: there is none. */
export function usePlace(): readonly [string | null | undefined, (id: string | null) => void] {
  const { person } = useMe();
  const locations = useLocations();
  const [search, setSearch] = useSearchParams();
  const kept = `tallybook:${person.id}:place`;
  const wanted = search.get('location') ?? localStorage.getItem(kept);
  const found = locations?.find(({ id }) => id === wanted) ?? locations?.[0];
  const choose = (id: string | null) => {
    if (id === null) return;
    localStorage.setItem(kept, id);
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('location', id);
      return after;
    });
  };
  return [locations === undefined ? undefined : (found?.id ?? null), choose];
}
