// A durable queue of writes. Each is stored with its key before it is sent, and sent until it is
// settled, across restarts. It is sent under one credential only: keys belong to the credential, so
// under another one the same sale would happen twice.

import { newKey, requestOf, shown } from './call.ts';
import { AuthenticationError, ConnectionError, RateLimitError, TallybookError } from './errors.ts';
import { type Lane, lanesOf, Occupied } from './lanes.ts';
import { routes, type Writes } from './operations.ts';
import type { OutboxEntry, OutboxStore } from './outbox-store.ts';
import type { Result } from './result.ts';
import { type Transport, waitBefore } from './transport.ts';

/** A batch has many outcomes, and each of its writes may be put here by itself. */
export type OutboxWrite = Exclude<keyof Writes, 'batches.submit'>;

export interface OutboxOptions {
  /**
   * What became of a write: a result, or a refusal. It is told before the entry is removed, and
   * told again after a restart if the process died meanwhile.
   */
  readonly onSettled?: (entry: OutboxEntry, outcome: Outcome) => void | Promise<void>;
  /** A write that is not sent any more, because it cannot succeed as it is. */
  readonly onParked?: (entry: OutboxEntry) => void;
}

export type Outcome =
  | { readonly result: Result<unknown, unknown>; readonly error?: undefined }
  | { readonly error: TallybookError; readonly result?: undefined };

export interface OutboxItem extends OutboxEntry {
  readonly state: 'waiting' | 'sending' | 'parked';
  /** Why it has not been settled yet. */
  readonly problem: Error | undefined;
}

interface Waiting {
  entry: OutboxEntry;
  readonly lanes: readonly Lane[];
  isStored: boolean;
  isSending: boolean;
  tries: number;
  /** By `performance.now()`. */
  notBefore: number;
  problem: Error | undefined;
}

interface Caller {
  readonly token: string;
  readonly credential: string;
}

const parallel = 4;
const otherCredentialMs = 10_000;

export class Outbox {
  readonly #transport: Transport;
  readonly #store: OutboxStore;
  readonly #options: OutboxOptions;
  readonly #ready: Promise<void>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #idle: (() => void)[] = [];
  #queue: Waiting[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The service does not answer, or not to this token: nothing is sent until then. */
  #pausedUntil = 0;
  #pauses = 0;
  #pauseReason: Error | undefined;
  #refused: string | undefined;
  #known: Caller | undefined;

  constructor(transport: Transport, store: OutboxStore, options: OutboxOptions = {}) {
    this.#transport = transport;
    this.#store = store;
    this.#options = options;
    this.#ready = this.#load();
    // Whoever calls next is told.
    this.#ready.catch(() => undefined);
  }

