// Rate limits as a caller meets them: what each answer says of them, in which order they are
// judged, and that waiting for `Retry-After` is enough.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { mintToken } from '../access/token.ts';

let service: Environment;
let merchant: string;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
});
afterAll(() => service.stop());

interface Limited {
  readonly id: string;
  readonly api: Api;
}

/** A credential with a limit of its own, at a merchant. */
async function limited(
  perMinute: number | null,
  burst: number | null = null,
  may: { merchant?: string; scopes?: readonly string[] } = {},
): Promise<Limited> {
  const { scopes } = may;
  const { id, token } = await service.given.credential(
    may.merchant ?? merchant,
    scopes === undefined ? {} : { scopes },
  );
  await setLimit('credentials', id, perMinute, burst);
  return { id, api: service.api.as(token) };
}

function setLimit(
  table: 'credentials' | 'merchants',
  id: string,
  perMinute: number | null,
  burst: number | null,
) {
  return service.db.sql(
    `update ${table} set requests_per_minute = $2, request_burst = $3 where id = $1`,
    [id, perMinute, burst],
  );
}

const limitHeaders = ({ headers }: { headers: Headers }) => [
  headers.get('ratelimit-policy'),
  headers.get('ratelimit'),
];

describe('an answer states the limit of its caller', () => {
  test('by default 6,000 a minute, 1,000 at once, in headers and GET /credential', async () => {
    const { api } = await limited(null);
    const answer = await api.get('/credential');
    expect(answer.body.data.rate_limit).toEqual({ requests_per_minute: 6_000, burst: 1_000 });
    expect(limitHeaders(answer)).toEqual(['"credential";q=6000;w=60', '"credential";r=999;t=1']);
  });

  test('with every answer after authentication, whatever its status', async () => {
    const { api } = await limited(600, 100, { scopes: ['customers.write', 'products.read'] });
    const ada = { name: 'Ada', email: 'ada@example.com' };
    const key = newKey();
    const answers = [
      await api.get('/products'),
      await api.post('/customers', ada, { key }),
      await api.post('/customers', { ...ada, name: 'Bob' }, { key }),
      await api.post('/customers', { name: '' }),
      await api.send('POST', '/customers', '{', { key: newKey() }),
      await api.get('/products/prod_unknown'),
      await api.get('/locations'),
      await api.send('HEAD', '/products', undefined),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 409, 422, 400, 404, 403, 200]);
    for (const [index, answer] of answers.entries()) {
      const [policy, state] = limitHeaders(answer);
      expect(policy).toBe('"credential";q=600;w=60');
      expect(state).toMatch(/^"credential";r=\d+;t=1$/);
      // Ten a second come back meanwhile.
      const left = Number(/r=(\d+)/.exec(state ?? '')?.[1]);
      expect(left).toBeGreaterThanOrEqual(99 - index);
      expect(left).toBeLessThan(100);
    }
  });

  test('and not before authentication: no limit is known then', async () => {
    const { api } = await limited(600);
    const before = [
      await service.api.get('/products'),
      await service.api.as(mintToken('pat')).get('/products'),
      await api.get('/nothing'),
      await api.get('/products', { headers: { accept: 'text/html' } }),
    ];
    expect(before.map(({ status }) => status)).toEqual([401, 401, 404, 406]);
    for (const answer of before) expect(limitHeaders(answer)).toEqual([null, null]);
  });
});

describe('a batch', () => {
  const batchOf = (count: number) => ({
    operations: Array.from({ length: count }, () => ({
      type: 'customers.create',
      idempotency_key: newKey(),
      body: { name: 'Ada', email: 'ada@example.com' },
    })),
  });

  test('counts as one request for each ten writes, also when it is refused', async () => {
    const { api } = await limited(60, 25);
    const left = async (count: number) => {
      const { headers, status } = await api.post('/batches', batchOf(count));
      return [status, Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])];
    };
    expect(await left(1)).toEqual([200, 24]);
    expect(await left(11)).toEqual([200, 22]);
    expect(await left(201)).toEqual([422, 2]);
    expect(await left(40)).toEqual([429, 2]);
    expect(await left(20)).toEqual([200, 0]);
  });

  test('counts as no more than may be asked at once', async () => {
    const { api } = await limited(6, 3);
    expect((await api.post('/batches', batchOf(200))).status).toBe(200);
    const refused = await api.post('/batches', batchOf(1));
    expect([refused.status, refused.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(5);
  });
});

