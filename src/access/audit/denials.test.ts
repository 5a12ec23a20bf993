import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api, newKey } from '../../../test/kit/api.ts';
import { AuditTrail } from '../../../test/kit/audit.ts';
import { conforms } from '../../../test/kit/conformance.ts';
import { createTestDatabase, type TestDatabase, waitsOf } from '../../../test/kit/database.ts';
import { testSecret } from '../../../test/kit/environment.ts';
import { Given } from '../../../test/kit/given.ts';
import { readConfig } from '../../config.ts';
import { limits } from '../../core/limits.ts';
import { start } from '../../main.ts';
import type { Running } from '../../node/running.ts';
import { mintToken } from '../token.ts';

const action = 'request.denied';

let db: TestDatabase;
let trail: AuditTrail;
let given: Given;
let running: Running;
let api: Api;
let merchant: string;

beforeAll(async () => {
  db = await createTestDatabase();
  trail = new AuditTrail(db);
  given = new Given(db);
  merchant = await given.merchant();
  running = await startEnvironment();
  api = new Api(running.url, undefined, conforms);
});
afterAll(async () => {
  await running.stop();
  await trail.database.close();
  await db.drop();
});

/** As `tallybook serve` does, behind a proxy that names addresses. */
function startEnvironment(): Promise<Running> {
  const config = readConfig(
    { databaseUrl: db.serviceUrl, port: '0' },
    {
      TALLYBOOK_MIGRATE_URL: db.ownerUrl,
      TALLYBOOK_SECRET: testSecret,
      TALLYBOOK_TRUSTED_PROXIES: '127.0.0.1',
    },
  );
  return start(config, pino({ level: 'silent' }));
}

const denials = () => trail.lines(action);
const sum = (lines: readonly { readonly [member: string]: unknown }[]) =>
  lines.reduce((total, { count }) => total + Number(count), 0);

/** The line of one request, once it is there. It may be one of several that are alike. */
async function lineOf(requestId: string | null) {
  const find = async () =>
    (await denials()).find(({ request_id, last_request_id }) =>
      [request_id, last_request_id].includes(requestId),
    );
  await expect.poll(find).toBeDefined();
  return find();
}

describe('a denied request leaves a line', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const read = '/products?limit=1';

  test('without credentials: what, when, from where', async () => {
    const before = Date.now();
    const answer = await api.get(read, { headers: from('192.0.2.1') });
    expect(answer.status).toBe(401);
    const line = await lineOf(answer.headers.get('x-request-id'));
    expect(line).toEqual({
      day: expect.any(String),
      number: expect.any(Number),
      at: expect.any(String),
      action,
      method: 'GET',
      route: '/api/v1/products',
      status: 401,
      code: 'authentication_required',
      address: '192.0.2.1',
      count: 1,
      request_id: answer.headers.get('x-request-id'),
    });
    const at = Date.parse(String(line?.at));
    expect(at).toBeGreaterThanOrEqual(before - 1);
    expect(at).toBeLessThanOrEqual(Date.now());
  });

  test('with a token that is not valid', async () => {
    const token = mintToken('pat');
    const answer = await api.get(read, { token, headers: from('2001:db8::1') });
    expect(await lineOf(answer.headers.get('x-request-id'))).toMatchObject({
      status: 401,
      code: 'invalid_token',
      address: '2001:db8::1',
    });
  });

  test('without the scope: who, and which scope', async () => {
    const caller = await given.credential(merchant, { scopes: ['products.read'] });
    const body = { name: 'Flour' };
    const headers = { 'x-forwarded-for': '127.0.0.1' };
    const answer = await api.post('/products', body, { token: caller.token, headers });
    expect(answer.code).toBe('insufficient_scope');
    expect(await lineOf(answer.headers.get('x-request-id'))).toMatchObject({
      merchant_id: merchant,
      credential_id: caller.id,
      method: 'POST',
      route: '/api/v1/products',
      status: 403,
      code: 'insufficient_scope',
      scope: 'products.write',
      address: '127.0.0.1',
    });
  });

  test('without the location: who, and not which', async () => {
    const caller = await given.credential(merchant, { locations: [] });
    const location = await given.location(merchant);
    const answer = await api.get(`/inventory/levels?location_id=${location}`, {
      token: caller.token,
    });
    expect(answer.code).toBe('location_not_granted');
    const line = await lineOf(answer.headers.get('x-request-id'));
    expect(line).toMatchObject({ credential_id: caller.id, code: 'location_not_granted' });
    expect(JSON.stringify(line)).not.toContain(location);
  });

  test('and what is wrong, unknown or not found leaves none', async () => {
    const caller = await given.credential(merchant);
    const ask = { token: caller.token };
    const answers = [
      await api.get('/products?limit=0', ask),
      await api.get('/products/prod_1', ask),
      await api.get('/nowhere', ask),
      await api.post('/products', {}, ask),
      await api.get('/products', ask),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 404, 404, 422, 200]);
    await lineOf((await api.get(read)).headers.get('x-request-id'));
    expect((await denials()).filter((line) => line.credential_id === caller.id)).toEqual([]);
  });
});

test('no line holds a token, a key, a body, an ID of a path or what a header claims', async () => {
  const canary = 'canary4242';
  const caller = await given.credential(merchant, { scopes: [] });
  const key = `${newKey()}-${canary}`;
  const bad = `tb_pat_${canary}`;
  const unknown = mintToken('oat');
  const headers = { 'x-forwarded-for': `${canary}, <script>` };
  for (const token of [undefined, bad, unknown, caller.token]) {
    const ask = { token, key, headers };
    await api.get(`/customers/${canary}`, ask);
    await api.get(`/customers?q=${canary}&email=${canary}@example.com`, ask);
    await api.patch(`/customers/cus_${canary}`, { name: canary }, ask);
    await api.post('/customers', { name: canary, email: `${canary}@example.com` }, ask);
    await api.send('POST', '/products', `{"${canary}`, ask);
  }
  // Another address, so that it has a line of its own at once: what is like a line that was written
  // already, because the machine was slow, waits until the minute is over.
  const last = await api.get('/customers', { headers: { 'x-forwarded-for': '198.51.100.9' } });
  await lineOf(last.headers.get('x-request-id'));
  const text = JSON.stringify(await trail.lines());
  for (const secret of [canary, key, unknown, caller.token, 'script']) {
    expect(text).not.toContain(secret);
  }
});

test('no request waits for its line, and none is lost while the chain is locked', async () => {
  const before = sum(await denials());
  const session = await db.globalSession();
  await session.query('begin');
  await session.query('select from audit_head for update');
  for (let n = 0; n < 30; n += 1) {
    const startedAt = performance.now();
    expect((await api.get('/products', { token: mintToken('pat') })).status).toBe(401);
    expect(performance.now() - startedAt).toBeLessThan(limits.lockTimeout / 2);
  }
  await expect.poll(() => waitsOf(db)).toBe(1);
  await session.query('rollback');
  await expect.poll(async () => sum(await denials())).toBe(before + 30);
});
