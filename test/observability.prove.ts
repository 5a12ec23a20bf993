import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Metrics } from '../src/http/metrics.ts';
import { programVersion } from '../src/http/sites.ts';
import type { Api } from './kit/api.ts';
import { createTestDatabase, type TestDatabase } from './kit/database.ts';
import { Given, type GivenCredential } from './kit/given.ts';
import { freePort } from './kit/port.ts';
import { type ServiceProcess, startProcess } from './kit/process.ts';

let db: TestDatabase;
let service: ServiceProcess;
let credential: GivenCredential;
let api: Api;
let location: string;
let product: string;
let metricsPort: number;
let limited: GivenCredential;

/** A request that met a limit, as the server tells of it. */
const refusal = {
  requestId: 'req_1',
  method: 'GET',
  route: '/api/v1/credential',
  status: 429,
  seconds: 0.001,
  credentialId: undefined,
  address: undefined,
  replayed: false,
  problem: undefined,
  itemProblems: [],
  oauthError: undefined,
  applicationId: undefined,
};

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  const merchant = await given.merchant();
  location = await given.location(merchant);
  product = await given.product(merchant);
  credential = await given.credential(merchant);
  limited = await given.credential(await given.merchant());
  const oneRequest = 'requests_per_minute = 1, request_burst = 1';
  await db.sql(`update credentials set ${oneRequest} where id = $1`, [limited.id]);
  metricsPort = await freePort();
  service = await startProcess(db, { TALLYBOOK_METRICS_PORT: String(metricsPort) });
  api = service.api.as(credential.token);
});
afterAll(async () => {
  await service.end();
  await db.drop();
});

const lines = () =>
  service
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const adjustment = (target: string, note?: string) => ({
  product_id: product,
  location_id: location,
  target_quantity: target,
  reason: 'correction',
  note: note ?? null,
});

async function metrics(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
}

describe('the log', () => {
  test('has one line per request: what, whose, how it ended and how long it took', async () => {
    const answer = await api.get(`/inventory/levels?location_id=${location}`);
    const id = answer.headers.get('x-request-id');
    await expect.poll(() => lines().find((line) => line.requestId === id)).toBeDefined();
    const line = lines().find((one) => one.requestId === id);
    expect(line).toMatchObject({
      method: 'GET',
      route: '/api/v1/inventory/levels',
      status: 200,
      merchantId: credential.merchant,
      credentialId: credential.id,
    });
    expect(line.level).toBe('info');
    // The test's client says so, and its own address is a trusted proxy's.
    expect(line.address).toMatch(/^10\.\d+\.\d+\.\d+$/);
    expect(line.milliseconds).toBeGreaterThan(0);
  });

  test('names the address that a trusted proxy forwards, and no other claim', async () => {
    for (const [claim, seen] of [
      ['203.0.113.7', '203.0.113.7'],
      ['canary-address', undefined],
    ] as const) {
      const headers = { 'X-Forwarded-For': claim };
      const answer = await api.get('/credential', { headers });
      const id = answer.headers.get('x-request-id');
      await expect.poll(() => lines().find((line) => line.requestId === id)).toBeDefined();
      expect(lines().find((one) => one.requestId === id).address).toBe(seen);
    }
  });

  test('names no address when the operator wants none', async () => {
    const silent = await startProcess(db, { TALLYBOOK_LOG_ADDRESSES: 'off' });
    await silent.api.get('/nothing', { token: credential.token });
    await silent.api.get('/credential', { token: credential.token });
    expect(await silent.end()).toBe(0);
    expect(silent.log()).toContain('"route":"/api/v1/credential"');
    expect(silent.log()).not.toContain('10.0.0.1');
  });

  test('has no line for a probe, but at the level debug', async () => {
    await fetch(`${service.api.origin}/healthz`);
    await fetch(`${service.api.origin}/readyz`);
    const last = await api.get('/credential');
    const id = last.headers.get('x-request-id');
    await expect.poll(() => lines().find((line) => line.requestId === id)).toBeDefined();
    expect(service.log()).not.toMatch(/healthz|readyz/);
  });

  test('never holds tokens, keys, names, e-mail addresses, filters or bodies', async () => {
    const canary = 'canary-4242';
    const key = `${canary}-key-0123456789`;
    const customer = { name: `${canary} Lovelace`, email: `${canary}@example.com` };
    await api.post('/customers', customer, { key });
    await api.post('/customers', { ...customer, email: canary }, { key: `${key}-2` });
    await api.post('/customers', { name: `${canary} Other`, email: 'a@b.co' }, { key });
    await api.post('/inventory/adjustments', adjustment('5', canary), { key: `${key}-3` });
    await api.get(`/customers?q=${canary}`);
    await api.get(`/customers/${canary}`);
    await api.get('/products', { token: `tb_pat_${canary}` });
    await api.send('POST', '/customers', `{"${canary}`, { key: `${key}-4` });
    // A row the database refuses, so that a database error is logged too.
    await db.sql(`alter table customers add constraint refuse_canary
      check (note is distinct from '${canary}') not valid`);
    const failed = await api.post('/customers', { ...customer, note: canary });
    expect(failed.status).toBe(500);
    await expect.poll(() => service.log()).toContain('refuse_canary');
    expect(service.log()).not.toContain(canary);
    expect(service.log()).not.toContain(credential.token);
    for (const line of lines()) {
      expect(['info', 'warn', 'error'], JSON.stringify(line)).toContain(line.level);
    }
  });
});

