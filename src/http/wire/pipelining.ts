// The order of requests on one connection. A client may send several without waiting for answers;
// each begins after the answer before it was sent (RFC 9112, section 9.3.2, asks this of writes).
// So each sees the effects of those before it, unread answers do not collect in memory, and no
// request begins after an answer that closes the connection, or for a client that has disconnected.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../core/limits.ts';
import { overloaded } from '../../core/problem.ts';

const waiting = new WeakMap<Socket, number>();

/**
 * Calls `begin` when the requests before it are answered: at once for nearly all requests, with a
 * refusal when too many wait already, never when the connection was closed.
 */
export function inOrder(
  socket: Socket,
  response: ServerResponse,
  begin: (refusal?: Error) => void,
): void {
  const isClosed = socket.writableEnded || socket.destroyed;
  // Node gives a response its socket when the one before it is done with it.
  if (response.socket !== null && !isClosed) {
    begin();
    return;
  }
  const ahead = waiting.get(socket) ?? 0;
  if (ahead < limits.pipelinedMax) {
    waiting.set(socket, ahead + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      inOrder(socket, response, begin);
    });
  } else if (isClosed) {
    // The last answer said that the connection closes, but the client sends more requests.
    socket.destroy();
  } else {
    begin(overloaded());
  }
}
