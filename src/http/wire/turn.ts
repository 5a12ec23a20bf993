// The order of requests on one connection. A client may send several without waiting for answers;
// each begins when the answer before it has gone out (RFC 9112, section 9.3.2, asks it of writes).
// So each sees what those before it have done, answers that nobody reads do not pile up in memory,
// and nothing is begun behind an answer that closes the connection, or for a client that has gone.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../core/limits.ts';
import { overloaded } from '../../operations/queue.ts';

const waiting = new WeakMap<Socket, number>();

/**
 * Calls `begin` when the requests before it are answered: at once for almost all there are; with a
 * refusal when too many wait already; never when the connection has come to its end.
 */
export function inTurn(
  socket: Socket,
  response: ServerResponse,
  begin: (refusal?: Error) => void,
): void {
  const isOver = socket.writableEnded || socket.destroyed;
  // Node gives a response its socket when the one before it is done with it.
  if (response.socket !== null && !isOver) {
    begin();
    return;
  }
  const ahead = waiting.get(socket) ?? 0;
  if (ahead < limits.pipelinedMax) {
    waiting.set(socket, ahead + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      inTurn(socket, response, begin);
    });
  } else if (isOver) {
    // It has been told that this is the end, and goes on asking.
    socket.destroy();
  } else {
    begin(overloaded());
  }
}
