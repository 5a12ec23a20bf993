// Nodes that stop while clients send requests: no request is lost, the stop takes no longer than
// promised even when the database does not answer, and a second signal ends the node at once.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../src/core/limits.ts';
import { type Api, newKey } from './kit/api.ts';
import { createTestDatabase, type TestDatabase, waitsOf, withoutLimits } from './kit/database.ts';
import { Given } from './kit/given.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { DatabaseProxy } from './kit/proxy.ts';
import { RawConnection } from './kit/raw.ts';

const path = '/inventory/adjustments';
const started: ServiceProcess[] = [];
let db: TestDatabase;
let given: Given;
let merchant: string;
let location: string;
let token: string;

beforeAll(async () => {
  db = await createTestDatabase();
  await withoutLimits(db);
  given = new Given(db);
  merchant = await given.merchant();
  location = await given.location(merchant);
  ({ token } = await given.credential(merchant));
});
afterAll(async () => {
  await Promise.all(started.map((service) => service.end('SIGKILL')));
  await db.drop();
});

async function start(url = db.serviceUrl): Promise<ServiceProcess & { api: Api }> {
  const service = await startProcess({ ...db, serviceUrl: url });
  started.push(service);
  return { ...service, api: service.api.as(token) };
}

const adjustment = (product: string, target: number) => ({
  product_id: product,
  location_id: location,
  target_quantity: String(target),
  reason: 'correction',
});

async function timeToEnd(service: ServiceProcess, exitCode: number): Promise<number> {
  const toldAt = performance.now();
  expect(await service.end('SIGTERM')).toBe(exitCode);
  return performance.now() - toldAt;
}

async function movementsOf(product: string): Promise<number> {
  const sum = 'count(*)::int as n, count(distinct operation_id)::int as operations';
  const of = 'from inventory_movements where product_id = $1';
  const [row] = await db.sql<{ n: number; operations: number }>(`select ${sum} ${of}`, [product]);
  expect(row?.operations).toBe(row?.n);
  return row?.n ?? 0;
}

/**
 * A client that keeps its connection until an answer or the socket closes it, then goes elsewhere.
 */
class KeepAliveClient {
  acknowledged = 0;
  announced = 0;
  /** Requests on a closing connection: they may have had no effect. */
  unanswered = 0;
  readonly faults: string[] = [];
  #node: number;
  readonly #nodes: readonly ServiceProcess[];
  readonly #product: string;
  readonly #pause: number;

  constructor(nodes: readonly ServiceProcess[], node: number, product: string, pause: number) {
    this.#nodes = nodes;
    this.#node = node;
    this.#product = product;
    this.#pause = pause;
  }

