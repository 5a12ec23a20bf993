// How names are looked up: by real name servers of this test, on loopback.

import { pbkdf2 } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { Destinations } from './address.ts';
import { receiverLookup } from './lookup.ts';

const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.close();
});

/** Answers questions for IPv4 addresses of names that begin with `good`, and denies `no`. */
async function nameServer(): Promise<string> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.on('message', (query, from) => {
    const name = query.subarray(13).toString('latin1');
    const isForVersion4 = query.readUInt16BE(query.indexOf(0, 12) + 1) === 1;
    if (!name.startsWith('good') && !name.startsWith('no')) return;
    const isFound = name.startsWith('good') && isForVersion4;
    const questionEnd = query.indexOf(0, 12) + 5;
    const head = Buffer.from(query.subarray(0, questionEnd));
    head.writeUInt16BE(name.startsWith('no') ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(isFound ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 192, 0, 2, 7]);
    socket.send(isFound ? Buffer.concat([head, answer]) : head, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${(socket.address() as AddressInfo).port}`;
}

async function lookupWith(list = '') {
  const { webhookAllow } = readConfig({}, { TALLYBOOK_WEBHOOK_ALLOW: list });
  const lookup = receiverLookup(new Destinations(webhookAllow), [await nameServer()]);
  return (name: string) =>
    new Promise<unknown>((resolve) => {
      lookup(name, { all: true }, (error, found) => resolve(error?.code ?? found));
    });
}

test('names without an answer keep neither other names nor the threads', async () => {
  const lookup = await lookupWith();
  const silent = Array.from({ length: 100 }, (_, n) => lookup(`silent${n}.example`));
  const started = performance.now();
  expect(await lookup('good.example')).toEqual([{ address: '192.0.2.7', family: 4 }]);
  await promisify(pbkdf2)('a', 'b', 1, 8, 'sha256');
  expect(performance.now() - started).toBeLessThan(1_500);
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['ETIMEOUT']));
});

test('a name that nobody has is not found', async () => {
  expect(await (await lookupWith())('no.example')).toBe('ENOTFOUND');
});

test('what only the system knows is found when the operator allows it', async () => {
  const named = await lookupWith('localhost');
  expect(await named('localhost')).toContainEqual({ address: '127.0.0.1', family: 4 });
  const ranges = await lookupWith('127.0.0.0/8');
  expect(await ranges('good.example')).toEqual([{ address: '192.0.2.7', family: 4 }]);
  expect(await (await lookupWith('hooks.internal'))('no.example')).toBe('ENOTFOUND');
});
