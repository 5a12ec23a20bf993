// Requests as bytes on connections that stay open: for tests that send many, or look at an answer
// to the last character. Each comes from another address, as far as a trusting service can tell.

import { Agent, type OutgoingHttpHeaders, request } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

let addresses = 0;

function nextAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

export class Sender {
  readonly #origin: string;
  readonly #agent: Agent;

  constructor(origin: string, connections = 8) {
    this.#origin = origin;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** The path is all of it, `/api/v1` included. */
  send(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders = {},
    body?: string,
  ): Promise<Reply> {
    const options = {
      agent: this.#agent,
      method,
      headers: {
        ...headers,
        'x-forwarded-for': nextAddress(),
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#origin}${path}`, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A reply without what differs from one to the next: the request ID, and when it was sent. */
export function sameness({ status, headers, text }: Reply): string {
  const { 'x-request-id': _, date: __, ...others } = headers;
  return JSON.stringify([status, others, text.replaceAll(/req_[0-9a-z]{26}/g, 'req_')]);
}
