// Clients that take their time: each kind is told so, or cut off, after a while that does not
// depend on what it does meanwhile, and nobody else waits for it. How long: src/core/limits.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type Environment, startEnvironment, startNode } from '../kit/environment.ts';
import { createTestMerchant, type TestMerchant } from '../kit/merchant.ts';
import { RawConnection } from '../kit/raw.ts';
import { faultsOf } from './answer.ts';
import { Draft } from './case.ts';

let service: Environment;
let shop: TestMerchant;
let draft: Draft;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
  draft = new Draft(shop);
});
afterAll(() => service.stop());

/** What a busy machine and the interval of the check may add to a limit. */
const slack = limits.connectionsCheckInterval + 2_500;
const clients = 20;

describe.concurrent('a client that takes its time', { timeout: 60_000 }, () => {
  const { headersReceiveTimeout, requestReceiveTimeout, socketIdleTimeout } = limits;

  test.each([
    ['only connects', headersReceiveTimeout, () => '', ''],
    ['stalls in its first line', headersReceiveTimeout, () => 'GET /api', ''],
    ['stalls in its headers', headersReceiveTimeout, () => draft.read().slice(0, -2), ''],
    ['drips its headers', headersReceiveTimeout, () => draft.read().slice(0, -2), 'X'],
    ['drips empty lines', headersReceiveTimeout, () => '', '\r\n'],
    ['stalls in its body', requestReceiveTimeout, () => draft.framed(['Content-Length: 99']), ''],
    ['drips its body', requestReceiveTimeout, () => draft.framed(['Content-Length: 99']), ' '],
    ['drips chunks', requestReceiveTimeout, () => draft.chunked(''), '1\r\n \r\n'],
    ['says less than it announced', requestReceiveTimeout, () => draft.chunked('5\r\n{}'), ''],
  ])('and %s is 408 after %i ms', async (_, limit, bytes, drip) => {
    const operations = await countOperations();
    const answers = Array.from({ length: clients }, async () => {
      const started = performance.now();
      const connection = await RawConnection.open(service.api.origin);
      connection.send(bytes());
      const dripping = setInterval(() => connection.send(drip), 400);
      const answer = await connection.next({ wait: limit + 2 * slack });
      clearInterval(dripping);
      const milliseconds = performance.now() - started;
      await connection.hungUp();
      return { milliseconds, answer };
    });
    for (const { milliseconds, answer } of await Promise.all(answers)) {
      expect([answer?.status, answer?.json?.error?.code]).toEqual([408, 'request_timeout']);
      expect(answer?.json?.error?.retryable).toBe(true);
      expect(answer && faultsOf(answer)).toEqual([]);
      expect(milliseconds).toBeGreaterThan(limit - 1_000);
      expect(milliseconds).toBeLessThan(limit + slack);
    }
    expect(await countOperations()).toBe(operations);
  });

  test('but sends all of its body is answered, with all of the time that it takes', async () => {
    const connection = await RawConnection.open(service.api.origin);
    const bytes = draft.adjust({ target_quantity: 'seven' });
    connection.send(bytes.slice(0, -1));
    await new Promise((resolve) => setTimeout(resolve, limits.requestDeadline + 1_000));
    connection.send(bytes.slice(-1));
    const answer = await connection.next({ wait: limits.requestDeadline });
    expect([answer?.status, answer?.json?.error?.code]).toEqual([422, 'validation_failed']);
    connection.end();
  });

  test('keeps nobody else waiting', async () => {
    for (let n = 0; n < 100; n += 1) {
      expect((await shop.api.get('/credential')).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  // A test among others at the same time polls by an `expect` of its own.
  test('and does not read its answers is cut off, and they are not made', async ({ expect }) => {
    const node = await startNode(service.db.serviceUrl);
    await Promise.all(Array.from({ length: 200 }, () => service.given.product(shop.merchant)));
    await service.db.sql(`update products set description = repeat('x', 5000)`);
    const connection = await RawConnection.open(node.api.origin);
    connection.socket.pause();
    const sent = 60;
    connection.send(draft.get('/api/v1/products?limit=200').repeat(sent));
    const started = performance.now();
    await expect.poll(node.connections).toBe(1);
    const patience = { timeout: 2 * socketIdleTimeout + slack, interval: 500 };
    await expect.poll(node.connections, patience).toBe(0);
    expect(performance.now() - started).toBeGreaterThan(socketIdleTimeout - 1_000);
    // A megabyte each: what the system's buffers took, and one more.
    expect(node.records.length).toBeLessThan(sent / 2);
    connection.end();
    await node.stop();
  });
});

async function countOperations(): Promise<number> {
  return (await service.db.sql('select 1 from operations')).length;
}