describe('beyond the limit', () => {
  test('the answer is 429 before scope, key and body are judged, and nothing is done', async () => {
    const { api } = await limited(1, 1, { scopes: ['customers.read'] });
    expect((await api.get('/customers')).status).toBe(200);
    const refused = [
      await api.get('/customers'),
      await api.get('/products'),
      await api.send('POST', '/customers', '{'),
    ];
    for (const answer of refused) {
      expect([answer.status, answer.code]).toEqual([429, 'rate_limited']);
      expect(answer.body.error.retryable).toBe(true);
      const wait = Number(answer.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(50);
      expect(wait).toBeLessThanOrEqual(60);
      expect(limitHeaders(answer)).toEqual(['"credential";q=1;w=60', '"credential";r=0;t=60']);
    }
  });

  test('whoever waits for Retry-After is admitted', async () => {
    const { api } = await limited(60, 2);
    await api.get('/credential');
    await api.get('/credential');
    const refused = await api.get('/credential');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    const end = performance.now() + 1_000;
    while (performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await api.get('/credential')).status).toBe(200);
  });

  test('a merchant’s limit refuses all its credentials, and says whose limit it is', async () => {
    const crowded = await service.given.merchant();
    await setLimit('merchants', crowded, 2, 3);
    const first = await limited(6_000, 1_000, { merchant: crowded });
    const second = await limited(0, null, { merchant: crowded });
    expect((await first.api.get('/credential')).status).toBe(200);
    expect((await second.api.get('/credential')).status).toBe(200);
    const last = await first.api.get('/credential');
    // A hundred a second come back meanwhile.
    expect(limitHeaders(last)).toEqual([
      '"credential";q=6000;w=60',
      expect.stringMatching(/^"credential";r=99[89];t=1$/),
    ]);
    const refused = await first.api.get('/credential');
    expect([refused.status, refused.body.error.message]).toEqual([
      429,
      expect.stringContaining('limit of the merchant'),
    ]);
    // It took nothing from the credential.
    expect(limitHeaders(refused)).toEqual([
      '"credential";q=6000;w=60, "merchant";q=2;w=60',
      expect.stringMatching(/^"credential";r=(998|999|1000);t=[01], "merchant";r=0;t=90$/),
    ]);
    const unlimited = await second.api.get('/credential');
    expect(unlimited.status).toBe(429);
    expect(limitHeaders(unlimited)).toEqual(['"merchant";q=2;w=60', '"merchant";r=0;t=90']);
  });

  test('what the credential refuses takes nothing from its merchant', async () => {
    const other = await service.given.merchant();
    await setLimit('merchants', other, 1, 5);
    const greedy = await limited(1, 2, { merchant: other });
    const statuses: number[] = [];
    for (let n = 0; n < 6; n += 1) statuses.push((await greedy.api.get('/credential')).status);
    expect(statuses).toEqual([200, 200, 429, 429, 429, 429]);
    const modest = await limited(0, null, { merchant: other });
    const left: number[] = [];
    for (let n = 0; n < 4; n += 1) left.push((await modest.api.get('/credential')).status);
    expect(left).toEqual([200, 200, 200, 429]);
  });
});

describe('a limit that the operator changes counts from the next request on', () => {
  test('lower, higher, and with what was used before', async () => {
    const { api, id } = await limited(2, 100);
    for (let n = 0; n < 5; n += 1) expect((await api.get('/credential')).status).toBe(200);
    await setLimit('credentials', id, 1, 5);
    const lower = await api.get('/credential');
    expect(lower.status).toBe(429);
    await setLimit('credentials', id, 6_000, 1_000);
    const higher = await api.get('/credential');
    expect(higher.body.data.rate_limit).toEqual({ requests_per_minute: 6_000, burst: 1_000 });
    expect(higher.headers.get('ratelimit')).toMatch(/^"credential";r=99\d;t=1$/);
  });

  test('0 is no limit, and no header', async () => {
    const { api, id } = await limited(1, 1);
    expect((await api.get('/credential')).status).toBe(200);
    expect((await api.get('/credential')).status).toBe(429);
    await setLimit('credentials', id, 0, null);
    for (let n = 0; n < 5; n += 1) {
      const answer = await api.get('/credential');
      expect([answer.status, answer.body.data.rate_limit]).toEqual([200, null]);
      expect(limitHeaders(answer)).toEqual([null, null]);
    }
  });
});

describe('failed authentications of one address', () => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  test('are answered 401 thirty times, then 429; a valid token from there is let in', async () => {
    const address = from('198.51.100.1');
    const { api } = await limited(0);
    const statuses: number[] = [];
    for (let n = 0; n < 40; n += 1) {
      // Half of them cannot be a token, half are unknown.
      const bad = service.api.as(n % 2 === 0 ? 'nonsense' : mintToken('pat'));
      const answer = await bad.get('/credential', address);
      statuses.push(answer.status);
      if (answer.status === 429) {
        expect(answer.code).toBe('rate_limited');
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        expect(answer.headers.get('www-authenticate')).toBeNull();
      }
      expect((await api.get('/credential', address)).status).toBe(200);
    }
    expect(statuses.slice(0, 30)).toEqual(Array(30).fill(401));
    // One comes back every two seconds.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(4);
    expect((await service.api.as('nonsense').get('/credential', from('198.51.100.2'))).status).toBe(
      401,
    );
  });

  test('do not count what has no credential at all', async () => {
    const address = from('198.51.100.3');
    for (let n = 0; n < 50; n += 1) {
      expect((await service.api.get('/credential', address)).code).toBe('authentication_required');
    }
    expect((await service.api.as('nonsense').get('/credential', address)).status).toBe(401);
  });

  test('are those of its /64 network where it is IPv6', async () => {
    for (let n = 0; n < 40; n += 1) {
      await service.api.as('bad').get('/credential', from(`2001:db8:1:2::${n}`));
    }
    const same = await service.api.as('bad').get('/credential', from('2001:db8:1:2:ffff::1'));
    const other = await service.api.as('bad').get('/credential', from('2001:db8:1:3::1'));
    expect([same.status, other.status]).toEqual([429, 401]);
  });

  test('are those of the address that the proxy saw, whatever was claimed before it', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 60; n += 1) {
      const claimed = [`203.0.113.${n}`, `10.1.1.${n}, 203.0.113.${n}`, 'unknown'][n % 3] ?? '';
      const chain = from(`${claimed}, 198.51.100.4`);
      statuses.push((await service.api.as('nonsense').get('/credential', chain)).status);
    }
    expect(statuses.slice(0, 30)).toEqual(Array(30).fill(401));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(20);
  });
});
