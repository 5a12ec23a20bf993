// One node of several processes: workers that are killed and replaced under writes, limits and
// metrics that are one, and how all of it ends.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintToken } from '../src/access/token.ts';
import { limits } from '../src/core/limits.ts';
import { roomFor } from '../src/database/room.ts';
import { connectionsOf } from '../src/database/server-connections.ts';
import { type Api, newKey } from './kit/api.ts';
import { createTestDatabase, type TestDatabase, waitsOf, withoutLimits } from './kit/database.ts';
import { Given } from './kit/given.ts';
import { TestPasskey } from './kit/passkey.ts';
import { freePort } from './kit/port.ts';
import { type ServiceProcess, serveProcess, startProcess } from './kit/process.ts';
import { DatabaseProxy } from './kit/proxy.ts';
import { RawConnection } from './kit/raw.ts';
import { connectionToEach, isThere, until, workersOf } from './kit/workers.ts';

let db: TestDatabase;
let given: Given;
let merchant: string;
let location: string;
let token: string;
const started: ServiceProcess[] = [];

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

const two = { TALLYBOOK_WORKERS: '2' };

async function start(env: Record<string, string> = {}, url = db.serviceUrl) {
  const service = await startProcess({ ...db, serviceUrl: url }, { ...two, ...env });
  started.push(service);
  return service;
}

/** The next one may be at another worker. */
const onNewConnection = { Connection: 'close' };

function adjustment(product: string, target: number) {
  return {
    product_id: product,
    location_id: location,
    target_quantity: String(target),
    reason: 'correction',
  };
}

interface Work {
  readonly keys: Map<string, { readonly body: object; readonly operation: string }>;
  readonly faults: string[];
  end(): Promise<void>;
}

