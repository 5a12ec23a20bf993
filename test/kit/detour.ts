// A way to a database that may lead to another one from one moment to the next.

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Detour {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #url: URL;

  private constructor(url: string) {
    this.#url = new URL(url);
    this.#server = createServer((client) => this.#bridge(client));
  }

  static async to(url: string): Promise<Detour> {
    const detour = new Detour(url);
    await once(detour.#server.listen(0, '127.0.0.1'), 'listening');
    return detour;
  }

  /** What reaches through it a database of this name and role. */
  through(url: string): string {
    const other = new URL(url);
    other.searchParams.delete('host');
    const address = this.#server.address();
    other.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    return other.toString();
  }

  /** Leads elsewhere from now on; connections are cut. */
  turnTo(url: string): void {
    this.#url = new URL(url);
    for (const socket of this.#open) socket.destroy();
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
  }

  #bridge(client: Socket): void {
    const { searchParams, hostname, port } = this.#url;
    const folder = searchParams.get('host');
    const path = { path: `${folder}/.s.PGSQL.5432` };
    const server = connect(folder === null ? { host: hostname, port: Number(port) } : path);
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) {
      this.#open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        server.destroy();
        this.#open.delete(socket);
      });
    }
  }
}
