// Sends one request until it is answered: the same bytes with the same key each time, within a
// budget of time. Only what may succeed later is sent again.

import { AuthenticationError, ConnectionError, errorOf, TallybookError } from './errors.ts';
import type { CallOptions, ClientOptions } from './options.ts';

/** Plain data: an outbox stores it. */
export interface WireRequest {
  readonly method: string;
  /** Behind the base URL, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Nothing for 304. */
  readonly body:
    | { readonly data: unknown; readonly meta: Readonly<Record<string, string>> }
    | undefined;
}

/** A connection that stays silent for longer is given up: another one may work. */
const attemptMs = 20_000;
const firstWaitMs = 250;
const longestWaitMs = 10_000;

export class Transport {
  readonly #baseUrl: string;
  readonly #token: ClientOptions['token'];
  readonly #budgetMs: number;

  constructor({ baseUrl, token, budgetMs = 60_000 }: ClientOptions) {
    this.#baseUrl = new URL(baseUrl).href.replace(/\/+$/, '');
    this.#token = token;
    this.#budgetMs = budgetMs;
  }

  /** @throws TallybookError when it was refused, or not answered in time. */
  send(
    request: WireRequest,
    { signal, budgetMs = this.#budgetMs }: CallOptions,
  ): Promise<WireAnswer> {
    let refused: string | undefined;
    return persist(budgetMs, signal, async (leftMs) => {
      const token = await this.token(refused, signal);
      try {
        return await this.attempt(request, token, leftMs, signal);
      } catch (error) {
        // A token may end sooner than it said: one other is tried.
        if (!(error instanceof AuthenticationError) || refused !== undefined) throw error;
        refused = token;
        const other = await this.token(refused, signal);
        if (other === token) throw error;
        return this.attempt(request, other, leftMs, signal);
      }
    });
  }

  async token(refused?: string, signal?: AbortSignal): Promise<string> {
    if (typeof this.#token === 'string') return this.#token;
    const asked = this.#token(refused);
    return signal === undefined ? asked : unlessAborted(signal, Promise.resolve(asked));
  }

  /** Once, under this token. */
  attempt(
    { method, path, headers, body }: WireRequest,
    token: string,
    leftMs = attemptMs,
    signal?: AbortSignal,
  ): Promise<WireAnswer> {
    return exchange(
      this.#baseUrl + path,
      // A redirect would make a GET of a write.
      {
        method,
        headers: { ...headers, authorization: `Bearer ${token}` },
        body: body ?? null,
        redirect: 'manual',
      },
      leftMs,
      signal,
    );
  }
}

/** One request with its whole answer. */
export async function exchange(
  url: string,
  init: RequestInit,
  leftMs: number,
  signal?: AbortSignal,
): Promise<WireAnswer> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, Math.min(leftMs, attemptMs));
  signal?.addEventListener('abort', abort);
  try {
    const response = await fetch(url, { ...init, signal: controller.signal });
    const { status, headers } = response;
    const body = parse(await response.text());
    if (status === 304) return { status, headers, body: undefined };
    if (!response.ok || body === undefined) throw errorOf(status, headers, body);
    return { status, headers, body };
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof TallybookError) throw cause;
    const message = `No answer came from ${new URL(url).origin}.`;
    throw new ConnectionError({ code: 'connection_lost', message, retryable: true, cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function parse(text: string): WireAnswer['body'] {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    // Cut off, or not of the service.
    return undefined;
  }
}

/** Tries until it succeeds, is refused for good, or the time is over. */
export async function persist<Done>(
  budgetMs: number,
  signal: AbortSignal | undefined,
  attempt: (leftMs: number) => Promise<Done>,
): Promise<Done> {
  const end = performance.now() + budgetMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt(end - performance.now());
    } catch (error) {
      if (!(error instanceof TallybookError) || !error.retryable) throw error;
      const wait = waitBefore(tries, error.retryAfter);
      if (performance.now() + wait >= end) throw error;
      await sleep(wait, signal);
    }
  }
}

/** Full jitter: clients that failed together do not come back together. */
export function waitBefore(tries: number, retryAfter = 0): number {
  const most = Math.min(longestWaitMs, firstWaitMs * 2 ** tries);
  return retryAfter * 1000 + Math.random() * most;
}

function unlessAborted<Done>(signal: AbortSignal, work: Promise<Done>): Promise<Done> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    const end = () => signal.removeEventListener('abort', abort);
    work.then(resolve, reject).finally(end).catch(end);
  });
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort);
  });
}
