// Many clients at once that only hold their connections: they cost a bounded amount of memory, and
// take no file and no connection that the service needs to answer others.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../kit/database.ts';
import { Given } from '../kit/given.ts';
import { type ServiceProcess, startProcess } from '../kit/process.ts';
import { RawConnection } from '../kit/raw.ts';
import { peakBytes, processorMs } from '../kit/usage.ts';

/** Too many files, or an error that nobody expected. */
const failure = /EMFILE|ENFILE|"level":"(error|fatal)"/;
const memoryMax = 512 * 1_024 ** 2;

let db: TestDatabase;
let given: Given;
let token: string;
let service: ServiceProcess | undefined;
let open: RawConnection[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
  const merchant = await given.merchant();
  ({ token } = await given.credential(merchant));
  await Promise.all(Array.from({ length: 200 }, () => given.product(merchant)));
  await db.sql(`update products set description = repeat('x', 5000)`);
});
afterEach(async () => {
  for (const connection of open) connection.end();
  open = [];
  await service?.end();
});
afterAll(() => db.drop());

async function start(options: { descriptors?: number } = {}): Promise<ServiceProcess> {
  service = await startProcess(db, { TALLYBOOK_LOG_LEVEL: 'warn' }, options);
  return service;
}

const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** Opens connections, one request on each, and keeps them. */
async function openMany(origin: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 100) {
    const some = Array.from({ length: Math.min(left, 100) }, async () => {
      const connection = await RawConnection.open(origin);
      connection.send(health);
      await connection.next();
      return connection;
    });
    open.push(...(await Promise.all(some)));
  }
}

describe('many clients', { timeout: 90_000 }, () => {
  test('10,000 that idle leave room for others', async () => {
    const { api, child, log } = await start();
    await openMany(api.origin, 10_000);
    expect(open.filter(({ closed }) => closed)).toEqual([]);
    for (let n = 0; n < 50; n += 1) {
      // Each on a connection of its own.
      const headers = { connection: 'close' };
      expect((await api.as(token).get('/credential', { headers })).status).toBe(200);
    }
    expect(open.filter(({ closed }) => closed)).toEqual([]);
    expect(peakBytes(child.pid ?? 0)).toBeLessThan(memoryMax);
    expect(log()).not.toMatch(failure);
  });

  test('more than there are files for cut off neither others nor the database', async () => {
    const { api, child, log } = await start({ descriptors: 256 });
    await openMany(api.origin, 400);
    expect(child.exitCode).toBeNull();
    await expect
      .poll(async () => {
        const answer = await api.as(token).get('/products?limit=1');
        return answer.status;
      })
      .toBe(200);
    expect(log()).not.toMatch(failure);
  });

  test('that ask for gigabytes and read nothing cost little memory', async () => {
    const { api, child } = await start();
    const { pid = 0 } = child;
    const path = '/api/v1/products?limit=200';
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    for (let n = 0; n < 10; n += 1) {
      const connection = await RawConnection.open(api.origin);
      connection.socket.pause();
      connection.send(request.repeat(100));
      open.push(connection);
    }
    await calm(pid);
    expect((await api.as(token).get('/credential')).status).toBe(200);
    expect(peakBytes(pid)).toBeLessThan(memoryMax);
  });
});

/** Waits until a process has hardly anything to do. */
async function calm(pid: number): Promise<void> {
  let before = 0;
  await expect
    .poll(
      () => {
        const used = processorMs(pid) - before;
        before += used;
        return used;
      },
      { interval: 500, timeout: 25_000 },
    )
    .toBeLessThan(50);
}
