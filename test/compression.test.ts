// Answers that are sent shorter: 304 without a body, and bodies that are compressed, only where
// neither gives anything away.

import { get as httpGet, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestMerchant, type TestMerchant } from './kit/merchant.ts';
import { startWholeEnvironment, type WholeEnvironment } from './kit/whole-environment.ts';

let service: WholeEnvironment;
let shop: TestMerchant;

/** How many customers there are. */
let size: number;
/** One that is larger than 1 KiB. */
let customer: string;

beforeAll(async () => {
  service = await startWholeEnvironment();
  shop = await createTestMerchant(service);
  const made = await shop.api.post('/customers', {
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    note: 'A long note. '.repeat(100),
  });
  customer = made.body.data.id;
  size = (await shop.api.get('/customers')).body.data.length;
});
afterAll(() => service.stop());

interface Raw {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Without a client that undoes the coding. */
function raw(path: string, headers: Readonly<Record<string, string>>): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const request = httpGet(`${service.origin}${path}`, { headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const bytes = Buffer.concat(chunks);
      resolve({ status: response.statusCode, headers: response.headers, bytes });
    });
    request.on('error', reject);
  });
}

const ask = (path: string, coding: string) =>
  raw(path, { authorization: `Bearer ${shop.api.token}`, 'accept-encoding': coding });

const plain = (bytes: Buffer, coding: string | undefined) => {
  if (coding === 'br') return brotliDecompressSync(bytes);
  return coding === 'gzip' ? gunzipSync(bytes) : bytes;
};

const decoded = ({ bytes, headers }: Raw) =>
  JSON.parse(String(plain(bytes, headers['content-encoding'])));

describe('a page of more than 1 KiB', () => {
  test.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['gzip, br;q=0', 'gzip'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    ['deflate', undefined],
    ['br;q=0, gzip;q=0', undefined],
    ['', undefined],
    ['nonsense;;;q=', undefined],
  ])('asked for with "%s" is sent as %s', async (coding, expected) => {
    const answer = await ask('/api/v1/customers', coding);
    expect([answer.status, answer.headers['content-encoding']]).toEqual([200, expected]);
    expect(answer.headers.vary).toBe('Accept-Encoding');
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
    expect(decoded(answer).data).toHaveLength(size);
    if (expected !== undefined) expect(answer.bytes.length).toBeLessThan(1_000);
  });

  test('is the same page in each coding', async () => {
    const answers = await Promise.all(
      ['br', 'gzip', 'identity'].map((one) => ask('/api/v1/customers', one)),
    );
    const pages = answers.map((answer) => decoded(answer).data);
    expect(pages[1]).toEqual(pages[0]);
    expect(pages[2]).toEqual(pages[0]);
  });
});

test.each([
  ['a small answer', '/api/v1/credential'],
  ['an error', '/api/v1/customers?limit=0'],
])('%s is sent as it is', async (_, path) => {
  const answer = await ask(path, 'br, gzip');
  expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual([undefined, undefined]);
});

test('a member is sent as it is, because its ETag names its bytes', async () => {
  const answer = await ask(`/api/v1/customers/${customer}`, 'br, gzip');
  expect(answer.bytes.length).toBeGreaterThan(1_024);
  expect([answer.headers.etag, answer.headers['content-encoding']]).toEqual(['"1"', undefined]);
});

test('the pages of OAuth are sent as they are, because they mix secrets with input', async () => {
  const long = `/oauth/authorize?client_id=app_unknown&state=${'x'.repeat(2_000)}`;
  const answer = await raw(long, { 'accept-encoding': 'br, gzip' });
  expect(answer.headers['content-encoding']).toBeUndefined();
});

test.each(['/openapi.json', '/docs/redoc.js', '/docs/errors'])(
  '%s is compressed, once',
  async (path) => {
    const [whole, first, second] = await Promise.all([
      raw(path, {}),
      raw(path, { 'accept-encoding': 'br' }),
      raw(path, { 'accept-encoding': 'br' }),
    ]);
    expect(whole.headers['content-encoding']).toBeUndefined();
    expect(first.headers['content-encoding']).toBe('br');
    expect(first.bytes.length).toBeLessThan(whole.bytes.length / 3);
    expect(brotliDecompressSync(first.bytes).equals(whole.bytes)).toBe(true);
    expect(second.bytes.equals(first.bytes)).toBe(true);
  },
);

describe('If-None-Match', () => {
  test('is 304 without a body while the member is at that version, and 200 after', async () => {
    const made = await shop.api.post('/products', { name: 'Flour' });
    const path = `/products/${made.body.data.id}`;
    const unchanged = await shop.api.get(path, { headers: { 'if-none-match': '"1"' } });
    expect([unchanged.status, unchanged.body]).toEqual([304, undefined]);
    expect(unchanged.headers.get('etag')).toBe('"1"');
    expect(unchanged.headers.get('content-length')).toBeNull();
    await shop.api.patch(path, { name: 'Wheat flour' });
    const changed = await shop.api.get(path, { headers: { 'if-none-match': '"1"' } });
    expect([changed.status, changed.body.data.name]).toEqual([200, 'Wheat flour']);
  });

  test('gives nothing away of what is out of reach', async () => {
    const other = await createTestMerchant(service);
    const made = await other.api.post('/products', { name: 'Flour' });
    const answer = await shop.api.get(`/products/${made.body.data.id}`, {
      headers: { 'if-none-match': '*' },
    });
    expect([answer.status, answer.code]).toEqual([404, 'not_found']);
  });
});

test('outside the version 404 says where the API and its documentation are', async () => {
  for (const path of ['/', '/products', '/api/products', '/api/v1']) {
    const answer = await fetch(service.origin + path);
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect([path, answer.status, error.code]).toEqual([path, 404, 'not_found']);
    expect(error.message).toMatch(/begins at \/api\/v1, its documentation is at \/docs\./);
  }
  const within = await shop.api.get('/nothing').catch((error: unknown) => String(error));
  expect(JSON.stringify(within)).not.toContain('begins at');
});
