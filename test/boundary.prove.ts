// What leaves a service process in addition to its answers, and what enters it in addition to
// requests: its log and the log of its database, connections, shared prototypes, and headers that
// claim something. One process serves all of this, without a trusted proxy, and refuses every
// access to __proto__.

import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApplication } from '../src/access/operator/applications.ts';
import { mintToken } from '../src/access/token.ts';
import { successStatus } from '../src/contract/contract.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { AuditTrail } from './kit/audit.ts';
import { cases, send } from './kit/cases.ts';
import { createTestDatabase, type TestDatabase, withoutLimits } from './kit/database.ts';
import { receiver } from './kit/examples.ts';
import { Given } from './kit/given.ts';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { redirectUri } from './kit/oauth.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';

const run = promisify(execFile);
const witness = fileURLToPath(new URL('./kit/witness.mjs', import.meta.url));
/** Personal data such as a name and an address, in every place that takes data. */
const canary = 'canary5190';

let directory: string;
let db: TestDatabase;
let operator: Database;
let service: ServiceProcess;
let shop: TestMerchant;
let application: { readonly id: string; readonly secret: string };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-witness-'));
  db = await createTestDatabase();
  await withoutLimits(db);
  operator = connectDatabase({ url: db.serviceUrl, writers: 1 });
  service = await startProcess(db, {
    TALLYBOOK_TRUSTED_PROXIES: '',
    TALLYBOOK_LOG_LEVEL: 'trace',
    ...witnessed('service'),
  });
  shop = await createTestMerchant({ api: service.api, given: new Given(db) });
  const made = await createApplication(operator, {
    name: 'Stock Sync',
    scopes: ['inventory.read'],
    redirectUris: [redirectUri],
    jwks: undefined,
  });
  application = { id: made.application.id, secret: made.secret ?? '' };
});
afterAll(async () => {
  await service.end();
  await operator.close();
  await db.drop();
  await rm(directory, { recursive: true, force: true });
});

function witnessed(name: string) {
  return {
    NODE_OPTIONS: `--disable-proto=throw --import ${witness}`,
    TALLYBOOK_TEST_WITNESS: join(directory, name),
  };
}

/** What the witness of a process has recorded. */
async function seen(name: string, what: string): Promise<unknown[]> {
  const lines = (await readFile(join(directory, name), 'utf8')).trim().split('\n');
  return lines
    .map((line): [string, unknown] => JSON.parse(line))
    .flatMap(([kind, subject]) => (kind === what ? [subject] : []));
}

const lines = (): Readonly<Record<string, unknown>>[] =>
  service
    .log()
    .split('\n')
    // A library warns of versions of Node.js past their end.
    .filter((line) => line !== '' && !line.includes('oidc-provider WARNING'))
    .map((line) => JSON.parse(line));

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const plain = (path: string, init: RequestInit = {}) =>
  fetch(service.api.origin + path, { redirect: 'manual', ...init });

function ask(path: string, fields: Readonly<Record<string, string>>, secret = application.secret) {
  const basic = Buffer.from(`${application.id}:${secret}`).toString('base64');
  return plain(`/oauth/${path}`, {
    method: 'POST',
    headers: { ...form, authorization: `Basic ${basic}` },
    body: new URLSearchParams(fields).toString(),
  });
}

