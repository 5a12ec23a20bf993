// A receiver of webhooks on this machine. Each check has a path of its own, so that it sees only
// what is sent to it.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface HookCall {
  readonly headers: IncomingHttpHeaders;
  /** Byte for byte. */
  readonly bytes: Buffer;
}

export interface Hook {
  readonly url: string;
  readonly calls: HookCall[];
  /** What a call is answered with. */
  statusOf: (call: HookCall) => number;
}

export class Receiver {
  readonly #server: Server;
  readonly #origin: string;
  readonly #hooks = new Map<string, Hook>();

  private constructor(server: Server, url: string | undefined) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.#origin = (url ?? `http://127.0.0.1:${port}`).replace(/\/+$/, '');
    // What comes under a longer path went through something that added to it.
    server.on('request', (request, response) => {
      const name = request.url?.split('/').at(-1) ?? '';
      const hook = this.#hooks.get(name);
      void buffer(request).then(
        (bytes) => {
          const call = { headers: request.headers, bytes };
          hook?.calls.push(call);
          response.writeHead(hook?.statusOf(call) ?? 404).end();
        },
        () => undefined,
      );
    });
    // It keeps no run from ending.
    server.unref();
  }

  /** @param url what leads here; otherwise the own address. */
  static async listen(port: number, url: string | undefined): Promise<Receiver> {
    const server = createServer();
    // Who names an address of this machine has something that comes in from elsewhere.
    const host = url === undefined ? '127.0.0.1' : '0.0.0.0';
    await once(server.listen(port, host), 'listening');
    return new Receiver(server, url);
  }

  hook(name: string): Hook {
    const hook: Hook = { url: `${this.#origin}/${name}`, calls: [], statusOf: () => 204 };
    this.#hooks.set(name, hook);
    return hook;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
