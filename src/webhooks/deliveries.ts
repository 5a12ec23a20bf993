// The deliveries of all cells, as one.

import type { Standing } from './delivery-store.ts';

export interface Deliveries {
  /** Begins no call from now on, and gives those under way so long (ms). */
  stop(patience: number): Promise<void>;
  /** The state of all webhooks, on all nodes. */
  standing(): Promise<Standing>;
}

export function sumOf(parts: readonly Standing[]): Standing {
  const paused: Record<string, number> = {};
  for (const [reason, count] of parts.flatMap((part) => Object.entries(part.paused))) {
    paused[reason] = (paused[reason] ?? 0) + count;
  }
  return {
    paused,
    retries: parts.reduce((total, part) => total + part.retries, 0),
    lag: Math.max(...parts.map((part) => part.lag)),
  };
}