describe('a process that refuses __proto__', () => {
  test('serves every route, OAuth and the pages', async () => {
    for (const one of cases) {
      const { status } = await send(one, shop, shop.api);
      expect([one.name, status]).toEqual([one.name, successStatus(one.contract)]);
    }
    for (const path of ['/docs', '/docs/errors', '/openapi.json', '/healthz', '/readyz']) {
      expect([path, (await plain(path)).status]).toEqual([path, 200]);
    }
    const answer = await ask('token', { grant_type: 'client_credentials' });
    // It is approved nowhere.
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'unauthorized_client' }),
    ]);
  });

  test('treats the names of prototypes as ordinary names', async () => {
    const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];
    for (const name of names) {
      const evil = `{"name":"A","email":"a@example.com","${name}":{"isAdmin":true}}`;
      const key = `key-of-${name}-12345`;
      const { status } = await shop.api.send('POST', '/customers', evil, { key });
      expect([name, status]).toEqual([name, name === '__proto__' ? 400 : 422]);
      for (const search of [name, `${name}[isAdmin]`, `${name}.isAdmin`]) {
        const { code } = await shop.api.get(`/customers?${search}=true`);
        expect([search, code]).toEqual([search, 'unknown_parameter']);
      }
      expect((await shop.api.get(`/customers/${name}`)).status).toBe(404);
      const fields = { grant_type: name, [name]: 'true', [`${name}[isAdmin]`]: 'true' };
      expect((await ask('token', fields)).status).toBe(400);
    }
    const metadata = { constructor: 'a', toString: 'b' };
    const body = { name: 'A', email: 'a@example.com', metadata };
    const { body: made } = await shop.api.post('/customers', body);
    expect(made.data.metadata).toEqual(metadata);
    expect(lines().filter(({ status }) => status === 500)).toEqual([]);
  });
});

describe('what a request says about where it comes from', () => {
  const claims = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '444',
    'x-forwarded-prefix': '/evil',
    forwarded: 'for=203.0.113.9;host=evil.example;proto=https',
    'x-original-url': '/api/v1/credential',
    'x-rewrite-url': '/api/v1/credential',
    'x-http-method-override': 'DELETE',
    'x-request-id': canary,
  };

  test('changes no issuer, no path, no method and no request ID', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const plainAnswer = JSON.parse(await (await plain(path)).text());
    const answer = await plain(path, { headers: claims });
    expect(await answer.json()).toEqual(plainAnswer);
    expect(plainAnswer.issuer).toBe(service.api.origin);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/);
    const health = await plain('/healthz', { headers: claims });
    expect([health.status, await health.text()]).toEqual([200, '{"status":"ok"}']);
    const listed = await shop.api.get('/customers?limit=1', { headers: claims });
    expect(JSON.stringify([listed.status, listed.body])).not.toContain('evil');
    expect(listed.status).toBe(200);
  });

  test('gives a caller no other address, for limits and for the audit trail', async () => {
    const statuses: number[] = [];
    for (let guess = 0; guess < 60; guess += 1) {
      const address = `198.51.100.${guess}`;
      const answer = await plain('/api/v1/credential', {
        headers: {
          ...claims,
          authorization: `Bearer ${mintToken('pat')}`,
          'x-forwarded-for': address,
          'x-real-ip': address,
          'x-client-ip': address,
          'true-client-ip': address,
          forwarded: `for=${address}`,
        },
      });
      statuses.push(answer.status);
    }
    expect(new Set(statuses.slice(0, 30))).toEqual(new Set([401]));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(20);
    const trail = new AuditTrail(db);
    const addresses = async () =>
      (await trail.lines('request.denied')).map(({ address }) => address);
    await expect.poll(addresses).toContain('127.0.0.1');
    expect(new Set(await addresses())).toEqual(new Set(['127.0.0.1']));
    await trail.database.close();
  });
});

