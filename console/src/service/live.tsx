// What happens at the merchant while the page is looked at. Only a visible tab follows the feed,
// because a browser opens six connections to a service and no more.

import type { Event, InventoryEventData } from '@tallybook/client';
import { createContext, type ReactNode, useContext, useEffect, useRef } from 'react';
import { noteEnd, queries, tb } from './client.ts';
import { useMay } from './me.tsx';

type Listener = (event: Event) => void;

const Context = createContext<Set<Listener>>(new Set());

/** The movements that an event tells of. */
export function movementsOf(event: Event): InventoryEventData['movements'] {
  if (!event.type.startsWith('inventory.') || event.data === null) return [];
  return (event.data as InventoryEventData).movements;
}

/** What a list shows may have changed: it is read again when it is looked at. */
const touched: readonly (readonly [beginning: string, keys: readonly string[]])[] = [
  [
    'inventory.',
    ['movements', 'levels', 'reservations', 'counts', 'transfers', 'days', 'overview'],
  ],
  ['product.', ['products', 'product']],
  ['customer.', ['customers']],
  ['location.', ['locations']],
  ['', ['operations']],
];

function invalidate(types: ReadonlySet<string>): void {
  const keys = new Set(
    touched.flatMap(([beginning, names]) =>
      [...types].some((type) => type.startsWith(beginning)) ? names : [],
    ),
  );
  void queries.invalidateQueries({ predicate: ({ queryKey }) => keys.has(String(queryKey[0])) });
}

export function Live({ children }: { readonly children: ReactNode }) {
  const mayFollow = useMay('events.read');
  const listeners = useRef(new Set<Listener>());
  useEffect(() => {
    if (!mayFollow) return;
    let ended = new AbortController();
    const types = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const note = (event: Event) => {
      for (const listener of listeners.current) listener(event);
      types.add(event.type);
      // Many events at once are one look.
      timer ??= setTimeout(() => {
        timer = undefined;
        invalidate(types);
        types.clear();
      }, 400);
    };
    const look = () => {
      ended.abort();
      if (document.visibilityState !== 'visible') return;
      ended = new AbortController();
      follow(note, ended.signal).catch(noteEnd);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      clearTimeout(timer);
      ended.abort();
    };
  }, [mayFollow]);
  return <Context value={listeners.current}>{children}</Context>;
}

async function follow(note: Listener, signal: AbortSignal): Promise<void> {
  const place = await endOfJournal(signal);
  for await (const event of tb.events.subscribe({ ...place, signal })) note(event);
}

/** Any location knows it. Where there is none, little can have happened. */
async function endOfJournal(signal: AbortSignal) {
  const { data: locations } = await tb.locations.list({ limit: 1 }, { signal });
  const location_id = locations[0]?.id;
  if (location_id === undefined) return {};
  const { meta } = await tb.inventory.levels.list(
    { location_id, as_of: 'now', limit: 1 },
    { signal },
  );
  return { after: meta.as_of_position, journal: meta.journal };
}

/** Hears each event while the part is on the page. */
export function useEvents(listener: Listener): void {
  const listeners = useContext(Context);
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const hear: Listener = (event) => latest.current(event);
    listeners.add(hear);
    return () => void listeners.delete(hear);
  }, [listeners]);
}
