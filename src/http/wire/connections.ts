// How many connections the service holds, and how it closes one.

import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../../core/limits.ts';

/**
 * Each connection takes a file descriptor, and the system gives a process a limited number. Some
 * are kept free for the database and for files, because many idle clients would otherwise leave
 * none. When the limit is reached, idle connections are closed for new ones.
 */
export function limitConnections(server: Server, workers: number): void {
  const most = Math.min(
    Math.ceil(limits.connectionsMax / workers),
    Math.max(1, descriptorsMax() - limits.descriptorsReserved),
  );
  if (workers === 1) {
    server.maxConnections = most;
    server.on('drop', () => server.closeIdleConnections());
    return;
  }
  // Node's own limit would give the connection to another worker, and when all are full to all of
  // them in turn without end.
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open <= most) return;
    socket.destroy();
    server.closeIdleConnections();
  });
}

/** Infinity when there is no limit, or it cannot be read. */
function descriptorsMax(): number {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files +([0-9]+)/m.exec(text) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Node destroys the socket after an answer that closes its connection; the client could not read
 * it.
 */
export function closeAfterAnswers(server: Server): void {
  // With TLS the socket of a request is another one than that of its connection.
  const made = server instanceof SecureServer ? 'secureConnection' : 'connection';
  server.on(made, (socket: Socket) => {
    socket.destroySoon = () => closeSocket(socket);
  });
}

/**
 * Ends both directions after the client could read `lastBytes`. What it still sends is read and
 * dropped until the time-out, because TCP resets a socket that is closed with unread bytes, and the
 * client may then lose the answer.
 */
export function closeSocket(socket: Duplex, lastBytes?: string): void {
  socket.end(lastBytes);
  const timer = setTimeout(() => socket.destroy(), limits.hangUpTimeout);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  socket.resume();
}
