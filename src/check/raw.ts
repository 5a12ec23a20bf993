// Bytes on a connection of one's own: bodies in parts, connections that are cut, and several
// requests on one connection.

import { once } from 'node:events';
import { connect as plain, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as encrypted } from 'node:tls';
import { Unmet } from './answer.ts';
import { type Caller, newKey } from './caller.ts';

/** What a deployment may take to answer. */
const patienceMs = 40_000;

async function open(base: string): Promise<Socket> {
  const { protocol, hostname, port } = new URL(base);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'https:';
  const usual = isTls ? 443 : 80;
  const options = { host, port: port === '' ? usual : Number(port) };
  const socket = isTls ? encrypted({ ...options, servername: host }) : plain(options);
  socket.on('error', () => undefined);
  await once(socket, isTls ? 'secureConnect' : 'connect');
  return socket;
}

function headOf(caller: Caller, method: string, path: string, lines: string): string {
  const { pathname, host } = new URL(caller.base);
  return (
    `${method} ${pathname}${path} HTTP/1.1\r\nHost: ${host}\r\n` +
    `Authorization: Bearer ${caller.token}\r\n${lines}\r\n`
  );
}

interface Parts {
  readonly parts: readonly string[];
  readonly pauseMs?: number;
  readonly isChunked?: boolean;
  /** More lines of the head. */
  readonly head?: string;
}

/** A write whose body is sent part by part. */
export async function sentInParts(
  caller: Caller,
  path: string,
  { parts, pauseMs = 0, isChunked = false, head = '' }: Parts,
): Promise<{ readonly status: number; readonly text: string }> {
  const length = Buffer.byteLength(parts.join(''));
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  const lines =
    `Content-Type: application/json\r\n${framing}\r\nConnection: close\r\n` +
    `Idempotency-Key: ${newKey()}\r\n${head}`;
  const socket = await open(caller.base);
  const answer = collected(socket);
  socket.write(headOf(caller, 'POST', path, lines));
  for (const part of parts) {
    await sleep(pauseMs);
    socket.write(part);
  }
  const text = (await answer).replace(/^HTTP\/1\.1 100 [^\r]*\r\n(?:[^\r]+\r\n)*\r\n/, '');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

/** The statuses of requests that are sent at once on one connection. */
export async function oneConnection(caller: Caller, paths: readonly string[]): Promise<number[]> {
  const socket = await open(caller.base);
  const answer = collected(socket);
  const requests = paths.map((path, n) => {
    const isLast = n === paths.length - 1;
    return headOf(caller, 'GET', path, isLast ? 'Connection: close\r\n' : '');
  });
  socket.write(requests.join(''));
  return [...(await answer).matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Sends a write, and cuts the connection before the answer can be read. */
export async function sentAndCut(
  caller: Caller,
  path: string,
  {
    body,
    key,
    afterMs,
  }: { readonly body: unknown; readonly key: string; readonly afterMs: number },
): Promise<void> {
  const text = JSON.stringify(body);
  const lines =
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` +
    `Idempotency-Key: ${key}\r\n`;
  const socket = await open(caller.base);
  socket.write(headOf(caller, 'POST', path, lines) + text);
  await sleep(afterMs);
  socket.destroy();
}

/** Sends a part of a write, and cuts the connection. */
export async function cutInTheMiddle(
  caller: Caller,
  path: string,
  { body, key }: { readonly body: unknown; readonly key: string },
): Promise<void> {
  const text = JSON.stringify(body);
  const lines =
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` +
    `Idempotency-Key: ${key}\r\n`;
  const socket = await open(caller.base);
  const half = headOf(caller, 'POST', path, lines) + text.slice(0, text.length / 2);
  await new Promise((resolve) => socket.write(half, resolve));
  socket.destroy();
}

/** All that comes until the other side closes. */
function collected(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.setTimeout(patienceMs, () => {
      socket.destroy();
      reject(new Unmet(`the connection was silent for ${patienceMs} ms`));
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(text));
  });
}
