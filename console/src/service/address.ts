// What a screen keeps in its address, so that reload, the back button and a link show the same.

import { useSearchParams } from 'react-router';

export interface Address {
  get(name: string): string | null;
  /** Null takes it away. */
  set(name: string, value: string | null): void;
}

export function useAddress(): Address {
  const [search, setSearch] = useSearchParams();
  return {
    get: (name) => search.get(name),
    set: (name, value) =>
      setSearch((before) => {
        const after = new URLSearchParams(before);
        if (value === null) after.delete(name);
        else after.set(name, value);
        return after;
      }),
  };
}
