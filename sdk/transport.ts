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
    if (!(budgetMs >= 0)) throw new TypeError(`budgetMs must be milliseconds, not ${budgetMs}.`);
    this.#baseUrl = addressOf(baseUrl);
    this.#token = typeof token === 'function' || token === null ? token : usable(token);
    this.#budgetMs = budgetMs;
  }

  get hasToken(): boolean {
    return this.#token !== null;
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
        const isNew = token !== null && refused === undefined;
        if (!(error instanceof AuthenticationError) || !isNew) throw error;
        refused = token;
        const other = await this.token(refused, signal);
        if (other === token) throw error;
        return this.attempt(request, other, leftMs, signal);
      }
    });
  }

  /** Null: a cookie says who calls. */
  async token(refused?: string, signal?: AbortSignal): Promise<string | null> {
    if (typeof this.#token !== 'function') return this.#token;
    const asked = Promise.resolve(this.#token(refused)).then(usable);
    return signal === undefined ? asked : unlessAborted(signal, asked);
  }

  /** Once, under this token. */
  attempt(
    { method, path, headers, body }: WireRequest,
    token: string | null,
    leftMs = attemptMs,
    signal?: AbortSignal,
  ): Promise<WireAnswer> {
    return exchange(
      this.#baseUrl + path,
      // A redirect would make a GET of a write.
      {
        method,
        headers: token === null ? headers : { ...headers, authorization: `Bearer ${token}` },
        body: body ?? null,
        redirect: 'manual',
      },
      leftMs,
      signal,
    );
  }
}

/** What is no address would be tried until the time is over, as if a network had failed. */
function addressOf(baseUrl: string): string {
  try {
    const { protocol, search, hash, href } = new URL(baseUrl);
    if (/^https?:$/.test(protocol) && search + hash === '') return href.replace(/\/+$/, '');
  } catch {
    // Told below.
  }
  const example = 'https://stock.example.com/api/v1';
  throw new TypeError(`baseUrl must be an address such as ${example}, and not ${baseUrl}.`);
}

/** So would a token that no header can carry. It is not shown: it may be right but for a blank. */
function usable(token: string): string {
  const trimmed = typeof token === 'string' ? token.trim() : '';
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  const found = trimmed === '' ? 'There is none.' : 'This one has blanks or other characters.';
  throw new TypeError(
    `The token must be a text as it was given to you (tb_pat_…), or a function. ${found}`,
  );
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
  const mostMs = Math.max(0, Math.min(leftMs, attemptMs));
  const timer = setTimeout(abort, mostMs);
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
    const isLate = controller.signal.aborted;
    const why = isLate ? `within ${(mostMs / 1000).toFixed(1)} s` : `(${reasonOf(cause, url)})`;
    const message = `No answer came from ${new URL(url).origin} ${why}.`;
    throw new ConnectionError({ code: 'connection_lost', message, retryable: true, cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Browsers say of an answer that a page may not read the same as of none. */
function reasonOf(cause: unknown, url: string): string {
  const { location } = globalThis as { readonly location?: { readonly origin?: string } };
  const isForeign = location?.origin !== undefined && location.origin !== new URL(url).origin;
  const hint = isForeign ? `; a page of ${location.origin} may call its own origin only` : '';
  const { message, cause: inner } = Object(cause);
  return `${Object(inner).message ?? message ?? cause}${hint}`.trim();
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
  // An attempt that is cut off at once would tell less than the one before it.
  const leastMs = Math.min(1_000, budgetMs / 10);
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt(end - performance.now());
    } catch (error) {
      if (!(error instanceof TallybookError) || !error.retryable) throw error;
      const wait = waitBefore(tries, error.retryAfter);
      if (performance.now() + wait + leastMs >= end) throw error;
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
