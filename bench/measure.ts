// One measurement, the same shape whoever drove it, and the arithmetic on several of them.

export interface Measured {
  /** Completed within the window. */
  readonly requests: number;
  /** The length of the window. */
  readonly seconds: number;
  /** Completed at all, before and after the window included: what processor time is divided by. */
  readonly total: number;
  /** Movements recorded by what was completed. */
  readonly movements: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /**
   * Answers that were not 2xx, replays in the wrong place or missing in theirs, broken and silent
   * connections.
   */
  readonly errors: number;
  readonly firstError: string | undefined;
}

/** @param latencies in milliseconds, of the requests within the window, in any order. */
export function measured(
  latencies: Float64Array,
  counts: Pick<Measured, 'seconds' | 'total' | 'movements' | 'errors' | 'firstError'>,
): Measured {
  const sorted = latencies.slice().sort();
  return {
    requests: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    ...counts,
  };
}

/** The smallest value that at least this share of all is not above. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? 0) + high) / 2;
}

export function perSecond({ requests, seconds }: Measured): number {
  return seconds > 0 ? requests / seconds : 0;
}
