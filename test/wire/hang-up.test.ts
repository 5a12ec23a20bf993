// How a connection ends that the service gives up: its client hears why, even while it is still
// sending, and neither one that stays nor one that vanishes leaves anything behind.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type Environment, startEnvironment } from '../kit/environment.ts';
import { createTestMerchant } from '../kit/merchant.ts';
import { RawConnection } from '../kit/raw.ts';
import { faultsOf } from './answer.ts';
import { Draft } from './case.ts';

let service: Environment;
let draft: Draft;

beforeAll(async () => {
  service = await startEnvironment();
  draft = new Draft(await createTestMerchant(service));
});
afterAll(() => service.stop());

/** A client that never closes its own half. */
function staying(): Socket {
  const { hostname, port } = new URL(service.api.origin);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on('error', () => undefined);
  return socket.resume();
}

/** Waits until the service has let go of it: only then is a byte answered with a reset. */
async function goneFor(socket: Socket): Promise<void> {
  const gone = new Promise((resolve) => socket.once('close', resolve));
  const knocking = setInterval(() => socket.write(' '), 50);
  await gone;
  clearInterval(knocking);
}

const refusals: [string, () => string][] = [
  ['CONNECT', () => `CONNECT a:1 HTTP/1.1\r\n${draft.host}\r\n\r\n`],
  ['nonsense', () => 'nonsense\r\n\r\n'],
  ['two Hosts', () => draft.read(draft.host)],
  ['a body that is too large', () => draft.framed(['Content-Length: 70000'])],
];

describe('a refusal that closes the connection', () => {
  test.each([
    ['413, by its length', () => draft.framed(['Content-Length: 2000000']), 413],
    ['413, by its chunks', () => draft.chunked('1e8480\r\n'), 413],
    ['431', () => draft.read().slice(0, -2), 431],
    ['400', () => 'nonsense\r\n', 400],
    ['417', () => draft.framed(['Expect: tea', 'Content-Length: 2000000']), 417],
    ['405, to CONNECT', () => `CONNECT a:1 HTTP/1.1\r\n${draft.host}\r\n\r\n`, 405],
  ])('reaches a client that is still sending: %s', async (_, head, status) => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const connection = await RawConnection.open(service.api.origin);
      await connection.sendFirst(head() + 'a'.repeat(2_000_000));
      const answer = await connection.next();
      expect([answer?.status, answer && faultsOf(answer)]).toEqual([status, []]);
      connection.end();
    }
  });

  test.each(refusals)('leaves no half of it behind: %s', async (_, bytes) => {
    const socket = staying();
    const ended = once(socket, 'end');
    socket.write(bytes());
    await ended;
    await goneFor(socket);
  });

  test('cuts off a client that goes on asking, and does not keep what it asks', async () => {
    const { hangUpTimeout } = limits;
    // Otherwise it would be cut off all the same, a little later.
    Object.assign(limits, { hangUpTimeout: 3_600_000 });
    try {
      const socket = staying();
      const ended = once(socket, 'end');
      socket.write(draft.read(draft.host));
      await ended;
      socket.write(draft.read().repeat(limits.pipelinedMax + 1));
      await goneFor(socket);
    } finally {
      Object.assign(limits, { hangUpTimeout });
    }
  });

  test.each(refusals)('survives a client that vanishes: %s', async (_, bytes) => {
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const connection = await RawConnection.open(service.api.origin);
      connection.send(bytes());
      if (attempt % 2 === 1) await new Promise(setImmediate);
      connection.socket.resetAndDestroy();
    }
    expect((await service.api.get('/credential')).status).toBe(401);
  });
});
