// What an outbox keeps, and where: four methods are enough for any place that survives a restart.

import type { ErrorDetail } from './operations.ts';
import type { WireRequest } from './transport.ts';

export interface OutboxEntry {
  readonly id: string;
  /** The operation, such as `inventory.adjust`. */
  readonly name: string;
  /** With its key; without a token. */
  readonly request: WireRequest;
  /** Under whom it is sent, and under nobody else. Null: it was never sent. */
  readonly credential: string | null;
  readonly addedAt: string;
  /** Why it is not sent any more. */
  readonly parked: Parked | null;
}

export interface Parked {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
  readonly requestId: string | null;
}

/** Each promise is kept when what it says survives a loss of power. Entries are plain JSON. */
export interface OutboxStore {
  /** All entries in the order in which they were added. */
  all(): Promise<readonly OutboxEntry[]>;
  add(entry: OutboxEntry): Promise<void>;
  /** The entry of this ID, in its place. */
  replace(entry: OutboxEntry): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Survives nothing: for tests, and for who needs the retries only. */
export class MemoryStore implements OutboxStore {
  readonly #entries = new Map<string, OutboxEntry>();

  async all(): Promise<readonly OutboxEntry[]> {
    return [...this.#entries.values()];
  }

  async add(entry: OutboxEntry): Promise<void> {
    this.#entries.set(entry.id, entry);
  }

  async replace(entry: OutboxEntry): Promise<void> {
    this.#entries.set(entry.id, entry);
  }

  async remove(id: string): Promise<void> {
    this.#entries.delete(id);
  }
}
