// Receivers that hang, drip, flood or hang up, beside others that answer: those must not notice.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { Receiver } from '../../test/kit/receiver.ts';
import { Shop } from '../../test/kit/shop.ts';
import { limits } from '../core/limits.ts';
import type { Deliveries } from './deliveries.ts';

let service: Environment;
let delivery: Deliveries;
let shop: Shop;
const ended: (() => unknown)[] = [];

beforeAll(async () => {
  service = await startEnvironment();
  delivery = service.service.deliver();
});
afterAll(async () => {
  for (const end of ended) await end();
  await delivery.stop(0);
  await service.stop();
});
beforeEach(async () => {
  shop = await Shop.open(service);
});

async function answering(): Promise<Receiver> {
  const receiver = await Receiver.listen();
  ended.push(() => receiver.close());
  return receiver;
}

/** Does something with each connection that has sent something. */
async function strange(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ended.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets };
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

test('receivers that hang, drip, flood or hang up cost the others nothing', async () => {
  const good = await answering();
  const flood = Buffer.alloc(64 * 1024, 'x');
  const hanging = await strange(() => undefined);
  const dripping = await strange((socket) => {
    socket.write(`${head}Content-Length: 1000000\r\n\r\n`);
    const timer = setInterval(() => socket.write('x'), 100);
    socket.on('close', () => clearInterval(timer));
  });
  const flooding = await strange((socket) => {
    socket.write(`${head}Content-Length: 4000000000\r\n\r\n`);
    const more = () => {
      while (!socket.destroyed && socket.write(flood));
    };
    socket.on('drain', more);
    more();
  });
  const closing = await strange((socket) => socket.end(`${head}Content-Length: 100\r\n\r\nx`));
  const strangers = { hanging, dripping, flooding, closing };
  const ids: Record<string, string> = {};
  for (const [name, one] of Object.entries(strangers)) ids[name] = await shop.hook(one);
  const untilFirstFailure = (name: string, expected: object) =>
    expect
      .poll(async () => (await shop.deliveries(ids[name] ?? '')).failures[0], { timeout: 15_000 })
      .toMatchObject(expected);
  const id = await shop.hook(good);
  const positions = await shop.customers(200);
  await good.until((one) => one.positions().length === 200);
  expect(good.positions()).toEqual(positions);
  expect(good.calls).toHaveLength(200);
  await shop.untilWebhook(id, { position: '200', failing_since: null });
  // What was read of it is an answer, and no more was read.
  await shop.untilWebhook(ids.flooding ?? '', { position: '200', failing_since: null });
  await untilFirstFailure('closing', { status: 200, failure: 'connection_closed' });
  for (const name of ['hanging', 'dripping']) {
    await untilFirstFailure(name, { failure: 'timeout' });
    const { attempts } = await shop.deliveries(ids[name] ?? '');
    expect(attempts[0].milliseconds).toBeGreaterThanOrEqual(limits.webhookCallTimeout - 100);
    expect(strangers[name as 'hanging'].sockets.size).toBeLessThanOrEqual(
      2 * limits.webhookCallsMax,
    );
  }
});
