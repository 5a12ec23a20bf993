// Who is signed in, and what this person may do. The service judges each request by itself; the
// page only hides what would be refused.

import type { Credential, Location } from '@tallybook/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { queries, tb } from './client.ts';
import type { Session } from './session.ts';

export type Scope = Credential['scopes'][number];

export interface Me extends Session {
  readonly scopes: ReadonlySet<Scope>;
  readonly allLocations: boolean;
}

const Context = createContext<Me | undefined>(undefined);

export function MeProvider({ me, children }: { readonly me: Me; readonly children: ReactNode }) {
  return <Context value={me}>{children}</Context>;
}

export function useMe(): Me {
  const me = useContext(Context);
  if (me === undefined) throw new Error('nobody is signed in');
  return me;
}

export const useMay = (scope: Scope): boolean => useMe().scopes.has(scope);

const locations = queryOptions({
  queryKey: ['locations', 'all'],
  staleTime: 60_000,
  queryFn: async ({ signal }) => {
    const found: Location[] = [];
    for await (const location of tb.locations.list({ limit: 200 }, { signal }))
      found.push(location);
    return found.sort((a, b) => a.name.localeCompare(b.name));
  },
});

/** The locations that this person works at, by name. A merchant has few. */
export function useLocations(): readonly Location[] | undefined {
  const { data } = useQuery(locations);
  return data;
}

/** Nearly every screen begins with them: they come while the first one is still loaded. */
export function expectLocations(): void {
  void queries.prefetchQuery(locations);
}

/** Everything that was read belongs to whoever read it. */
export function forgetAll(): void {
  queries.clear();
}