/** Clients that write one after the other, and repeat with its key what was not answered. */
function writing(api: Api, products: readonly string[]): Work {
  const keys: Work['keys'] = new Map();
  const faults: string[] = [];
  let isOver = false;
  const client = async (product: string) => {
    for (let target = 1; !isOver; target += 1) {
      const key = newKey();
      const body = adjustment(product, target);
      const answer = await insist(api, body, key);
      const operation = answer?.body?.meta?.operation_id;
      if (answer?.status === 201) keys.set(key, { body, operation });
      else faults.push(`${answer?.status}: ${answer?.code}`);
    }
  };
  const clients = products.map(client);
  return {
    ...{ keys, faults },
    end: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

async function insist(api: Api, body: object, key: string) {
  for (let tries = 0; tries < 500; tries += 1) {
    const answer = await api.post('/inventory/adjustments', body, { key }).catch(() => undefined);
    if (answer !== undefined && answer.status < 500) return answer;
    await sleep(20);
  }
  return undefined;
}

async function isAllThere(api: Api, { keys, faults }: Work, products: readonly string[]) {
  expect(faults).toEqual([]);
  const [row] = await db.sql(
    `select count(*)::int as movements, count(distinct operation_id)::int as operations
     from inventory_movements where product_id = any ($1)`,
    [products],
  );
  expect(row).toEqual({ movements: keys.size, operations: keys.size });
  for (const [key, { body, operation }] of keys) {
    const again = await api.post('/inventory/adjustments', body, { key });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.meta.operation_id).toBe(operation);
  }
}

const productsOf = (count: number) =>
  Promise.all(Array.from({ length: count }, () => given.product(merchant)));

const headOf = (caller = token) => `Host: shop\r\nAuthorization: Bearer ${caller}\r\n`;
const getOf = (path: string, caller = token) =>
  `GET /api/v1${path} HTTP/1.1\r\n${headOf(caller)}\r\n`;
const postOf = (body: object) => {
  const text = JSON.stringify(body);
  return (
    `POST /api/v1/inventory/adjustments HTTP/1.1\r\n${headOf()}Idempotency-Key: ${newKey()}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  );
};

/** Lines of the log of a service, each JSON. */
const linesOf = (service: ServiceProcess): Record<string, unknown>[] =>
  service
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('workers', () => {
  test('that end under writes are replaced while others serve, and nothing is lost', async () => {
    const preload = fileURLToPath(new URL('./kit/fill-memory.mjs', import.meta.url));
    const service = await start({
      NODE_OPTIONS: `--max-old-space-size=256 --import=${preload}`,
    });
    const { pid } = service.child;
    const api = service.api.as(token);
    const products = await productsOf(4);
    const work = writing(api, products);
    for (let kill = 0; kill < 4; kill += 1) {
      const before = workersOf(pid);
      expect(before).toHaveLength(2);
      const enough = work.keys.size + 40;
      await until('writes are acknowledged', () => work.keys.size >= enough);
      const victim = before[kill % 2] ?? 0;
      // At the third, all clients are at the victim: they go to the one that is left.
      process.kill(victim, kill === 2 ? 'SIGWINCH' : 'SIGKILL');
      await until('it has ended', () => service.log().includes(`"worker":${victim},"code"`));
      const served = work.keys.size;
      const serves = `"msg":"a worker serves"`;
      const count = kill + 3;
      await until('another one serves', () => service.log().split(serves).length - 1 >= count);
      expect(work.keys.size).toBeGreaterThan(served);
    }
    await work.end();
    await isAllThere(api, work, products);
    const ended = linesOf(service).filter(({ msg }) => msg === 'a worker ended');
    expect(ended.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL', 'SIGABRT', 'SIGKILL']);
    const words = linesOf(service).filter(({ msg }) => msg === 'a worker wrote');
    expect(words.map(({ text }) => text).join()).toContain('heap out of memory');
    expect(await service.end()).toBe(0);
  });

  test('are replaced one by one at SIGUSR2, and no request fails', async () => {
    const service = await start();
    const before = workersOf(service.child.pid);
    const product = await given.product(merchant);
    const faults: string[] = [];
    let answered = 0;
    let isOver = false;
    const client = async (path: string, write: boolean) => {
      let connection: RawConnection | undefined;
      for (let target = 1; !isOver; target += 1) {
        connection ??= await RawConnection.open(service.api.origin);
        connection.send(write ? postOf(adjustment(product, target)) : getOf(path));
        const answer = await connection.next();
        // A second client may have set the same quantity: that is an answer, too.
        const isGood = answer !== undefined && answer.status < 429;
        if (isGood) answered += 1;
        else faults.push(answer?.text ?? 'the connection was closed');
        if (answer === undefined || answer.headers.connection === 'close') {
          connection.end();
          connection = undefined;
        }
        await sleep(10);
      }
      connection?.end();
    };
    const clients = [true, true, false, false, false].map((write) => client('/products', write));
    service.child.kill('SIGUSR2');
    try {
      await until('all are replaced', () => {
        expect(service.log()).not.toContain('were not replaced');
        return service.log().includes('replaced the workers');
      });
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    expect(faults).toEqual([]);
    expect(answered).toBeGreaterThan(100);
    const after = workersOf(service.child.pid);
    expect(after).toHaveLength(2);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(await service.end()).toBe(0);
  });

  test('end at once when the main process is killed', async () => {
    const service = await start();
    const workers = workersOf(service.child.pid);
    await service.end('SIGKILL');
    await until('they have ended', () => !workers.some(isThere));
  });

  test('that end at each start are started less and less often', async () => {
    const service = await start();
    const { pid } = service.child;
    const began = performance.now();
    for (let kill = 0; kill < 5; kill += 1) {
      const [victim = 0] = workersOf(pid).slice(-1);
      process.kill(victim, 'SIGKILL');
      await until('another one is there', () => {
        const now = workersOf(pid);
        return now.length === 2 && !now.includes(victim);
      });
    }
    const delays = linesOf(service)
      .filter(({ msg }) => msg === 'a worker ended')
      .map(({ delay }) => delay);
    expect(delays).toEqual([0, 400, 800, 1_600, 3_200]);
    expect(performance.now() - began).toBeGreaterThan(6_000);
    expect((await service.api.as(token).get('/products')).status).toBe(200);
    expect(await service.end()).toBe(0);
  });

  test('that cannot start end the program with the reason', async () => {
    const wrong = startProcess(db, { ...two, TALLYBOOK_HOST: '192.0.2.1' });
    await expect(wrong).rejects.toThrow(
      /serve ended with 1: .*cannot listen on 192.0.2.1, port 0, because this machine has no such/s,
    );
    const tooMany = startProcess(db, { TALLYBOOK_WORKERS: '64' });
    await expect(tooMany).rejects.toThrow(
      /serve ended with 2: .*64 workers need [0-9]+ connections to the database, and it has/s,
    );
  });
});

describe('two workers are one node', () => {
  let service: ServiceProcess;
  let metricsPort: number;
  let proxy: DatabaseProxy;
  const poolingLooks = new Set<string>();

  beforeAll(async () => {
    metricsPort = await freePort();
    proxy = new DatabaseProxy(db.serviceUrl);
    proxy.toDatabase = (bytes) => {
      const names = bytes.toString('latin1').match(/pooling_[0-9a-f]{16}/g) ?? [];
      for (const name of names) poolingLooks.add(name);
      return bytes;
    };
    const env = { TALLYBOOK_METRICS_PORT: String(metricsPort) };
    service = await start(env, await proxy.listen());
  });
  afterAll(async () => {
    await service.end('SIGKILL');
    await proxy.close();
  });

  async function metric(line: RegExp): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(line.exec(text)?.[1] ?? Number.NaN);
  }

  test('that answers thirty failures of an address with 401, whoever gets them', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 40; n += 1) {
      const { status } = await fetch(`${service.api.origin}/api/v1/products`, {
        headers: {
          ...onNewConnection,
          Authorization: `Bearer tb_pat_${'x'.repeat(43)}`,
          'X-Forwarded-For': '203.0.113.9',
        },
      });
      statuses.push(status);
    }
    // One more comes back every two seconds.
    const refused = statuses.filter((status) => status === 429).length;
    expect(statuses.slice(0, 30)).toEqual(Array(30).fill(401));
    expect(refused).toBeGreaterThan(0);
    const connections = await db.sql(
      `select count(*)::int as n from pg_stat_activity where datname = current_database()
         and application_name = 'tallybook'`,
    );
    expect(connections[0]?.n).toBeLessThanOrEqual(60);
  });

  test('that counts failures of clients who have left, and serves on', async () => {
    const { origin } = service.api;
    const guess = () => ({ Authorization: `Bearer ${mintToken('pat')}`, ...onNewConnection });
    const line = 'GET /api/v1/products HTTP/1.1\r\nHost: shop';
    const session = await db.session();
    await session.query('begin; lock table credential_tokens in access exclusive mode');
    const clients = await Promise.all([1, 2, 3, 4].map(() => RawConnection.open(origin)));
    for (const one of clients)
      one.send(`${line}\r\nAuthorization: ${guess().Authorization}\r\n\r\n`);
    await until('tokens are looked up', async () => (await waitsOf(db)) >= 2);
    for (const { socket } of clients) socket.resetAndDestroy();
    // A worker knows that they have left once it has answered these.
    for (let n = 0; n < 4; n += 1) await fetch(`${origin}/healthz`, { headers: onNewConnection });
    await session.query('commit');
    await session.end();
    // These are counted behind those of the clients who have left.
    const headers = () => ({ ...guess(), 'X-Forwarded-For': '203.0.113.10' });
    for (let n = 0; n < 4; n += 1) {
      const { status } = await fetch(`${origin}/api/v1/products`, { headers: headers() });
      expect(status).toBe(401);
    }
    expect(service.child.exitCode).toBe(null);
    expect(linesOf(service).filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('that counts the connections of all, and those of webhooks once', async () => {
    const { each, deliveries } = connectionsOf(roomFor(2).reads);
    const most = await metric(/^tallybook_database_connections_max (\d+)$/m);
    expect(most).toBe(2 * each + deliveries);
  });

  test('that looks once for a pooler', () => {
    expect(poolingLooks.size).toBe(1);
  });

  /** A request of a page of the console. */
  async function send(at: RawConnection | undefined, path: string, body?: object, cookie = '') {
    const { host, origin } = new URL(service.api.origin.replace('127.0.0.1', 'localhost'));
    const text = body === undefined ? '' : JSON.stringify(body);
    at?.send(
      `${body === undefined ? 'GET' : 'POST'} /console${path} HTTP/1.1\r\nHost: ${host}\r\n` +
        `Origin: ${origin}\r\nCookie: ${cookie}\r\nX-Forwarded-For: 198.51.100.7\r\n` +
        (body === undefined ? '' : 'Content-Type: application/json\r\n') +
        `Content-Length: ${text.length}\r\n\r\n${text}`,
    );
    const answer = await at?.next();
    if (answer === undefined) throw new Error('no answer');
    return answer;
  }

  test('where a person signs in at one worker and goes on at the other', async () => {
    const shop = await given.merchant();
    const owner = service.api.as((await given.credential(shop)).token);
    const invited = await owner.post('/people', { name: 'Ada', role: 'owner' });
    const { id, invitation } = invited.body.data;
    const connections = await connectionToEach(service);
    const [here, there] = connections;
    const passkey = new TestPasskey(service.api.origin.replace('127.0.0.1', 'localhost'));
    const shown = await send(here, '/session/invitation', { invitation });
    const registered = passkey.register(shown.json.data.passkey_options);
    const joined = await send(there, '/session/accept', { invitation, passkey: registered });
    expect(joined.status).toBe(201);
    const first = joined.headers['set-cookie']?.split(';')[0];
    expect((await send(here, '/api/v1/credential', undefined, first)).json.data.id).toBe(id);
    const asked = await send(here, '/session/passkey/challenge', {});
    const answered = passkey.answer(asked.json.data.passkey_options);
    const again = await send(there, '/session/passkey', { passkey: answered });
    const second = again.headers['set-cookie']?.split(';')[0];
    expect((await send(here, '/api/v1/credential', undefined, second)).json.data.id).toBe(id);
    // What ends at one has ended at the other, at once.
    expect((await send(there, '/session/end', {}, second)).status).toBe(200);
    expect((await send(here, '/api/v1/credential', undefined, second)).status).toBe(401);
    expect((await send(here, '/api/v1/credential', undefined, first)).status).toBe(200);
    for (const connection of connections) connection.end();
  });

  test('that admits the burst of a limit once, not once for each worker', async () => {
    const connections = await connectionToEach(service);
    let statuses: (number | undefined)[] = [];
    let slowest = Number.POSITIVE_INFINITY;
    // Each request asks the database, and a worker that gets no answer in time counts by itself.
    while (slowest >= limits.leaseTimeout) {
      slowest = 0;
      const limited = await given.credential(await given.merchant());
      await db.sql(
        'update credentials set requests_per_minute = 1, request_burst = 6 where id = $1',
        [limited.id],
      );
      const press = async (connection: RawConnection) => {
        const got: (number | undefined)[] = [];
        for (let n = 0; n < 8; n += 1) {
          const begun = performance.now();
          connection.send(getOf('/credential', limited.token));
          got.push((await connection.next())?.status);
          slowest = Math.max(slowest, performance.now() - begun);
        }
        return got;
      };
      statuses = (await Promise.all(connections.map(press))).flat();
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    for (const connection of connections) connection.end();
  });

  test('whose counters do not go down when a worker is killed', async () => {
    const count = /^tallybook_requests_total\{method="GET",route="\/readyz",status="200"\} (\d+)$/m;
    for (let n = 0; n < 20; n += 1) {
      await fetch(`${service.api.origin}/readyz`, { headers: onNewConnection });
    }
    expect(await metric(count)).toBe(20);
    expect(await metric(/^tallybook_workers (\d+)$/m)).toBe(2);
    expect(await metric(/^tallybook_ready (\d+)$/m)).toBe(1);
    const [victim = 0] = workersOf(service.child.pid);
    process.kill(victim, 'SIGKILL');
    await until('it is gone', () => !isThere(victim));
    expect(await metric(count)).toBe(20);
    await until(
      'another one serves',
      async () => (await metric(/^tallybook_workers (\d+)$/m)) === 2,
    );
    await fetch(`${service.api.origin}/readyz`, { headers: onNewConnection });
    expect(await metric(count)).toBe(21);
    expect(await metric(/^tallybook_workers_ended_total (\d+)$/m)).toBe(1);
  });

  test('where who waits for events hears of a write, whichever worker either is at', async () => {
    const shop = await given.merchant();
    const place = await given.location(shop);
    const product = await given.product(shop);
    const { token: ofShop } = await given.credential(shop);
    const api = service.api.as(ofShop);
    let seen = 'after_position=0';
    for (let target = 1; target <= 4; target += 1) {
      const waits = [1, 2, 3].map(() => api.get(`/events?${seen}&wait=8`));
      const body = { ...adjustment(product, target), location_id: place };
      expect((await api.post('/inventory/adjustments', body)).status).toBe(201);
      const pages = await Promise.all(waits);
      expect(pages.map(({ code, body }) => code ?? body.data.length)).toEqual([1, 1, 1]);
      const { through_position, journal } = pages[0]?.body.meta ?? {};
      seen = `after_position=${through_position}&journal=${journal}`;
    }
  });

  test('whose log is one, of whole lines', async () => {
    const api = service.api.as(token);
    await Promise.all(Array.from({ length: 400 }, () => api.get('/products')));
    expect(await service.end()).toBe(0);
    const requests = linesOf(service).filter(({ route }) => route === '/api/v1/products');
    expect(requests.length).toBeGreaterThanOrEqual(400);
    expect(linesOf(service).filter(({ msg }) => msg === 'a worker wrote')).toEqual([]);
  });
});

test('a private PostgreSQL has room for its workers, and SIGTERM ends all of them', async () => {
  const data = await mkdtemp(join(tmpdir(), 'tallybook-workers-'));
  try {
    // Of these it would have 100 by itself.
    const { needed } = roomFor(6);
    expect(needed).toBeGreaterThan(85);
    const flags = ['--data', data, '--demo', '--workers', '6'];
    const service = await serveProcess(flags, { TALLYBOOK_LOG_LEVEL: 'info' });
    started.push(service);
    const workers = workersOf(service.child.pid);
    expect(workers).toHaveLength(6);
    const room = { level: 'info', workers: 6, needed, available: needed + 15 - 3, nodes: 1 };
    expect(linesOf(service)).toContainEqual(expect.objectContaining(room));
    const api = service.api.as(service.greeting.token ?? '');
    expect((await api.get('/products')).status).toBe(200);
    // As a terminal does.
    for (const pid of workers) process.kill(pid, 'SIGTERM');
    const begun = performance.now();
    expect(await service.end('SIGTERM')).toBe(0);
    expect(performance.now() - begun).toBeLessThan(12_000);
    expect(workers.some(isThere)).toBe(false);
    const said = linesOf(service).map(({ msg }) => msg);
    expect(said.at(-1)).toBe('PostgreSQL is stopped');
    expect(said.filter((msg) => msg === 'a worker ended')).toEqual([]);
  } finally {
    await rm(data, { recursive: true, force: true });
  }
});