  async work(isOver: () => boolean): Promise<void> {
    let connection: RawConnection | undefined;
    while (!isOver()) {
      const text = this.#request(this.acknowledged + 1);
      for (let isAnswered = false, hasFailed = false; !isAnswered; ) {
        if (connection === undefined || connection.closed) connection = await this.#connect();
        connection.send(text);
        const answer = await connection.next();
        isAnswered = answer !== undefined;
        if (answer === undefined) {
          this.unanswered += 1;
          hasFailed = true;
        } else {
          const isReplay = answer.headers['idempotent-replayed'] === 'true';
          if (answer.status !== 201) this.faults.push(answer.text);
          if (isReplay) this.faults.push(hasFailed ? 'done, but not answered' : 'a replay');
          this.acknowledged += 1;
        }
        if (answer === undefined || answer.headers.connection === 'close') {
          if (answer !== undefined) this.announced += 1;
          connection.end();
          connection = undefined;
          this.#node = 1 - this.#node;
        }
      }
      if (this.#pause > 0) await sleep(this.#pause);
    }
    connection?.end();
  }

  async #connect(): Promise<RawConnection> {
    for (;;) {
      try {
        return await RawConnection.open(this.#nodes[this.#node]?.api.origin ?? '');
      } catch {
        // It no longer listens, so nothing was sent.
        this.#node = 1 - this.#node;
        await sleep(5);
      }
    }
  }

  #request(target: number): string {
    const body = JSON.stringify(adjustment(this.#product, target));
    return [
      `POST /api/v1${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      `Idempotency-Key: ${newKey()}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
  }
}

test('nodes replaced one by one under load lose no request that they have begun', async () => {
  const nodes = await Promise.all([start(), start()]);
  const products = await Promise.all(Array.from({ length: 16 }, () => given.product(merchant)));
  // Some send again at once, so that the stop finds them busy; it finds the others idle.
  const clients = products.map(
    (product, i) => new KeepAliveClient(nodes, i % 2, product, i < 8 ? 0 : 10),
  );
  let isOver = false;
  const working = clients.map((client) => client.work(() => isOver));
  const total = (count: 'acknowledged' | 'announced' | 'unanswered') =>
    clients.reduce((sum, client) => sum + client[count], 0);
  for (let restart = 0; restart < 2; restart += 1) {
    const before = total('acknowledged');
    await expect.poll(() => total('acknowledged')).toBeGreaterThan(before + 200);
    const old = nodes[restart % 2];
    if (old === undefined) throw new Error('no such node');
    expect(await timeToEnd(old, 0)).toBeLessThan(5_000);
    nodes[restart % 2] = await start();
  }
  isOver = true;
  await Promise.all(working);
  expect(clients.flatMap((client) => client.faults)).toEqual([]);
  expect(total('announced')).toBeGreaterThan(0);
  expect(total('unanswered')).toBeLessThanOrEqual(total('announced'));
  const kept = await Promise.all(products.map(movementsOf));
  expect(kept).toEqual(clients.map((client) => client.acknowledged));
}, 60_000);

test('a node whose database does not answer still ends within the drain time', async () => {
  const proxy = new DatabaseProxy(db.serviceUrl);
  const service = await start(await proxy.listen());
  const product = await given.product(merchant);
  expect((await service.api.post(path, adjustment(product, 1))).status).toBe(201);
  // Denials and last uses are written a little later, so something is left to write.
  expect((await service.api.get('/products', { token: 'tb_pat_forged' })).status).toBe(401);
  proxy.toDatabase = (bytes) => {
    proxy.isHole = true;
    return bytes;
  };
  const running = service.api.post(path, adjustment(product, 2));
  await expect.poll(() => proxy.isHole).toBe(true);
  const [answer, took] = await Promise.all([running, timeToEnd(service, 0)]);
  expect(answer.status).toBe(503);
  expect(took).toBeLessThan(limits.drainTimeout + 1_500);
  await proxy.close();
});

test('a node ends at once at a second signal; its requests can be sent again', async () => {
  const [stopped, other] = await Promise.all([start(), start()]);
  const product = await given.product(merchant);
  const acknowledged = newKey();
  expect((await stopped.api.post(path, adjustment(product, 1), { key: acknowledged })).status).toBe(
    201,
  );
  const session = await db.session();
  await session.query('begin');
  await session.query('select 1 from inventory_levels where product_id = $1 for update', [product]);
  const key = newKey();
  const running = stopped.api.post(path, adjustment(product, 2), { key }).catch(() => 'no answer');
  await expect.poll(() => waitsOf(db)).toBe(1);
  const end = stopped.end('SIGTERM');
  // A signal within half a second counts as the same Ctrl-C.
  await sleep(600);
  stopped.child.kill('SIGTERM');
  const secondAt = performance.now();
  expect(await end).toBe(1);
  expect(performance.now() - secondAt).toBeLessThan(500);
  expect(await running).toBe('no answer');
  await session.query('commit');
  const again = await other.api.post(path, adjustment(product, 2), { key });
  expect(again.status).toBe(201);
  expect(again.body.data).toMatchObject({ quantity_before: '1', quantity_after: '2' });
  const replay = await other.api.post(path, adjustment(product, 1), { key: acknowledged });
  expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect(await movementsOf(product)).toBe(2);
});

test('a signal at the moment when a start ends is not lost', async () => {
  // The start removes its handlers; the signal comes just before.
  const atHandOver = `const { removeListener } = process;
    process.removeListener = function (name, ...rest) {
      if (name === 'SIGTERM') process.kill(process.pid, name);
      return removeListener.call(this, name, ...rest);
    };`;
  const preloaded = `--import=data:text/javascript,${encodeURIComponent(atHandOver)}`;
  const service = await startProcess(db, { NODE_OPTIONS: preloaded });
  started.push(service);
  if (service.child.exitCode === null) await once(service.child, 'exit');
  expect(service.child.exitCode).toBe(0);
  expect(service.log()).toContain('"stopping"');
});
