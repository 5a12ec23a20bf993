// What was done, said for a moment: the page shows it, and screen readers say it.

import { useSyncExternalStore } from 'react';

export interface Notice {
  readonly id: number;
  readonly message: string;
}

const shownMs = 6_000;

let notices: readonly Notice[] = [];
let last = 0;
const listeners = new Set<() => void>();

function become(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

export function tell(message: string): void {
  last += 1;
  const id = last;
  become([...notices.slice(-2), { id, message }]);
  setTimeout(() => withdraw(id), shownMs);
}

export const withdraw = (id: number): void => become(notices.filter((one) => one.id !== id));

export function useNotices(): readonly Notice[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => notices,
  );
}
