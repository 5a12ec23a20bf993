// A connection to the server. What comes over it may be no message of PostgreSQL: a pooler that
// loses its server in the middle of a message says so behind the half. The driver throws then where
// nobody catches, which would end this process; here the connection is lost.

import type { Socket } from 'node:net';
import pg from 'pg';

/** What the driver's types do not show: it reads by a listener that it adds here. */
interface Reading {
  readonly stream: Socket;
  attachListeners(stream: Socket): void;
}

const readingOf = (client: pg.Client) =>
  (client as unknown as { readonly connection: Reading }).connection;

export interface ClientOptions extends pg.ClientConfig {
  /** Called before the connection is opened. */
  readonly onOpening?: (client: Client) => void;
}

export class Client extends pg.Client {
  constructor(config: ClientOptions = {}) {
    super(config);
    const connection = readingOf(this);
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      const others = stream.listeners('data');
      attach(stream);
      for (const listener of stream.listeners('data')) {
        if (!others.includes(listener)) guard(stream, listener as (bytes: Buffer) => void);
      }
    };
    config.onOpening?.(this);
  }

  /** Ends an opening that takes too long. */
  giveUp(): void {
    readingOf(this).stream.destroy(new Error('the server took too long to open a connection'));
  }
}

function guard(stream: Socket, read: (bytes: Buffer) => void): void {
  stream.on('data', (bytes) => {
    try {
      read(bytes);
    } catch (cause) {
      stream.destroy(new Error('what came is no message of PostgreSQL', { cause }));
    }
  });
  stream.off('data', read);
}
