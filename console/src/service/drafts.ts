// What was typed and not settled yet. It is kept in the browser with the person it belongs to and
// the key of the write it will become, so a reload, a closed lid or a second tab sends the same
// write, and not another one.

import { newKey } from '@tallybook/client';
import { useCallback, useRef, useSyncExternalStore } from 'react';
import { useMe } from './me.tsx';

interface Stored<Value> {
  readonly value: Value;
  /** The Idempotency-Key that the write has, or will have. */
  readonly key: string;
  /** It was sent, and no answer has settled it: it can be sent again, but not changed. */
  readonly isSent: boolean;
}

export interface Draft<Value> extends Stored<Value> {
  /** Whether something was typed. */
  readonly isThere: boolean;
  /** Another value is another write. Ignored while it is sent. */
  change(value: Value): void;
  /** From now on the value stays, until it is settled or refused. */
  markSent(): Stored<Value>;
  /** It did not happen: it can be changed, and is sent under another key. */
  markRefused(): void;
  clear(): void;
}

const prefix = 'tallybook';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

/** A full storage loses the draft of a reload, not what stands on the page. */
const unsaved = new Map<string, string>();

function read(name: string): string | null {
  return unsaved.get(name) ?? localStorage.getItem(name);
}

function write(name: string, text: string | null): void {
  unsaved.delete(name);
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    if (text !== null) unsaved.set(name, text);
  }
  for (const listener of listeners) listener();
}

function parse<Value>(text: string | null): Stored<Value> | undefined {
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Stored<Value>;
  } catch {
    return undefined;
  }
}

/** A draft by its name; `empty` is what stands there before anything was typed. */
export function useDraft<Value>(name: string, empty: Value): Draft<Value> {
  const { person } = useMe();
  const place = `${prefix}:${person.id}:${name}`;
  const text = useSyncExternalStore(subscribe, () => read(place));
  // One key for as long as nothing is stored.
  const first = useRef<Stored<Value>>({ value: empty, key: newKey(), isSent: false });
  const stored = parse<Value>(text);
  const now = stored ?? { ...first.current, value: empty };
  const latest = () => parse<Value>(read(place)) ?? now;
  return {
    ...now,
    isThere: stored !== undefined,
    change: (value) => {
      const { key, isSent } = latest();
      if (!isSent) write(place, JSON.stringify({ value, key, isSent: false }));
    },
    markSent: () => {
      const sent = { ...latest(), isSent: true };
      write(place, JSON.stringify(sent));
      return sent;
    },
    markRefused: () => {
      const { value } = latest();
      write(place, JSON.stringify({ value, key: newKey(), isSent: false }));
    },
    clear: useCallback(() => {
      first.current = { ...first.current, key: newKey() };
      write(place, null);
    }, [place]),
  };
}
