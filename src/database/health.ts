// What is known of a server by its connections: which of them still work, and whether it is only
// slow or in trouble.

import type pg from 'pg';
import { limits } from '../core/limits.ts';
import type { DatabaseFailure } from '../core/statement.ts';
import type { Entrance } from './cells.ts';
import type { Sharing } from './pooler.ts';
import { Primary } from './primary.ts';

/** What the connections of a server have in common. */
export interface HealthOptions {
  /** Called with each failure of the server. */
  readonly onError?: (failure: DatabaseFailure) => void;
  /** How long to wait for a connection, in milliseconds; otherwise as a service does. */
  readonly acquireTimeout?: number;
}

/**
 * Which connections still work, as far as is known. A network that drops one connection without
 * closing it has most likely dropped the idle ones, too. So after one time-out, connections without
 * an answer since then are not used any more. Otherwise each of them costs a request 4 s and a 503.
 */
export class ConnectionHealth {
  /** The cell that the last read on a connection entered. */
  readonly cells = new WeakMap<pg.ClientBase, string>();
  readonly sharing: Sharing;
  readonly entrance: Entrance;
  readonly primary = new Primary();
  readonly #onError: (failure: DatabaseFailure) => void;
  readonly #answeredAt = new WeakMap<pg.ClientBase, number>();
  readonly #short: number;
  readonly #long: number;
  #lastAnswerAt = 0;
  #troubleAt = 0;
  #silentAt = 0;

  constructor(options: HealthOptions, sharing: Sharing, entrance: Entrance) {
    const { onError = () => undefined, acquireTimeout = limits.poolAcquireTimeout } = options;
    this.#onError = onError;
    this.#short = acquireTimeout;
    this.#long = Math.max(acquireTimeout, limits.connectionOpenTimeout);
    this.sharing = sharing;
    this.entrance = entrance;
  }

  report(failure: DatabaseFailure): void {
    if (failure.kind === 'lost') this.primary.noteLoss();
    if (failure.kind === 'lost' || failure.kind === 'away') this.#troubleAt = performance.now();
    this.#onError(failure);
  }

  /** Of a failure that is not the server's, such as that no connection came free in time. */
  reportOwn(failure: DatabaseFailure): void {
    this.#onError(failure);
  }

  noteOpen(client: pg.ClientBase): void {
    this.#answeredAt.set(client, performance.now());
  }

  noteAnswer(client: pg.ClientBase): void {
    this.#lastAnswerAt = performance.now();
    this.#answeredAt.set(client, this.#lastAnswerAt);
  }

  noteSilence(): void {
    this.#silentAt = performance.now();
  }

  isTrusted(client: pg.ClientBase): boolean {
    if (this.primary.isOver(client)) return false;
    return (this.#answeredAt.get(client) ?? 0) >= this.#silentAt;
  }

  /** How long (ms) one that has just been opened may take for its first answers. */
  get lookTimeout(): number {
    return this.#isWell ? this.#long : this.#short;
  }

  /**
   * Limits the wait for a connection. A busy machine takes seconds to open one, and giving up then
   * makes it busier. But behind a proxy an opening that leads to a server that has died hangs, and
   * the sooner it is given up the sooner the next one leads to the server that took over. So the
   * wait is long only while nothing has been wrong: after a loss it is short until an answer came.
   * @param isOpening whether a connection is being opened; otherwise all are in use for too long.
   * @returns what ends the limit.
   */
  limitWait(giveUp: () => void, isOpening: () => boolean = () => true): () => void {
    const since = performance.now();
    const wasWell = this.#isWell;
    let timer = setTimeout(() => {
      const isSlow = wasWell && this.#troubleAt < since && isOpening();
      if (isSlow) timer = setTimeout(giveUp, this.#long - this.#short).unref();
      else giveUp();
    }, this.#short).unref();
    return () => clearTimeout(timer);
  }

  get #isWell(): boolean {
    return this.#lastAnswerAt >= this.#troubleAt;
  }
}
