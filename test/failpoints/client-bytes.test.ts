import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../kit/again.ts';
import { extentName, isProof, numbersTo, timeout } from '../kit/extent.ts';
import { FaultEnvironment, isReplay } from './environment.ts';
import { adjustment, changeOfProduct, create, type Write } from './kinds.ts';

// The connection between client and service is cut after every number of bytes, in both directions.

let environment: FaultEnvironment;

beforeAll(async () => {
  environment = await FaultEnvironment.start();
});
afterAll(() => environment.stop());

const framings: Readonly<Record<string, (body: string) => readonly [string, string]>> = {
  'of a known length': (body) => [`Content-Length: ${Buffer.byteLength(body)}`, body],
  'in chunks': (body) => {
    const half = Math.floor(body.length / 2);
    const chunks = [body.slice(0, half), body.slice(half), ''];
    const text = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    return ['Transfer-Encoding: chunked', text];
  },
};

function bytesOf({ kind, path, body, key }: Write, framing: string): Buffer {
  const [line = '', content = ''] = framings[framing]?.(JSON.stringify(body)) ?? [];
  const lines = [
    `${kind.method} /api/v1${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${environment.token}`,
    `Idempotency-Key: ${key}`,
    'Content-Type: application/json',
    line,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`);
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(environment.api.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends the beginning of a request and closes the connection, in order or with a reset. */
async function sendPart(bytes: Buffer, isReset: boolean): Promise<void> {
  const socket = await open();
  await new Promise<void>((resolve) => {
    if (bytes.length === 0) resolve();
    else socket.write(bytes, () => resolve());
  });
  if (isReset) {
    socket.resetAndDestroy();
    return;
  }
  socket.end();
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
}

/** Sends a request and closes once so many bytes of its answer have come. */
async function readPart(request: Buffer, length: number): Promise<number> {
  const socket = await open();
  let received = 0;
  await new Promise<void>((resolve) => {
    socket.write(request, () => {
      if (length === 0) resolve();
    });
    socket.on('data', (bytes: Buffer) => {
      received += bytes.length;
      if (received >= length) resolve();
    });
    socket.on('close', () => resolve());
  });
  socket.destroy();
  return received;
}

const routes = [adjustment, create, changeOfProduct];

const all = routes.flatMap((kind) =>
  Object.keys(framings).map((framing) => ({ kind, name: kind.name, framing })),
);

describe.each(all)(`a request cut by the client: $name, $framing (${extentName})`, (one) => {
  const { kind, framing } = one;

  test('at any byte before its end binds no key and does nothing', { timeout }, async () => {
    const last = bytesOf(await environment.newWrite(kind), framing).length - 1;
    const cut: { readonly write: Write; readonly length: number }[] = [];
    for (const length of numbersTo(last, 12)) {
      for (const isReset of isProof ? [false, true] : [length % 2 === 0]) {
        const write = await environment.newWrite(kind);
        await sendPart(bytesOf(write, framing).subarray(0, length), isReset);
        cut.push({ write, length });
      }
    }
    for (const { write, length } of cut) {
      const none = { done: 0, operations: 0 };
      expect([length, await environment.effects(write)]).toEqual([length, none]);
    }
    for (const { write, length } of cut) {
      const answer = await served(() => environment.send(environment.api, write));
      expect([length, answer.code, isReplay(answer)]).toEqual([length, undefined, false]);
    }
  });
});

describe.each(routes)(`an answer cut by the client: $name (${extentName})`, (kind) => {
  test('at any byte leaves one effect, and the same key finds it', { timeout }, async () => {
    const framing = 'of a known length';
    const last = await readPart(bytesOf(await environment.newWrite(kind), framing), 1);
    for (const length of numbersTo(last, 12)) {
      const write = await environment.newWrite(kind);
      const received = await readPart(bytesOf(write, framing), length);
      const answer = await environment.mustSettle(write, `${length} bytes`);
      // When a part of the answer has arrived, the write is committed.
      if (received > 0) expect([length, isReplay(answer)]).toEqual([length, true]);
    }
  });
});

test('after all of this the ledger adds up, and no key has two operations', () =>
  environment.verify());
