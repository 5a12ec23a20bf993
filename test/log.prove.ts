// A log that cannot be written: its disk is full, or its reader has stopped. The service continues
// as before, its memory stays bounded, every line is written or counted, and the process ends when
// it gets a signal.

import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from './kit/database.ts';
import { testSecret } from './kit/environment.ts';
import { Given } from './kit/given.ts';
import { freePort } from './kit/port.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';
import { RawConnection } from './kit/raw.ts';

const waitingMax = 4 * 2 ** 20;
const pipeSize = 2 ** 16;
/** More lines than the buffer holds: a line has 150 bytes. */
const floodOfRequests = 32_000;
// A busy machine may need longer.
vi.setConfig({ testTimeout: 60_000 });

let db: TestDatabase;
let token: string;
let directory: string;
let service: ServiceProcess;
let metricsUrl: string;
let descriptor: number;

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  ({ token } = await given.credential(await given.merchant()));
  directory = mkdtempSync(join(tmpdir(), 'tallybook-log-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await db.drop();
});

async function startWithLog(to: number): Promise<void> {
  descriptor = to;
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  // The cheapest requests are probes, which have a line at this level only.
  const env = { TALLYBOOK_METRICS_PORT: String(port), TALLYBOOK_LOG_LEVEL: 'debug' };
  service = await startProcess(db, env, { logTo: to });
}

/** A pipe without a reader, until a test opens it. */
function pipeNamed(name: string): { path: string; descriptor: number } {
  const path = join(directory, name);
  execFileSync('mkfifo', [path]);
  return { path, descriptor: openSync(path, 'r+') };
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(text.match(new RegExp(`^${name} (\\S+)$`, 'm'))?.[1]);
}

const linesLost = () => metric('tallybook_log_lines_lost_total');

/** Cheap requests, because only their log lines matter. */
async function flood(requests: number): Promise<void> {
  const atOnce = 200;
  const request = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  let left = requests;
  const lane = async () => {
    let connection = await RawConnection.open(service.api.origin);
    for (let sent = 0; left > 0; sent += atOnce) {
      left -= atOnce;
      if (sent >= 9_000) {
        connection.end();
        connection = await RawConnection.open(service.api.origin);
        sent = 0;
      }
      connection.send(request.repeat(atOnce));
      for (let i = 0; i < atOnce; i += 1) expect((await connection.next())?.status).toBe(200);
    }
    connection.end();
  };
  await Promise.all([lane(), lane()]);
}

/** The median time of a request, one after the other. */
async function latency(): Promise<number> {
  const api = service.api.as(token);
  const times: number[] = [];
  for (let i = 0; i < 50; i += 1) {
    const startedAt = performance.now();
    expect((await api.get('/credential')).status).toBe(200);
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b)[25] ?? 0;
}

async function expectToEndInTime(): Promise<void> {
  const toldAt = performance.now();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(performance.now() - toldAt).toBeLessThan(5_000);
}

const untaken = [
  ['because its disk is full', () => openSync('/dev/full', 'w')],
  ['because it has no reader', () => pipeNamed(randomUUID()).descriptor],
] as const;

describe('a log that cannot be written', () => {
  afterEach(async () => {
    await service.end('SIGKILL');
    closeSync(descriptor);
  });

  test.each(untaken)(
    '%s costs no request, is counted, and does not keep the process',
    async (_, open) => {
      await startWithLog(open());
      await flood(floodOfRequests);
      expect(await latency()).toBeLessThan(200);
      expect(await linesLost()).toBeGreaterThan(floodOfRequests / 10);
      expect(await metric('process_resident_memory_bytes')).toBeLessThan(400 * 2 ** 20);
      await expectToEndInTime();
    },
  );

  test('continues when it has a reader: each line is whole, or counted', async () => {
    const pipe = pipeNamed('late');
    await startWithLog(pipe.descriptor);
    await flood(floodOfRequests);
    const lost = await linesLost();
    const requests: number[] = [];
    let said: unknown;
    let size = 0;
    const reader = createInterface({ input: createReadStream(pipe.path) });
    reader.on('line', (text) => {
      const line = JSON.parse(text);
      if (line.msg === 'request') {
        requests.push(line.status);
        size += text.length + 1;
      } else if ('lost' in line) {
        said = line.lost;
      }
    });
    await expect.poll(() => said).toBe(lost);
    expect(requests.length + lost).toBe(floodOfRequests);
    expect(size).toBeLessThan(waitingMax + pipeSize);
    await expectToEndInTime();
    reader.close();
  });
});

test.each(untaken)(
  'an unexpected error ends the process when its log cannot be written %s',
  async (_, open) => {
    const dist = new URL('../dist/', import.meta.url).href;
    const script = `
    const { createLog, LogWriter } = await import('${dist}log.js');
    const { endOnUnexpected } = await import('${dist}node/signals.js');
    const log = createLog('info', LogWriter.toStandardError());
    endOnUnexpected(log);
    for (let line = 0; line < 2_000; line += 1) log.info({ line }, 'one of many');
    setTimeout(() => Promise.reject(new Error('nobody caught it')), 300);
    setInterval(() => undefined, 1_000);`;
    const to = open();
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', to],
      // A second on a quiet machine; with six at once on a busy one, up to eight.
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    expect(await once(child, 'exit')).toEqual([70, null]);
    closeSync(to);
  },
);

test('a service starts and ends with both of its outputs on a full disk', async () => {
  const port = await freePort();
  const full = openSync('/dev/full', 'w');
  const program = fileURLToPath(new URL('../bin/tallybook.js', import.meta.url));
  const flags = ['--database-url', db.serviceUrl, '--port', String(port)];
  const env = { TALLYBOOK_MIGRATE_URL: db.ownerUrl, TALLYBOOK_SECRET: testSecret };
  const child = spawn(process.execPath, [program, 'serve', ...flags], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', full, full],
    timeout: 25_000,
    killSignal: 'SIGKILL',
  });
  closeSync(full);
  const exit = once(child, 'exit');
  const statusOf = async (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ status }) => status,
      () => undefined,
    );
  await expect.poll(() => statusOf('/readyz')).toBe(200);
  expect(await statusOf('/healthz')).toBe(200);
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
});
