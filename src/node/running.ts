// A started node, as those see it who start and end it: one process, or a main one with workers.

import type { Service } from '../app.ts';
import type { Store } from '../database/open.ts';

/** A started service. */
export interface Running {
  readonly url: string;
  readonly store: Store;
  readonly service: Service;
  /** Finishes what was accepted, then ends everything. Resolves when all is stopped. */
  stop(): Promise<void>;
  /**
   * Waits for nothing, but tells the private server to end. End the process at once afterwards;
   * clients of requests under way retry with the same keys.
   */
  abandon(): Promise<void>;
  /** Replaces the workers one by one, while the others serve. Undefined: there are none. */
  readonly replace?: () => Promise<void>;
}

export interface StartOptions {
  /** Of the log, for the metrics. */
  readonly linesLost?: () => number;
  /** Ends the start: it throws then. */
  readonly signal?: AbortSignal;
  /** Done when the service listens, before it says that it is ready. */
  readonly beforeReady?: (running: Running) => Promise<void>;
}