describe('the metrics', () => {
  test('count requests by route and status, batches, the queue and connections', async () => {
    await api.post('/inventory/adjustments', adjustment('7'));
    const text = await metrics();
    const labels = 'method="POST",route="/api/v1/inventory/adjustments",status="201"';
    expect(text).toContain(`tallybook_requests_total{${labels}} `);
    expect(text).toMatch(/tallybook_request_seconds_bucket\{le="0.01",method="GET"/);
    expect(text).toMatch(/tallybook_batch_commands_count\{type="inventory.adjust"\} \d/);
    expect(text).toMatch(/tallybook_writes_queued 0/);
    expect(text).toMatch(/tallybook_database_connections\{state="total"\} [1-9]/);
    expect(text).not.toContain('canary');
  });

  test('count replays, conflicts of keys, and 429 by merchant', async () => {
    const key = 'counted-key-0001';
    const before = await metrics();
    for (const name of ['Ada', 'Ada', 'Bob']) {
      await api.post('/customers', { name, email: 'ada@example.com' }, { key });
    }
    for (let asked = 0; asked < 3; asked += 1) {
      await api.get('/credential', { token: limited.token });
    }
    const text = await metrics();
    const route = 'method="POST",route="/api/v1/customers"';
    for (const name of ['tallybook_replays_total', 'tallybook_idempotency_conflicts_total']) {
      const count = (said: string) => Number(said.split(`${name}{${route}} `)[1]?.split('\n')[0]);
      expect(count(text), name).toBe((count(before) || 0) + 1);
    }
    expect(text).toContain(`tallybook_rate_limited_total{merchant="${limited.merchant}"} 2\n`);
  });

  test('say whether it is ready, which program it is, and its connections', async () => {
    const text = await metrics();
    expect(text).toMatch(/^tallybook_ready 1$/m);
    expect(text).toContain(
      `tallybook_build_info{version="${programVersion()}",node="${process.version}"} 1\n`,
    );
    const of = (name: string) => Number(text.match(new RegExp(`^${name} (\\d+)$`, 'm'))?.[1]);
    expect(text).toMatch(/^tallybook_database_connections\{state="waiting"\} 0$/m);
    const total = of('tallybook_database_connections\\{state="total"\\}');
    expect(of('tallybook_database_connections_max')).toBeGreaterThanOrEqual(total);
  });

  test('name a hundred merchants that meet their limit, and sum up the others', async () => {
    const counted = new Metrics('0.0.0');
    const refused = (merchantId: string | undefined) =>
      counted.observeRequest({ ...refusal, merchantId });
    for (let n = 0; n < 103; n += 1) refused(`mer_${n}`);
    refused('mer_0');
    refused(undefined);
    const text = await counted.registry.metrics();
    for (const [name, count] of [
      ['mer_0', 2],
      ['mer_99', 1],
      ['other', 3],
      ['none', 1],
    ]) {
      expect(text).toContain(`tallybook_rate_limited_total{merchant="${name}"} ${count}\n`);
    }
    expect(text).not.toContain('mer_100');
  });

  test('are served on their own port alone', async () => {
    const status = await new Promise((resolve) => {
      request(`${service.api.origin}/metrics`, (response) => resolve(response.statusCode)).end();
    });
    expect(status).toBe(404);
  });
});
