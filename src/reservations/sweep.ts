// Tells what has expired: what one process does for the reservations of all merchants. Nothing
// depends on it but the feed, and how many lines a level is judged with. Nodes may do the same at
// once: the key is made of the reservation, so it is told once.

import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import type { Reader } from '../core/statement.ts';
import { findDue } from './store.ts';

interface SweepTools {
  /** Of all merchants. */
  readonly reader: Reader;
  /** Performs `inventory.expire` once. @throws Problem */
  expire(merchant: string, reservation: string, key: string): Promise<unknown>;
  onError(error: unknown): void;
}

export class Sweep {
  readonly #tools: SweepTools;
  readonly #stopped = new AbortController();
  #rounds: Promise<void> | undefined;

  constructor(tools: SweepTools) {
    this.#tools = tools;
  }

  start(): void {
    this.#rounds ??= this.#goRound();
  }

  /** Begins nothing from now on, and resolves when what was begun has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#rounds;
  }

  async #goRound(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const swept = await this.#round().catch((error: unknown) => this.#failed(error));
      if (swept === limits.sweptTogether) continue;
      await sleep(limits.sweepInterval, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** How many have been told. */
  async #round(): Promise<number> {
    const { reader, expire } = this.#tools;
    const due = await reader.query(findDue(limits.sweptTogether));
    const outcomes = await Promise.allSettled(
      due.map(({ merchant_id, id }) => expire(merchant_id, id, keyOf(id))),
    );
    const errors = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    const failed = errors.filter((error) => !isEnded(error));
    if (failed.length > 0) this.#failed(failed[0]);
    return outcomes.length - failed.length;
  }

  #failed(error: unknown): number {
    this.#tools.onError(error);
    return 0;
  }
}

/** Somebody has ended it meanwhile. */
const isEnded = (error: unknown) =>
  error instanceof Problem && error.code === 'reservation_not_active';

const keyOf = (reservation: string) => `expiry-of-${reservation}`;
