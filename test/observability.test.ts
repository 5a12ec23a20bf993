import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  const merchant = await given.merchant();
  location = await given.location(merchant);
  product = await given.product(merchant);
  credential = await given.credential(merchant);
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
    expect(line.milliseconds).toBeGreaterThan(0);
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
    for (const line of lines()) expect(line.level, JSON.stringify(line)).toBeGreaterThan(0);
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

  test('are served on their own port alone', async () => {
    const status = await new Promise((resolve) => {
      request(`${service.api.origin}/metrics`, (response) => resolve(response.statusCode)).end();
    });
    expect(status).toBe(404);
  });
});
