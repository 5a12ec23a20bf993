// Asks a deployment as one credential, without the client: a check sees each header and each byte.
// It waits out 429 as Retry-After says, and asks again after a lost connection or a gateway's
// hiccup, always with the same key: so neither a limit nor a slow proxy makes a check fail.

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, Agent as PlainAgent, request as plain } from 'node:http';
import { request as encrypted, Agent as TlsAgent } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Answer, Unmet } from './answer.ts';

export interface Ask {
  /** Of a write; otherwise a new one. Null: none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** Instead of the body: these bytes. */
  readonly bytes?: string | Buffer;
  /** Take what comes first, also 429 and 503. */
  readonly isOnce?: boolean;
}

/** A deployment that says nothing for so long is given up. Its own deadline is 10 s. */
const silenceMs = 45_000;
/** A limit of one request a minute is the slowest that a check meets. */
const patienceMs = 150_000;
const gatewayTries = 3;
const ofGateways = [502, 503, 504];

export const newKey = (): string => `check-${randomUUID()}`;

export class Caller {
  /** With the version, and no slash behind it. */
  readonly base: string;
  readonly token: string | undefined;
  readonly #agent: PlainAgent | TlsAgent;

  constructor(base: string, token: string | undefined, agent = agentOf(base)) {
    this.base = base;
    this.token = token;
    this.#agent = agent;
  }

  /** Over the same connections. */
  as(token: string | undefined): Caller {
    return new Caller(this.base, token, this.#agent);
  }

  get(path: string, query: Ask['query'] = {}, ask: Ask = {}): Promise<Answer> {
    return this.send('GET', path, undefined, { query, ...ask });
  }

  post(path: string, body: unknown, ask: Ask = {}): Promise<Answer> {
    return this.send('POST', path, body, ask);
  }

  patch(path: string, body: unknown, ask: Ask = {}): Promise<Answer> {
    return this.send('PATCH', path, body, ask);
  }

  async send(method: string, path: string, body: unknown, ask: Ask = {}): Promise<Answer> {
    const isWrite = method === 'POST' || method === 'PATCH';
    const key = ask.key === undefined && isWrite ? newKey() : ask.key;
    const bytes = ask.bytes ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers: Record<string, string> = {
      ...(this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` }),
      ...(key === undefined || key === null ? {} : { 'Idempotency-Key': key }),
      ...(bytes === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(bytes === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(bytes)) }),
    };
    for (const [name, value] of Object.entries(ask.headers ?? {})) {
      const same = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase());
      headers[same ?? name] = value;
    }
    const url = this.urlOf(path, ask.query);
    const once = () => this.exchange(method, url, headers, bytes);
    return ask.isOnce === true ? once() : persist(once, method, url);
  }

  /** A path from the slash, or a whole address. */
  urlOf(path: string, query: Ask['query'] = {}): string {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      for (const one of [value].flat()) words.append(name, one);
    }
    const search = words.size === 0 ? '' : `${path.includes('?') ? '&' : '?'}${words}`;
    return `${path.startsWith('http') ? '' : this.base}${path}${search}`;
  }

  /** One exchange. Nothing is unpacked: compression is looked at, too. */
  exchange(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    bytes: string | Buffer | undefined,
  ): Promise<Answer> {
    const started = performance.now();
    const ask = url.startsWith('https:') ? encrypted : plain;
    return new Promise((resolve, reject) => {
      const options = { method, headers, agent: this.#agent, timeout: silenceMs };
      const sent = ask(url, options, (response) => {
        answerOf(response, `${method} ${shortened(url)}`, started).then(resolve, reject);
      });
      sent.on('timeout', () => sent.destroy(new Error(`no answer came within ${silenceMs} ms`)));
      sent.on('error', reject);
      sent.end(bytes);
    });
  }
}

function agentOf(base: string): PlainAgent | TlsAgent {
  const options = { keepAlive: true, maxSockets: 64 };
  return base.startsWith('https:') ? new TlsAgent(options) : new PlainAgent(options);
}

async function answerOf(
  response: IncomingMessage,
  asked: string,
  started: number,
): Promise<Answer> {
  const bytes = await buffer(response);
  const headers: Record<string, string> = {};
  for (const [name, values = []] of Object.entries(response.headersDistinct)) {
    headers[name] = values.join(', ');
  }
  const milliseconds = performance.now() - started;
  return new Answer({ status: response.statusCode ?? 0, headers, bytes, milliseconds, asked });
}

async function persist(once: () => Promise<Answer>, method: string, url: string): Promise<Answer> {
  const end = performance.now() + patienceMs;
  for (let tries = 1; ; tries += 1) {
    const came = await once().catch((error: Error) => error);
    const isLast = performance.now() > end || tries >= gatewayTries;
    if (came instanceof Error) {
      if (isLast) throw new Unmet(`${method} ${shortened(url)} got no answer: ${came.message}`);
      await sleep(200 * tries);
    } else if (came.status === 429) {
      if (performance.now() > end) return came;
      // Without the header, as long as a limit takes to let somebody in again.
      await sleep(1_000 * Number(came.headers['retry-after'] ?? 2) + 50 * Math.random());
      tries -= 1;
    } else if (ofGateways.includes(came.status) && !isLast) {
      await sleep(1_000 * Number(came.headers['retry-after'] ?? 0.5));
    } else {
      return came;
    }
  }
}

function shortened(url: string): string {
  const { pathname, search } = new URL(url);
  const text = pathname.replace(/^\/api\/v\d+/, '') + search;
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