  /** Resolves when the write is stored; it may have been sent then, or not. */
  async put<Name extends OutboxWrite>(
    name: Name,
    ...args: Parameters<Writes[Name]>
  ): Promise<OutboxEntry> {
    const route = routes[name];
    const isWrite = /^(POST|PATCH) /.test(route) && !route.endsWith('/batches');
    if (!isWrite) throw new TypeError(`${name} is not a write that an outbox sends.`);
    const { request } = requestOf(route, args);
    await this.#ready;
    if (this.#closing.signal.aborted) throw new Error('The outbox is closed.');
    const addedAt = new Date().toISOString();
    const credential = this.#known?.credential ?? null;
    const entry = { id: newKey(), name, request, credential, addedAt, parked: null };
    const waiting = waitingOf(entry, false);
    this.#queue.push(waiting);
    try {
      await this.#store.add(entry);
      waiting.isStored = true;
    } catch (error) {
      this.#drop(waiting);
      throw error;
    } finally {
      this.#pump();
    }
    return entry;
  }

  /** Everything that is not settled, in order. */
  async entries(): Promise<readonly OutboxItem[]> {
    await this.#ready;
    return this.#queue.map(({ entry, isSending, problem }) => {
      const active = isSending ? 'sending' : 'waiting';
      return { ...entry, state: entry.parked === null ? active : 'parked', problem };
    });
  }

  /** Sends a parked write again, or one that waits, at once. */
  async retry(id: string): Promise<void> {
    const waiting = await this.#find(id);
    if (waiting.entry.parked !== null) await this.#replace(waiting, { parked: null });
    waiting.notBefore = 0;
    this.#pausedUntil = 0;
    this.#pump();
  }

  /** Gives a write up. It may have been done: then its operation stays. */
  async discard(id: string): Promise<void> {
    const waiting = await this.#find(id);
    await this.#store.remove(id);
    this.#drop(waiting);
    this.#pump();
  }

  /** Resolves when nothing but parked writes is left. */
  async idle(): Promise<void> {
    await this.#ready;
    if (this.#queue.some(({ entry }) => entry.parked === null)) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /** Sends nothing more. What is stored is sent by the next outbox on this store. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await Promise.all(this.#running);
  }

  async #load(): Promise<void> {
    const entries = await this.#store.all();
    this.#queue = entries.map((entry) => waitingOf(entry, true));
    this.#pump();
  }

  async #find(id: string): Promise<Waiting> {
    await this.#ready;
    const waiting = this.#queue.find(({ entry }) => entry.id === id);
    if (waiting === undefined) throw new Error(`The outbox has no entry ${id}.`);
    if (waiting.isSending) throw new Error(`The entry ${id} is being sent.`);
    return waiting;
  }

  /** Starts what may be sent now, and comes again when the next one may. */
  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    if (this.#queue.every(({ entry }) => entry.parked !== null)) {
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    const now = performance.now();
    const occupied = new Occupied();
    let next = Number.POSITIVE_INFINITY;
    for (const waiting of this.#queue) {
      if (this.#running.size >= parallel) return;
      const { entry, lanes, isSending, isStored } = waiting;
      if (entry.parked !== null) continue;
      const from = Math.max(waiting.notBefore, this.#pausedUntil);
      const isFree = isStored && !isSending && !occupied.has(lanes);
      occupied.add(lanes);
      if (isFree && from > now) next = Math.min(next, from);
      else if (isFree) this.#start(waiting);
    }
    if (next < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.#pump(), next - now + 1);
    }
  }

  #start(waiting: Waiting): void {
    waiting.isSending = true;
    const sending = this.#send(waiting).then(() => {
      waiting.isSending = false;
      this.#running.delete(sending);
      this.#pump();
    });
    this.#running.add(sending);
  }

  async #send(waiting: Waiting): Promise<void> {
    try {
      const caller = await this.#caller();
      const { entry } = waiting;
      if (caller !== undefined && (await this.#isOf(waiting, caller.credential))) {
        const outcome = await this.#attempt(waiting, caller.token);
        if (outcome !== undefined) await this.#settle(waiting, outcome);
        else if (waiting.entry.parked !== null) this.#options.onParked?.(waiting.entry);
      } else if (caller === undefined) waiting.problem = this.#pauseReason;
      else waiting.problem = new Error(`It is of ${entry.credential}, not ${caller.credential}.`);
    } catch (error) {
      // The store failed, or who is told of the outcome: the write itself may be done.
      this.#postpone(waiting, error);
    }
  }

  /** Who the token is, asked once for each: nothing is sent before that is known. */
  async #caller(): Promise<Caller | undefined> {
    const { signal } = this.#closing;
    let token = '';
    try {
      token = (await this.#transport.token(this.#refused, signal)) ?? '';
      if (this.#known?.token === token) return this.#known;
      const request = { method: 'GET', path: '/credential', headers: {} };
      const { body } = await this.#transport.attempt(request, token, undefined, signal);
      this.#known = { token, credential: (Object(body?.data) as { readonly id: string }).id };
      this.#refused = undefined;
      return this.#known;
    } catch (error) {
      this.#pause(error, token);
      return undefined;
    }
  }

  /** Whether the write may be sent under this credential. It is bound to the first one. */
  async #isOf(waiting: Waiting, credential: string): Promise<boolean> {
    if (waiting.entry.credential === null) await this.#replace(waiting, { credential });
    if (waiting.entry.credential === credential) return true;
    waiting.notBefore = performance.now() + otherCredentialMs;
    return false;
  }

  /** Nothing: it is kept, or parked. */
  async #attempt(waiting: Waiting, token: string): Promise<Outcome | undefined> {
    try {
      const { signal } = this.#closing;
      const { request } = waiting.entry;
      const answer = await this.#transport.attempt(request, token, undefined, signal);
      this.#pauses = 0;
      return { result: shown(answer) };
    } catch (error) {
      const verdict = error instanceof TallybookError ? verdictOn(error) : 'keep';
      if (error instanceof TallybookError && verdict === 'settled') return { error };
      waiting.problem = errorFrom(error);
      if (error instanceof TallybookError && verdict === 'park') await this.#park(waiting, error);
      else if (concernsAll(error)) this.#pause(error, token);
      else this.#postpone(waiting, error);
      return undefined;
    }
  }

  async #settle(waiting: Waiting, outcome: Outcome): Promise<void> {
    await this.#options.onSettled?.(waiting.entry, outcome);
    await this.#store.remove(waiting.entry.id);
    this.#drop(waiting);
  }

  #park(waiting: Waiting, error: TallybookError): Promise<void> {
    const { status = 0, code, message, details, requestId = null } = error;
    return this.#replace(waiting, { parked: { status, code, message, details, requestId } });
  }

  #postpone(waiting: Waiting, error: unknown): void {
    waiting.problem = errorFrom(error);
    waiting.tries += 1;
    const after = error instanceof TallybookError ? error.retryAfter : undefined;
    waiting.notBefore = performance.now() + waitBefore(waiting.tries, after);
  }

  #pause(error: unknown, token: string): void {
    this.#pauseReason = errorFrom(error);
    if (error instanceof AuthenticationError) {
      // Another token is asked for. Whose the writes are stays known.
      this.#refused = token;
      if (this.#known?.token === token) this.#known = { ...this.#known, token: '' };
    }
    // Those that were sent at the same time failed for the same reason.
    if (performance.now() < this.#pausedUntil) return;
    const after = error instanceof TallybookError ? error.retryAfter : undefined;
    this.#pausedUntil = performance.now() + waitBefore(this.#pauses, after);
    this.#pauses += 1;
  }

  async #replace(waiting: Waiting, change: Partial<OutboxEntry>): Promise<void> {
    const entry = { ...waiting.entry, ...change };
    await this.#store.replace(entry);
    waiting.entry = entry;
  }

  #drop(waiting: Waiting): void {
    this.#queue = this.#queue.filter((one) => one !== waiting);
  }
}

function waitingOf(entry: OutboxEntry, isStored: boolean): Waiting {
  const lanes = lanesOf(entry.request);
  return { entry, lanes, isStored, isSending: false, tries: 0, notBefore: 0, problem: undefined };
}

function errorFrom(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** A refusal that names its operation is bound to the key: it is the answer for ever. */
function verdictOn({ status = 0, code, operationId }: TallybookError): 'settled' | 'keep' | 'park' {
  const isOurs = code !== 'unexpected_answer';
  const mayPass = [401, 403, 408, 429].includes(status) || status >= 500 || status < 400;
  if (isOurs && operationId !== undefined && status < 500) return 'settled';
  return mayPass || !isOurs ? 'keep' : 'park';
}

/** The next write would meet the same. */
function concernsAll(error: unknown): boolean {
  const isGeneral =
    error instanceof ConnectionError ||
    error instanceof AuthenticationError ||
    error instanceof RateLimitError;
  return isGeneral || (error instanceof TallybookError && error.status === 503);
}
