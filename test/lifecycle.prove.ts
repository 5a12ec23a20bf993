import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, newKey } from './kit/api.ts';
import { type ServiceProcess, serveProcess } from './kit/process.ts';
import { RawConnection } from './kit/raw.ts';

let data: string;
let service: ServiceProcess;
let api: Api;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'tallybook-life-'));
  await serveAgain(['--demo']);
});
afterAll(async () => {
  await service.end('SIGTERM');
  await rm(data, { recursive: true, force: true });
});

let token: string;

async function serveAgain(flags: string[] = []): Promise<void> {
  service = await serveProcess(['--data', data, ...flags], { TALLYBOOK_LOG_LEVEL: 'warn' });
  token = service.greeting.token ?? token;
  api = service.api.as(token);
}

async function postmaster(): Promise<number> {
  const [pid = ''] = (await readFile(join(data, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}

/** Processes that have the data directory on their command line or as their directory. */
async function processesOn(directory: string): Promise<number> {
  let found = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(directory)) found += 1;
  }
  return found;
}

async function demoPair(): Promise<{ product_id: string; location_id: string }> {
  const products = await api.get('/products?limit=1');
  const locations = await api.get('/locations?limit=1');
  return { product_id: products.body.data[0].id, location_id: locations.body.data[0].id };
}

let target = 5_000;
async function adjust(key = newKey()) {
  target += 1;
  const target_quantity = String(target);
  const body = { ...(await pair()), target_quantity, reason: 'correction' };
  return { body, key, answer: await api.post('/inventory/adjustments', body, { key }) };
}

let kept: Promise<{ product_id: string; location_id: string }> | undefined;
function pair() {
  kept ??= demoPair();
  return kept;
}

describe('a service on its own data directory', () => {
  test('starts with a demo merchant that has something to look at', async () => {
    const count = async (path: string) => (await api.get(`${path}?limit=200`)).body.data.length;
    expect(await count('/locations')).toBe(3);
    expect(await count('/products')).toBe(60);
    expect(await count('/customers')).toBe(40);
    expect(await count('/inventory/movements')).toBe(200);
    expect(service.greeting.base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
  });

  test('keeps what it acknowledged when it is killed, and replays it', async () => {
    const { body, key, answer } = await adjust();
    expect(answer.status).toBe(201);
    await service.end('SIGKILL');
    await serveAgain();
    expect(service.greeting.token).toBeNull();
    const replay = await api.post('/inventory/adjustments', body, { key });
    expect(replay.status).toBe(201);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.body.data).toEqual(answer.body.data);
  });

  test('leaves no process and no file behind when it is stopped', async () => {
    const { answer } = await adjust();
    expect(await service.end('SIGINT')).toBe(0);
    expect(await processesOn(data)).toBe(0);
    expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false);
    await serveAgain();
    const level = answer.body.data.level;
    const read = await api.get(
      `/inventory/levels?location_id=${level.location_id}&product_id=${level.product_id}`,
    );
    expect(read.body.data[0].quantity).toBe(level.quantity);
  });
});

describe('a killed database', () => {
  test('is 503 with Retry-After, and the same process recovers by itself', async () => {
    const { pid } = service.child;
    for (let round = 0; round < 3; round += 1) {
      const before = await adjust();
      expect(before.answer.status).toBe(201);
      const killed = await postmaster();
      process.kill(killed, 'SIGKILL');
      // Until the server is gone, its backends may still answer.
      await expect.poll(() => isAlive(killed)).toBe(false);
      const killedAt = performance.now();
      const seen = new Set<number>();
      let recovered = false;
      while (!recovered && performance.now() - killedAt < 10_000) {
        const { answer } = await adjust();
        seen.add(answer.status);
        recovered = answer.status === 201;
        if (!recovered) {
          expect(answer.code, service.log()).toBe('service_unavailable');
          expect(answer.body.error.retryable).toBe(true);
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        }
      }
      expect(recovered).toBe(true);
      const again = await api.post('/inventory/adjustments', before.body, { key: before.key });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(service.child.pid).toBe(pid);
    expect(service.child.exitCode).toBeNull();
  });
});

describe('a service stopped under load', () => {
  test('finishes what it accepted and exits 0', async () => {
    const outcomes: string[] = [];
    let isOver = false;
    const writes = new Map<string, object>();
    const unanswered = new Map<string, object>();
    const clients = Array.from({ length: 16 }, async () => {
      while (!isOver) {
        const key = newKey();
        target += 1;
        const target_quantity = String(target);
        const body = { ...(await pair()), target_quantity, reason: 'correction' };
        try {
          const answer = await api.post('/inventory/adjustments', body, { key });
          outcomes.push(answer.code ?? String(answer.status));
          if (answer.status === 201) writes.set(key, body);
        } catch {
          // The service closed its port, or the connection, before it received the request.
          unanswered.set(key, body);
          isOver = true;
        }
      }
    });
    await expect.poll(() => outcomes.length).toBeGreaterThan(100);
    const stoppedAt = performance.now();
    expect(await service.end('SIGTERM')).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(5_000);
    isOver = true;
    await Promise.all(clients);
    expect(new Set(outcomes)).toEqual(new Set(['201']));
    await serveAgain();
    for (const [key, body] of [...writes].slice(-50)) {
      const replay = await api.post('/inventory/adjustments', body, { key });
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
    }
    for (const [key, body] of unanswered) {
      const first = await api.post('/inventory/adjustments', body, { key });
      expect(first.status).toBe(201);
      expect(first.headers.get('idempotent-replayed')).toBeNull();
    }
  });
});

describe('a service stopped twice', () => {
  test('ends at once, and its private server ends too, cleanly', async () => {
    const { body, key, answer } = await adjust();
    expect(answer.status).toBe(201);
    const server = await postmaster();
    // The service would wait for an incomplete request until the drain time is over.
    const slow = await RawConnection.open(service.api.origin);
    slow.send('POST /api/v1/customers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{');
    await api.get('/credential');
    const end = service.end('SIGTERM');
    // A signal within half a second counts as the same Ctrl-C.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(service.child.exitCode).toBeNull();
    const toldAt = performance.now();
    service.child.kill('SIGTERM');
    expect(await end).toBe(1);
    expect(performance.now() - toldAt).toBeLessThan(1_000);
    await slow.hungUp();
    await expect.poll(() => isAlive(server)).toBe(false);
    expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false);
    await serveAgain();
    const replay = await api.post('/inventory/adjustments', body, { key });
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a service whose metrics have no port ends, and leaves nothing running', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-life-'));
  const env = { TALLYBOOK_METRICS_PORT: String(port) };
  await expect(serveProcess(['--data', directory], env)).rejects.toThrow(
    /ended with 1: .*the port is in use: name another one with TALLYBOOK_METRICS_PORT/s,
  );
  expect(await processesOn(directory)).toBe(0);
  taken.close();
  await rm(directory, { recursive: true, force: true });
});
