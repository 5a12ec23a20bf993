// What was done, said for a moment: the page shows it, and screen readers say it.

import type { WriteOptions } from '@tallybook/client';
import { useSyncExternalStore } from 'react';

/** How what was done can be undone: by another write, which the ledger keeps beside the first. */
export interface Undo {
  readonly operation_id: string;
  write(options: WriteOptions): Promise<unknown>;
}

export interface Notice {
  readonly id: number;
  readonly message: string;
  readonly undo: Undo | undefined;
}

const shownMs = 6_000;
/** Whoever undoes reads first. */
const undoMs = 20_000;

let notices: readonly Notice[] = [];
let last = 0;
const timers = new Map<number, ReturnType<typeof setTimeout>>();
const listeners = new Set<() => void>();

function become(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

export function tell(message: string, undo?: Undo): void {
  last += 1;
  const id = last;
  become([...notices.slice(-2), { id, message, undo }]);
  const timer = setTimeout(() => withdraw(id), undo === undefined ? shownMs : undoMs);
  timers.set(id, timer);
}

/** It stays until somebody closes it. */
export const hold = (id: number): void => clearTimeout(timers.get(id));

export function withdraw(id: number): void {
  hold(id);
  timers.delete(id);
  become(notices.filter((one) => one.id !== id));
}

export function useNotices(): readonly Notice[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => notices,
  );
}
