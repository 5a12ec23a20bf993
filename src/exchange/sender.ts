// What becomes of rows, whichever way they are sent, and what an answer says of it.

import type { Tallybook } from '@tallybook/client';
import type { Chunk } from './chunks.ts';

/** How some rows are sent, where this cannot be known from the file alone. */
export interface Plan {
  /** What was found for each row; null: nothing. */
  readonly ids: readonly (string | null)[];
  /** Rows of a count that were refused, by their place, with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** A count without its refused lines is another request, with a key of its own. */
  readonly attempt?: number;
}

export type RowOutcome =
  | {
      readonly kind: 'created' | 'changed' | 'unchanged';
      /** What became of a level. */
      readonly text?: string;
    }
  | { readonly kind: 'refused'; readonly reason: string };

export interface Sending {
  readonly tb: Tallybook;
  readonly signal: AbortSignal;
}

export interface Sender {
  /** What has to be kept before the rows are sent; undefined when the file says all. */
  plan(chunk: Chunk): Promise<Plan | undefined>;
  /**
   * Sends them until each is settled: one outcome for each. The same rows with the same plan are
   * the same requests.
   * @param keep puts another plan in the place of the first, before it is carried out.
   */
  send(
    chunk: Chunk,
    plan: Plan | undefined,
    keep: (plan: Plan) => Promise<void>,
  ): Promise<RowOutcome[]>;
}

interface Refusal {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** Why, for a person. */
export function reasonOf({ code, message, details }: Refusal): string {
  const list = Array.isArray(details) ? (details as readonly Refusal[]) : [];
  const parts = list.map((one) =>
    `${String(Object(one).field ?? '')} ${String(one.message)}`.trim(),
  );
  return parts.length > 0
    ? `${String(code)}: ${parts.join('; ')}`
    : `${String(code)}: ${String(message)}`;
}
