// Stands between a client and a service, and does to each request what a test says: passes it on,
// cuts the connection after so many bytes of the request or of the answer, answers in its place, or
// holds the answer back. Each request has a connection of its own.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export type Fate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'cut request' | 'cut answer'; readonly after: number }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | { readonly kind: 'slow'; readonly ms: number };

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** By `performance.now()`. */
  readonly at: number;
}

export const pass: Fate = { kind: 'pass' };

export class FaultProxy {
  /** What came, in the order in which it came. */
  readonly seen: Seen[] = [];
  /** Decides on the n-th request, from 0. */
  fateOf: (n: number, seen: Seen) => Fate = () => pass;
  readonly origin: string;
  readonly #server: Server;
  readonly #service: URL;

  private constructor(server: Server, service: string) {
    this.#server = server;
    this.#service = new URL(service);
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request: IncomingMessage) => {
      // A client may go at any time.
      this.#serve(request).catch(() => request.socket.destroy());
    });
  }

  static async listen(service: string): Promise<FaultProxy> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new FaultProxy(server, service);
  }

  get baseUrl(): string {
    return `${this.origin}/api/v1`;
  }

  /** These fates first, then everything passes. */
  script(...fates: readonly Fate[]): void {
    const start = this.seen.length;
    this.fateOf = (n) => fates[n - start] ?? pass;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage): Promise<void> {
    const { method = '', url: path = '', headers, socket } = request;
    const one = { method, path, headers, at: performance.now() };
    this.seen.push(one);
    const fate = this.fateOf(this.seen.length - 1, one);
    const body = await buffer(request);
    if (fate.kind === 'answer') {
      const { status, body: text = '' } = fate;
      const own = { connection: 'close', 'content-length': `${text.length}`, ...fate.headers };
      socket.end(`HTTP/1.1 ${status} Made Up\r\n${linesOf(own)}\r\n${text}`);
      return;
    }
    const head = { ...headers, host: this.#service.host, connection: 'close' };
    const whole = Buffer.concat([
      Buffer.from(`${method} ${path} HTTP/1.1\r\n${linesOf(head)}\r\n`),
      body,
    ]);
    const isCut = fate.kind === 'cut request';
    const upstream = connect(Number(this.#service.port), this.#service.hostname);
    upstream.on('error', () => socket.destroy());
    // The connection stays open until the service has what it gets.
    if (isCut) upstream.end(whole.subarray(0, fate.after));
    else upstream.write(whole);
    const answer = await buffer(upstream);
    if (fate.kind === 'slow') await sleep(fate.ms);
    if (isCut) socket.destroy();
    else if (fate.kind !== 'cut answer') socket.end(answer);
    else socket.write(answer.subarray(0, fate.after), () => socket.destroy());
  }
}

function linesOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${String(value)}\r\n`)
    .join('');
}
