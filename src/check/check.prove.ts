// `tallybook check` through the command line: before a service behind a proxy as people run one,
// and before deployments with a fault, which it must find by name.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrokenProxy } from '../../test/kit/broken-proxy.ts';
import { makeCertificate, writeCertificate } from '../../test/kit/certificates.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { testSecret } from '../../test/kit/environment.ts';
import { isProof, sampleOf } from '../../test/kit/extent.ts';
import { type HttpProxy, httpProxies, startProxy } from '../../test/kit/http-proxies.ts';
import { freePort } from '../../test/kit/port.ts';
import { type ServiceProcess, serveProcess, startProcess } from '../../test/kit/process.ts';
import { runProgram, runTallybook, thisCheckout } from '../../test/kit/program.ts';
import { proxyFaults, slow } from '../../test/kit/proxy-faults.ts';
import { isInstalled } from '../../test/kit/samples.ts';
import { copyOfService } from '../../test/kit/service-copy.ts';
import { serviceFaults } from '../../test/kit/service-faults.ts';

const directory = mkdtempSync(join(tmpdir(), 'tallybook-check-'));
const certificate = makeCertificate();
const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
const tokens = join(directory, 'check.json');
let db: TestDatabase;
let service: ServiceProcess;

beforeAll(async () => {
  writeCertificate(certificate, files);
  db = await createTestDatabase();
  // Of two nodes either calls receivers: here it is the one that a test starts.
  service = await startProcess(db, { TALLYBOOK_WEBHOOKS: 'off' });
  writeFileSync(tokens, await command('merchant', 'create', '--name', 'Check', '--for-check'));
});
afterAll(async () => {
  await service.end();
  await db.drop();
  rmSync(directory, { recursive: true, force: true });
});

function command(...args: string[]): Promise<string> {
  const env = { TALLYBOOK_MIGRATE_URL: db.ownerUrl, TALLYBOOK_SECRET: testSecret };
  return runTallybook([...args, '--database-url', db.serviceUrl], { env });
}

interface Report {
  readonly ok: boolean;
  readonly seconds: number;
  readonly merchant_id: string;
  readonly checks: readonly {
    readonly name: string;
    readonly result: string;
    readonly said: string | null;
  }[];
}

async function check(url: string, ...args: string[]): Promise<Report> {
  const env = { NODE_EXTRA_CA_CERTS: files.cert };
  const all = ['check', '--url', url, '--tokens', tokens, ...args];
  return JSON.parse(await runTallybook(all, { env, alsoGood: [1] }));
}

const failedOf = ({ checks }: Report) =>
  checks.filter(({ result }) => result !== 'passed').map(({ name, result }) => [result, name]);

const faultsOf = ({ checks }: Report) => checks.filter(({ result }) => result !== 'passed');

test('at least ten ways to break a proxy, and as many to break the service, are tried', () => {
  expect(Math.min(proxyFaults.length, serviceFaults.length)).toBeGreaterThanOrEqual(10);
});

describe('a deployment', () => {
  const installed = httpProxies.filter(({ name }) => isInstalled(name));
  const tried = installed.slice(0, isProof ? undefined : 1);
  interface Before {
    readonly name: string;
    readonly proxy: HttpProxy | undefined;
  }
  const direct: Before = { name: 'no proxy, for none is installed,', proxy: undefined };
  const rows = tried.map((proxy): Before => ({ name: proxy.name, proxy }));

  test.each(rows.length === 0 ? [direct] : rows)(
    'behind $name passes every check, within a minute',
    async ({ proxy }) => {
      const [port, own] = [await freePort(), await freePort()];
      const url = proxy === undefined ? `http://127.0.0.1:${own}` : `https://127.0.0.1:${port}`;
      const behind = await serveProcess(['--database-url', db.serviceUrl, '--port', String(own)], {
        TALLYBOOK_MIGRATE_URL: db.ownerUrl,
        TALLYBOOK_SECRET: testSecret,
        TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1',
        TALLYBOOK_PUBLIC_URL: url,
      });
      const folder = { directory, files, ca: certificate.cert };
      const running = proxy && (await startProxy(proxy, `http://127.0.0.1:${own}`, folder, port));
      try {
        const report = await check(url);
        expect(faultsOf(report)).toEqual([]);
        expect(report.checks.length).toBeGreaterThanOrEqual(350);
        expect(report.seconds).toBeLessThan(60);
        expect(report.ok).toBe(true);
      } finally {
        running?.stop();
        await behind.end();
      }
    },
    120_000,
  );

  test('behind a slow line passes as well', async () => {
    const proxy = await BrokenProxy.listen(service.api.origin, slow);
    try {
      for (const subject of ['Keys', 'Rate limits']) {
        expect(faultsOf(await check(proxy.origin, '--only', subject))).toEqual([]);
      }
    } finally {
      proxy.close();
    }
  });

  test.each(sampleOf(proxyFaults, 1))('behind a proxy that $name is found by name', async (one) => {
    const proxy = await BrokenProxy.listen(service.api.origin, one.fault());
    try {
      const report = await check(proxy.origin, '--only', one.found);
      expect(failedOf(report)).toContainEqual(['failed', one.found]);
      expect(report.ok).toBe(false);
    } finally {
      proxy.close();
    }
  });
});