describe('the logs', () => {
  test('hold no name, address, key, token or secret, in success and in failure', async () => {
    const key = `${canary}-0123456789`;
    const customer = { name: canary, email: `${canary}@example.com`, note: canary };
    const { api } = shop;
    await api.post('/customers', { ...customer, metadata: { canary } }, { key });
    await api.post('/customers', { ...customer, phone: canary }, { key: `${key}-1` });
    await api.get(`/customers?email=${canary}@example.com&q=${canary}`);
    await api.get(`/customers/${canary}`, { headers: { 'user-agent': canary, referer: canary } });
    await api.get('/products', { token: `tb_pat_${canary}` });
    await plain(`/${canary}?${canary}=${canary}`, { headers: { cookie: canary } });
    await ask('token', { grant_type: 'client_credentials', scope: canary });
    await ask('token', { grant_type: 'authorization_code', code: canary }, `tb_ocs_${canary}`);
    await ask('introspect', { token: shop.token });
    const query = `client_id=${application.id}&redirect_uri=${redirectUri}&state=${canary}`;
    await plain(`/oauth/authorize?${query}&response_type=code&scope=${canary}`);
    // Refused by the database, whose error quotes the whole row.
    await db.sql(`alter table customers add constraint refuse_${canary.length}_signs
      check (note is distinct from 'refuse ${canary}') not valid`);
    const refused = await api.post('/customers', { ...customer, note: `refuse ${canary}` });
    expect(refused.status).toBe(500);
    await expect.poll(() => service.log()).toContain('refuse_10_signs');
    const databaseLog = await logOfDatabase();
    for (const secret of [canary, key, shop.token, application.secret]) {
      expect(service.log()).not.toContain(secret);
      expect(databaseLog).not.toContain(secret);
    }
    if (databaseLog !== '') expect(databaseLog).toContain('refuse_10_signs');
  });

  test('are lines of known members only, for every request', async () => {
    const forged = '%0a%7b%22level%22:%22fatal%22,%22forged%22:true%7d%0d%0a%1b[2J';
    await plain(`/${forged}`);
    await shop.api.get(`/customers/${forged}`);
    await shop.api.get(`/customers?q=${forged}`);
    const last = await shop.api.get('/credential');
    const id = last.headers.get('x-request-id');
    await expect.poll(() => lines().find(({ requestId }) => requestId === id)).toBeDefined();
    const members = new Set(lines().flatMap((line) => Object.keys(line)));
    const frame = ['level', 'time', 'msg'];
    const ofRequest = ['requestId', 'method', 'route', 'status', 'milliseconds', 'code', 'cause'];
    const ofCaller = ['merchantId', 'credentialId', 'applicationId', 'address'];
    const ofDatabase = ['kind', 'sqlstate'];
    const ofStart = ['workers', 'needed', 'available', 'nodes'];
    const known = [...frame, ...ofRequest, ...ofCaller, ...ofDatabase, ...ofStart];
    expect([...members].filter((member) => !known.includes(member))).toEqual([]);
    for (const text of ['forged', '\u001b']) expect(service.log()).not.toContain(text);
  });

  /** The log of a server of our own. On another server, its operator decides what is logged. */
  async function logOfDatabase(): Promise<string> {
    const [setting] = await db.sql<{ ours: boolean }>(
      `select current_setting('log_error_verbosity') = 'terse'
         and current_setting('logging_collector') = 'on' as ours`,
    );
    if (setting?.ours !== true) return '';
    const [log] = await db.sql<{ bytes: Buffer | null }>(
      `select string_agg(pg_read_binary_file('log/' || name), '') as bytes from pg_ls_logdir()`,
    );
    return log?.bytes?.toString('latin1') ?? '';
  }
});

test('an unexpected error ends the process, and its line quotes no values', async () => {
  const dist = new URL('../dist/', import.meta.url).href;
  const script = `
    const { createLog, LogWriter } = await import('${dist}log.js');
    const { endOnUnexpected } = await import('${dist}node/signals.js');
    endOnUnexpected(createLog('info', LogWriter.toStandardError()));
    const members = { severity: 'ERROR', code: '23514', detail: 'the row is (${canary})' };
    const refusal = Object.assign(new Error('${canary}'), members);
    Promise.reject(new Error('nobody caught it', { cause: refusal }));
    setInterval(() => undefined, 1_000);`;
  const ended = await run(process.execPath, ['--input-type=module', '-e', script]).catch(
    (error: { readonly code: number; readonly stderr: string }) => error,
  );
  expect(ended).toMatchObject({ code: 70 });
  const line = JSON.parse(ended.stderr);
  expect(line).toMatchObject({ level: 'fatal', msg: 'unexpected error' });
  expect(JSON.stringify(line.err)).toContain('nobody caught it');
  expect(ended.stderr).not.toContain(canary);
});

