// A receiver of webhooks, as a merchant would run one: it verifies what comes with the library, and
// answers as it is told.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, vi } from 'vitest';
import type { Answer } from './api.ts';

type Body = Answer['body'];

/** A call, as it came. */
export interface Received {
  readonly id: string;
  readonly position: number;
  /** Byte for byte. */
  readonly text: string;
  readonly event: Body;
  readonly headers: Readonly<Record<string, string>>;
  /** By `performance.now()`. */
  readonly at: number;
}

type Reply = number | ((request: IncomingMessage, response: ServerResponse, one: Received) => void);

export class Receiver {
  readonly url: string;
  readonly calls: Received[] = [];
  /** What it answers: a status, or by hand. */
  answer: Reply = 204;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    // What comes to another path is for whoever had the port before.
    const path = `/${randomUUID()}`;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    server.on('request', (request, response) => {
      if (request.url?.startsWith(path)) void this.#take(request, response);
      else response.writeHead(404).end();
    });
  }

  static async listen(answer: Reply = 204): Promise<Receiver> {
    const server = createServer();
    server.keepAliveTimeout = 60_000;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return Object.assign(new Receiver(server), { answer });
  }

  /** How often each position came. */
  counts(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const { position } of this.calls) counts.set(position, (counts.get(position) ?? 0) + 1);
    return counts;
  }

  positions(): number[] {
    return [...this.counts().keys()].sort((a, b) => a - b);
  }

  /** Waits until it was called so often, or until what is said of it is true. */
  async until(wanted: number | ((receiver: this) => boolean), timeout = 10_000): Promise<void> {
    const isThere = typeof wanted === 'number' ? () => this.calls.length >= wanted : wanted;
    await vi.waitFor(() => expect(isThere(this), `${this.calls.length} calls`).toBe(true), {
      timeout,
      interval: 10,
    });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const text = Buffer.concat(chunks).toString('utf8');
    const event = JSON.parse(text);
    const headers = request.headers as Record<string, string>;
    const one = { id: headers['webhook-id'] ?? '', position: Number(event.position), text, event };
    const received = { ...one, headers, at };
    this.calls.push(received);
    const { answer } = this;
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(request, response, received);
  }
}

/** The same event, or an error: as a receiver that uses the library has it. */
export function verified({ text, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(text, headers);
}