describe('a service', () => {
  test.each(sampleOf(serviceFaults, 1))('with the fault $name is found by name', async (one) => {
    const copy = copyOfService(one);
    const env = { TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1' };
    const broken = await startProcess(db, env, { bin: copy.bin });
    try {
      const report = await check(broken.api.origin, '--only', one.found);
      expect(failedOf(report)).toContainEqual(['failed', one.found]);
    } finally {
      await broken.end();
      copy.remove();
    }
  });
});

describe('the command', () => {
  const refusal = (args: string[]) =>
    runProgram(process.execPath, [join(thisCheckout, 'bin/tallybook.js'), 'check', ...args], {
      limitMs: 60_000,
    }).then(
      () => 'it was done',
      (error: Error) => String(Object(error.cause).code) + error.message,
    );

  test('says for people what failed and why it matters, and for build servers in XML', async () => {
    const one = proxyFaults.find(({ name }) => name === 'drops ETag');
    const proxy = await BrokenProxy.listen(service.api.origin, one?.fault() ?? slow);
    const junit = join(directory, 'junit.xml');
    try {
      const args = ['check', '--url', proxy.origin, '--tokens', tokens, '--junit', junit];
      const text = await runProgram(
        process.execPath,
        [join(thisCheckout, 'bin/tallybook.js'), ...args, '--only', 'ETag'],
        { limitMs: 60_000, alsoGood: [1] },
      );
      expect(text).toMatch(/FAILED: ETag comes back as it was made\n +ETag: nothing, and not "/);
      expect(text).toContain('Why it matters: Two people who change one record overwrite');
      expect(text).toMatch(/0 of 2 checks passed, 2 failed, in [\d.]+ s\.\nIt leaves its records/);
      const xml = readFileSync(junit, 'utf8');
      expect(xml).toContain('tests="2" failures="2"');
      expect(xml).toContain('<failure message="ETag: nothing, and not &quot;');
    } finally {
      proxy.close();
    }
  });

  test('refuses a merchant that has other records than its own, and writes nothing', async () => {
    const report = JSON.parse(await command('merchant', 'create', '--name', 'Shop', '--for-check'));
    const api = service.api.as(report.token);
    await api.post('/products', { name: 'Rye 1 kg' });
    const file = join(directory, 'shop.json');
    writeFileSync(file, JSON.stringify(report));
    const said = await refusal(['--url', service.api.origin, '--tokens', file]);
    expect(said).toMatch(/^2.*has records that no check made \(prod_/s);
    // Those of its locations and of its product.
    const operations = await api.get('/operations?limit=200');
    expect(operations.body.data).toHaveLength(3);
  });

  test('refuses tokens that are none, and an address where nobody is', async () => {
    const { origin } = service.api;
    const nothing = join(directory, 'nothing.json');
    writeFileSync(nothing, '{}');
    expect(await refusal(['--url', origin, '--tokens', nothing])).toMatch(/^2.*it has no token,/s);
    expect(await refusal(['--url', origin, '--tokens', 'nowhere'])).toMatch(/^2.*nowhere/s);
    expect(await refusal(['--url', 'books', '--tokens', nothing])).toMatch(/^2.*--url is "books"/s);
    const port = await freePort();
    const away = ['--url', `http://127.0.0.1:${port}`, '--tokens', tokens];
    expect(await refusal(away)).toMatch(/^1.*got no answer/s);
    const none = ['--url', origin, '--tokens', tokens, '--only', 'no such thing'];
    expect(await refusal(none)).toMatch(/^2.*no check is called like/s);
  });
});
