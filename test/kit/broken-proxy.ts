// A proxy over HTTP that does to requests and answers what a test says: what proxies of merchants
// have been seen to do, and worse. It holds each message whole.

import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Passing {
  readonly method: string;
  path: string;
  /** By lower-case name. */
  readonly headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Passed {
  status: number;
  readonly headers: IncomingHttpHeaders;
  body: Buffer;
}

export type Fault = (asked: Passing, pass: (asked: Passing) => Promise<Passed>) => Promise<Passed>;

export class BrokenProxy {
  readonly origin: string;
  readonly #server: Server;
  readonly #service: string;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(server: Server, service: string, fault: Fault) {
    this.#server = server;
    this.#service = service;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (asked: IncomingMessage, answer: ServerResponse) => {
      this.#serve(asked, answer, fault).catch(() => answer.destroy());
    });
  }

  static async listen(service: string, fault: Fault): Promise<BrokenProxy> {
    const server = createServer({ maxHeaderSize: 64 * 1024 });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new BrokenProxy(server, service, fault);
  }

  close(): void {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse, fault: Fault): Promise<void> {
    const { method = '', url: path = '' } = asked;
    const headers = { ...asked.headers };
    const body = await buffer(asked);
    delete headers['transfer-encoding'];
    delete headers.connection;
    delete headers.expect;
    const passed = await fault({ method, path, headers, body }, (one) => this.#pass(one));
    delete passed.headers['transfer-encoding'];
    delete passed.headers.connection;
    if (method !== 'HEAD' && passed.status !== 304)
      passed.headers['content-length'] = String(passed.body.length);
    // Its clock would be told otherwise, where the service's was lost.
    answer.sendDate = passed.headers.date === undefined;
    answer.writeHead(passed.status, passed.headers).end(passed.body);
  }

  #pass({ method, path, headers, body }: Passing): Promise<Passed> {
    const own = { ...headers };
    if (body.length > 0) own['content-length'] = String(body.length);
    return new Promise((resolve, reject) => {
      const options = { method, headers: own, agent: this.#agent };
      const sent = request(`${this.#service}${path}`, options, (response) => {
        buffer(response).then((whole) => {
          const status = response.statusCode ?? 502;
          resolve({ status, headers: { ...response.headers }, body: whole });
        }, reject);
      });
      sent.on('error', reject).end(body);
    });
  }
}