describe('a service process', () => {
  let trap: Server;
  let calls = 0;
  let url: string;

  beforeAll(async () => {
    trap = createServer((_, response) => response.end());
    trap.on('connection', () => {
      calls += 1;
    });
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    const address = trap.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/trap`;
  });
  afterAll(() => {
    trap.close();
    trap.closeAllConnections();
  });

  test('connects to its database and to nothing else, for every request', async () => {
    await tellTo(url);
    expect(await service.end()).toBe(0);
    expect(calls).toBe(0);
    const database = databaseOf(db.serviceUrl);
    const ofOwner = databaseOf(db.ownerUrl);
    const connections = new Set(await seen('service', 'connect'));
    expect(connections).toContain(database);
    // What was asked for: the test event of a webhook.
    const known = [database, ofOwner, `${receiver}:443`];
    expect([...connections].filter((one) => !known.some((other) => other === one))).toEqual([]);
    for (const what of ['datagram', 'lookup', 'spawn']) {
      const others = (await seen('service', what)).filter((one) => one !== receiver);
      expect([what, others]).toEqual([what, []]);
    }
    expect(await seen('service', 'prototypes')).toEqual([[]]);
  });

  test('that connected elsewhere would be seen by its witness', async () => {
    const script = `
      import { spawn } from 'node:child_process';
      import { createSocket } from 'node:dgram';
      spawn('true');
      const socket = createSocket('udp4');
      socket.send('a', 9, '127.0.0.1', () => socket.close());
      await fetch('${url}').catch(() => undefined);
      await fetch('http://nowhere.invalid/').catch(() => undefined);
      Object.defineProperty(Object.prototype, 'isAdmin', { value: true });`;
    await run(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: process.env.PATH ?? '', ...witnessed('control') },
    });
    expect(calls).toBe(1);
    expect(await seen('control', 'connect')).toContain(`127.0.0.1:${new URL(url).port}`);
    expect(await seen('control', 'lookup')).toContain('nowhere.invalid');
    expect(await seen('control', 'spawn')).toEqual(['true']);
    expect(await seen('control', 'datagram')).not.toEqual([]);
    expect(await seen('control', 'prototypes')).toEqual([['isAdmin']]);
  });
});

/** An address in every place that takes a text, and in those where OAuth knows addresses. */
async function tellTo(url: string): Promise<void> {
  const { api } = shop;
  const metadata = { callback: url, webhook_url: url };
  const texts = { name: url, external_id: url, metadata };
  const made = [
    await api.post('/customers', { ...texts, email: 'a@example.com', note: url }),
    await api.post('/products', { ...texts, description: url, sku: url, barcode: url }),
    await api.post('/locations', { ...texts, code: url }),
    await api.post('/inventory/adjustments', {
      product_id: shop.products[0],
      location_id: shop.locations[0],
      target_quantity: '77',
      reason: 'correction',
      note: url,
      reference: url,
    }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  const { host } = new URL(url);
  const headers = { origin: url, referer: url, 'x-forwarded-host': host, link: `<${url}>` };
  for (const path of ['/docs', '/openapi.json', '/api/v1/credential', '/readyz']) {
    await plain(`${path}?url=${encodeURIComponent(url)}`, { headers });
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', jku: url, x5u: url, kid: url })
    .setIssuer(application.id)
    .setSubject(application.id)
    .setAudience(service.api.origin)
    .setJti(canary)
    .setExpirationTime('1m')
    .sign(privateKey);
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const places = { request_uri: url, resource: url, sector_identifier_uri: url, jwks_uri: url };
  const objects = { request: assertion, id_token_hint: assertion };
  for (const client_id of [application.id, url]) {
    const query = { client_id, response_type: 'code', scope: 'inventory.read', ...places };
    for (const redirect_uri of [redirectUri, url]) {
      const all = { ...query, ...objects, redirect_uri };
      await plain(`/oauth/authorize?${new URLSearchParams(all)}`, { headers });
    }
    const signed = { client_assertion_type: type, client_assertion: assertion };
    const fields = { grant_type: 'client_credentials', client_id, ...places, ...signed };
    for (const path of ['token', 'introspect', 'revoke']) {
      const body = new URLSearchParams({ ...fields, token: url });
      await plain(`/oauth/${path}`, { method: 'POST', headers: form, body: body.toString() });
    }
  }
}

/** Where the driver connects to for a URL: a socket's path, or host and port. */
function databaseOf(databaseUrl: string): string {
  const { searchParams, hostname, port } = new URL(databaseUrl);
  const folder = searchParams.get('host');
  const number = searchParams.get('port') ?? (port === '' ? '5432' : port);
  return folder === null ? `${hostname}:${number}` : `${folder}/.s.PGSQL.${number}`;
}
