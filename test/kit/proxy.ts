// Proxies between a service and its database. They speak TCP to the service, and to the server what
// its URL says: a Unix socket, or TCP as well. This one loses or alters exactly one message.

import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** What to do with bytes on their way to the database. */
export type ToDatabase = (bytes: Buffer) => Buffer;

/** Listens for a service, and opens a connection to the database for each of its own. */
export abstract class Relay {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #url: URL;

  constructor(databaseUrl: string) {
    this.#url = new URL(databaseUrl);
    this.#server = createServer((client) => {
      const database = connect(addressOf(this.#url));
      for (const socket of [client, database]) {
        this.#open.add(socket);
        socket.on('close', () => this.#open.delete(socket));
      }
      this.bridge(client, database);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this.url;
  }

  /** The database, as the service reaches it through here. */
  get url(): string {
    const address = this.#server.address();
    const url = new URL(this.#url);
    url.searchParams.delete('host');
    url.hostname = '127.0.0.1';
    url.port = typeof address === 'object' && address !== null ? String(address.port) : '';
    return url.toString();
  }

  /** Drops all connections. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Joins a connection of the service to one of the database. It listens for their errors. */
  protected abstract bridge(client: Socket, database: Socket): void;
}

export class DatabaseProxy extends Relay {
  /** Alters what the service sends. */
  toDatabase: ToDatabase = (bytes) => bytes;
  /** Holds back what the service sends, until the promise it gives resolves. */
  delay: (bytes: Buffer) => Promise<void> | undefined = () => undefined;
  /** Drops one connection instead of delivering the answer to a COMMIT that has taken place. */
  cutAfterCommit = false;
  /** Refuses new connections. */
  refuses = false;
  /** Connections that meet it stay silent for good, without being closed: a vanished host. */
  isHole = false;
  /** From the next cut on, new connections are refused. */
  refusesAfterCut = false;
  commitsCut = 0;

  protected override bridge(client: Socket, database: Socket): void {
    if (this.refuses) {
      client.destroy();
      database.destroy();
      return;
    }
    let hasCommitted = false;
    let isSilent = false;
    const drop = () => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      socket.on('error', drop);
      socket.on('close', drop);
    }
    client.on('data', (bytes) => {
      isSilent ||= this.isHole;
      if (isSilent) return;
      hasCommitted ||= this.cutAfterCommit && bytes.includes('\0commit\0');
      const wait = this.delay(bytes);
      if (wait === undefined) database.write(this.toDatabase(bytes));
      else void wait.then(() => database.write(this.toDatabase(bytes)));
    });
    database.on('data', (bytes) => {
      isSilent ||= this.isHole;
      if (isSilent) return;
      if (!hasCommitted) {
        client.write(bytes);
      } else if (bytes.includes('COMMIT\0')) {
        this.commitsCut += 1;
        this.cutAfterCommit = false;
        this.refuses ||= this.refusesAfterCut;
        drop();
      }
    });
  }
}

function addressOf({ searchParams, hostname, port }: URL): NetConnectOpts {
  const directory = searchParams.get('host');
  if (directory !== null) return { path: `${directory}/.s.PGSQL.5432` };
  return { host: hostname, port: Number(port === '' ? 5432 : port) };
}
