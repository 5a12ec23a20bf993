// The samples of deploy/, each run by the program that it is for: a client speaks to a real service
// through the proxies, promtool tries the rules of alerts, systemd reads the unit. Where a program
// is not installed, its tests say so.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate, writeCertificate } from './kit/certificates.ts';
import { createTestDatabase, type TestDatabase } from './kit/database.ts';
import { testSecret } from './kit/environment.ts';
import { Given } from './kit/given.ts';
import { httpProxies, startProxy } from './kit/http-proxies.ts';
import { freePort } from './kit/port.ts';
import { type ServiceProcess, serveProcess, startProcess } from './kit/process.ts';
import { changed, inPath, isInstalled, sampleOf } from './kit/samples.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'tallybook-deploy-'));
const certificate = makeCertificate();
const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
let db: TestDatabase;
let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  writeCertificate(certificate, files);
  db = await createTestDatabase();
  const given = new Given(db);
  ({ token } = await given.credential(await given.merchant()));
  service = await startProcess(db);
});
afterAll(async () => {
  await service.end();
  await db.drop();
  rmSync(directory, { recursive: true, force: true });
});

interface Answered {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: { readonly error?: { readonly code: string }; readonly meta?: object };
}

/** From an address that is not a trusted proxy's. */
function ask(
  port: number,
  path: string,
  options: { readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<Answered> {
  const { headers = {}, body } = options;
  const from = { host: '127.0.0.1', localAddress: '127.0.0.2', port, ca: certificate.cert };
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const sent = request({ ...from, path, method, headers, agent: false }, async (response) => {
      let text = '';
      for await (const chunk of response) text += String(chunk);
      // A proxy that knows no node yet says so in HTML.
      const body = text.startsWith('{') ? JSON.parse(text) : {};
      resolve({ status: response.statusCode, headers: response.headers, body });
    });
    sent.on('error', reject).end(body);
  });
}

describe.each(httpProxies)('the sample of $name', (proxy) => {
  test('passes credentials, keys, addresses and bodies as they are', async (context) => {
    if (!isInstalled(proxy.name)) context.skip(`${proxy.name} is not installed`);
    const folder = { directory, files, ca: certificate.cert };
    const running = await startProxy(proxy, service.api.origin, folder);
    try {
      await expectToPass(running.port);
    } finally {
      running.stop();
    }
  });

  test('waits for a busy node, and does not refuse what the node can answer', async (context) => {
    if (!isInstalled(proxy.name)) context.skip(`${proxy.name} is not installed`);
    const folder = { directory, files, ca: certificate.cert };
    const running = await startProxy(proxy, service.api.origin, folder);
    const read = () =>
      ask(running.port, '/api/v1/credential', { headers: { Authorization: `Bearer ${token}` } });
    try {
      service.child.kill('SIGSTOP');
      const during = Array.from({ length: 12 }, async (_, n) => {
        await sleep(n * 500);
        return read();
      });
      await sleep(6_000);
      service.child.kill('SIGCONT');
      const answers = [...(await Promise.all(during)), await read()];
      expect(answers.map(({ status }) => status)).toEqual(Array(13).fill(200));
    } finally {
      service.child.kill('SIGCONT');
      running.stop();
    }
  });
});

