import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashKey } from '../../src/operations/fingerprint.ts';
import { type Answer, newKey } from '../support/api.ts';
import { extent, isExhaustive, sampled, timeout } from './sample.ts';
import { isReplay, Stand } from './stand.ts';

// The connection between client and service is cut after every number of bytes, either way.

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.open();
});
afterAll(() => stand.close());

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

const routes: Readonly<Record<string, () => Promise<Request>>> = {
  async adjustment() {
    const { body } = await stand.newWrite();
    return { method: 'POST', path: '/inventory/adjustments', body: JSON.stringify(body) };
  },
  async customer() {
    const body = JSON.stringify({ name: 'Ada', email: 'ada@example.com', metadata: { a: '1' } });
    return { method: 'POST', path: '/customers', body };
  },
  async 'change of a product'() {
    const { body } = await stand.newWrite();
    const path = `/products/${body.product_id}`;
    return { method: 'PATCH', path, body: JSON.stringify({ name: 'Rye', barcode: '4006' }) };
  },
};

const framings: Readonly<Record<string, (body: string) => readonly [string, string]>> = {
  'of a known length': (body) => [`Content-Length: ${Buffer.byteLength(body)}`, body],
  'in chunks': (body) => {
    const half = Math.floor(body.length / 2);
    const chunks = [body.slice(0, half), body.slice(half), ''];
    const text = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    return ['Transfer-Encoding: chunked', text];
  },
};

async function newRequest(route: string): Promise<Request> {
  const request = await routes[route]?.();
  if (request === undefined) throw new Error(`no route ${route}`);
  return request;
}

function bytesOf({ method, path, body }: Request, key: string, framing: string): Buffer {
  const [line = '', content = ''] = framings[framing]?.(body) ?? [];
  const lines = [
    `${method} /api/v1${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${stand.token}`,
    `Idempotency-Key: ${key}`,
    'Content-Type: application/json',
    line,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`);
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(stand.service.api.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends the beginning of a request and leaves: politely, or not. */
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

/** Sends a request and leaves once so many bytes of its answer have come. */
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

function sendAgain({ method, path, body }: Request, key: string): Promise<Answer> {
  return stand.api.send(method, path, body, { key });
}

async function operationsOf(keys: readonly string[]): Promise<number> {
  const rows = await stand.service.db.sql('select from operations where key_hash = any ($1)', [
    keys.map(hashKey),
  ]);
  return rows.length;
}

const all = Object.keys(routes).flatMap((route) =>
  Object.keys(framings).map((framing) => [route, framing] as const),
);

describe.each(all)(`a request cut by the client: %s, %s (${extent})`, (route, framing) => {
  test('at any byte before its end binds no key and does nothing', { timeout }, async () => {
    const last = bytesOf(await newRequest(route), newKey(), framing).length - 1;
    const cut: { readonly request: Request; readonly key: string; readonly length: number }[] = [];
    for (const length of sampled(last, 25)) {
      for (const isReset of isExhaustive ? [false, true] : [length % 2 === 0]) {
        const request = await newRequest(route);
        const key = newKey();
        await sendPart(bytesOf(request, key, framing).subarray(0, length), isReset);
        cut.push({ request, key, length });
      }
    }
    expect(await operationsOf(cut.map(({ key }) => key))).toBe(0);
    for (const { request, key, length } of cut) {
      const answer = await sendAgain(request, key);
      expect([length, answer.code, isReplay(answer)]).toEqual([length, undefined, false]);
    }
  });
});

describe.each(Object.keys(routes))(`an answer cut by the client: %s (${extent})`, (route) => {
  test('at any byte leaves one effect, and the same key tells of it', { timeout }, async () => {
    const bytes = async () => {
      const request = await newRequest(route);
      const key = newKey();
      return { request, key, message: bytesOf(request, key, 'of a known length') };
    };
    const last = await readPart((await bytes()).message, 1);
    for (const length of sampled(last, 20)) {
      const { request, key, message } = await bytes();
      const received = await readPart(message, length);
      const answer = await sendAgain(request, key);
      expect([length, answer.code]).toEqual([length, undefined]);
      // Once a part of the answer has come, the deed is done.
      if (received > 0) expect([length, isReplay(answer)]).toEqual([length, true]);
      const again = await sendAgain(request, key);
      expect([length, isReplay(again)]).toEqual([length, true]);
      expect(again.body.meta.operation_id).toBe(answer.body.meta.operation_id);
      expect(await operationsOf([key])).toBe(1);
    }
  });
});

test('after all of this the ledger adds up, and no key has two operations', () => stand.verify());
