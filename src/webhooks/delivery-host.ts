// What the process around them does for runners.

import type { Event } from '../events/pages.ts';
import type { PauseReason } from './contract.ts';
import type { CallOutcome } from './send.ts';

/** What was found of the journal: `through` says up to where all was judged. */
export interface FoundEvents {
  readonly events: readonly Event[];
  readonly through: number;
  readonly last: number;
}

/** What must be true when a call begins, as rows say that were read after its event was chosen. */
export type CallCheck =
  | { readonly kind: 'lost' }
  | { readonly kind: 'pause'; readonly reason: PauseReason }
  | {
      readonly kind: 'go';
      /** What may be read: another text, another reach. */
      readonly reach: string;
      call(event: Event): Promise<CallOutcome>;
      find(after: number, limit: number): Promise<FoundEvents>;
    };

/** What a runner needs of the process around it. */
export interface Host<Runner> {
  /** Now, in milliseconds since 1970. */
  now(): number;
  check(runner: Runner): Promise<CallCheck>;
  /** Whether one more call may begin. If not, the runner is run again when one may. */
  mayCall(runner: Runner): boolean;
  /** Told of the beginning of a call. Returns what is told of its end. */
  begin(runner: Runner): (outcome: CallOutcome) => void;
  /** The runner saves with its pause, and is lost then. */
  pause(runner: Runner): void;
  lose(runner: Runner): void;
  /** Its turn failed: it is run again a little later. */
  fail(runner: Runner, error: unknown): void;
}