async function expectToPass(port: number): Promise<void> {
  const path = '/api/v1/customers';
  const write = (key: string, note: string) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Idempotency-Key': `${key}-${port}`,
      'Content-Type': 'application/json',
      'X-Forwarded-For': '203.0.113.9',
    };
    return ask(port, path, {
      headers,
      body: JSON.stringify({ name: 'Ada', email: `${key}-${port}@example.com`, note }),
    });
  };
  const first = await write('through-a-proxy', 'canary');
  expect(first.status).toBe(201);
  const again = await write('through-a-proxy', 'canary');
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(again.body.meta).toMatchObject({
    operation_id: (first.body.meta as { operation_id: string }).operation_id,
  });
  // Judged by the service, not by the proxy: both answers are in its form.
  expect((await write('a-large-body', 'x'.repeat(60_000))).body.error?.code).toBe(
    'validation_failed',
  );
  const tooLarge = await write('a-too-large-body', 'x'.repeat(100_000));
  expect([tooLarge.status, tooLarge.body.error?.code]).toEqual([413, 'content_too_large']);
  // With the longest header that the service takes.
  const long = { Authorization: `Bearer ${token}`, 'X-Long': 'x'.repeat(12_000) };
  expect((await ask(port, '/api/v1/credential', { headers: long })).status).toBe(200);
  // A claim of the caller is not believed: its address is the one that the proxy saw.
  const id = first.headers['x-request-id'];
  const line = () => service.log().match(new RegExp(`.*"requestId":"${id}".*`))?.[0];
  await expect.poll(line).toBeDefined();
  expect(JSON.parse(line() ?? '')).toMatchObject({ address: '127.0.0.2' });
}

describe('the samples for Prometheus', () => {
  test('are sound, and each alert fires when it must and not otherwise', (context) => {
    if (!isInstalled('promtool')) context.skip('promtool is not installed');
    const promtool = (...command: string[]) =>
      spawnSync('promtool', command, { ...inPath, cwd: join(root, 'deploy') });
    expect(promtool('check', 'config', 'prometheus.yml').status).toBe(0);
    const { status, stdout, stderr } = promtool('test', 'rules', 'alerts.test.yml');
    expect(status, stdout + stderr).toBe(0);
  });

  test('try each alert, and name only metrics that the service has', async () => {
    const rules = sampleOf('alerts.yml');
    const tried = sampleOf('alerts.test.yml');
    const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, alert]) => alert);
    expect(alerts.length).toBeGreaterThan(9);
    for (const alert of alerts) expect(tried).toContain(`alertname="${alert}"`);
    const port = await freePort();
    mkdirSync(join(directory, 'backups'));
    const whole = await startProcess(db, {
      TALLYBOOK_METRICS_PORT: String(port),
      TALLYBOOK_TLS_CERT: files.cert,
      TALLYBOOK_TLS_KEY: files.key,
      TALLYBOOK_BACKUP_DIR: join(directory, 'backups'),
    });
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    await whole.end();
    const named = new Set([...`${rules}${tried}`.matchAll(/\btallybook_[a-z_]+/g)].map(String));
    for (const metric of named) {
      expect(text).toContain(`# TYPE ${metric.replace(/_bucket$/, '')} `);
    }
  });
});

describe('the unit for systemd', () => {
  const unit = sampleOf('tallybook.service');

  test('is one that systemd understands', (context) => {
    if (!isInstalled('systemd-analyze')) context.skip('systemd-analyze is not installed');
    const file = join(directory, 'tallybook.service');
    writeFileSync(file, changed(unit, { '/opt/tallybook/': root }));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', file], inPath);
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' });
  });

  test('starts the service, on which the lines for cron run without a word', async () => {
    const data = join(directory, 'data');
    expect(unit).toMatch(/^ExecStart=\S+tallybook\.js serve$/m);
    expect(unit).toMatch(/^Environment=TALLYBOOK_DATA=\/var\/lib\/tallybook$/m);
    const started = await serveProcess([], {
      TALLYBOOK_DATA: data,
      TALLYBOOK_SECRET: testSecret,
    });
    try {
      const { port } = new URL(started.api.origin);
      const lines = sampleOf('crontab').matchAll(/^[\d*/ ]+ tallybook +(out=.*)$/gm);
      const said = Array.from(lines, ([, line = '']) => {
        const env = { ...inPath.env, TALLYBOOK_DATA: data, TALLYBOOK_PORT: port };
        const command = changed(line, { '/opt/tallybook/': root });
        return execFileSync('/bin/sh', ['-c', command], { env, encoding: 'utf8' });
      });
      // The last one is `status`: this service takes no backups.
      expect(said).toEqual(['', '', '', expect.stringContaining('serve --backup-dir')]);
    } finally {
      await started.end();
    }
  });
});
