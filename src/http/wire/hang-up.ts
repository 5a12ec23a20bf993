// How a connection is given up: both halves, soon, and after the client could read why. What it
// still sends is read and thrown away for a moment: a socket closed over unread bytes is reset by
// TCP, and the client may lose the answer that it has not yet read.

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../../core/limits.ts';

/** Lets answers that close their connection be read. Node destroys the socket behind them. */
export function hangUpGently(server: Server): void {
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = () => hangUp(socket);
  });
}

/** Says the last words, if there are any left to say. */
export function hangUp(socket: Duplex, lastWords?: string): void {
  socket.end(lastWords);
  const patience = setTimeout(() => socket.destroy(), limits.hangUpTimeout);
  patience.unref();
  socket.once('close', () => clearTimeout(patience));
  socket.resume();
}
