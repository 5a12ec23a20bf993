import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exchange, type RawExchange } from '../../test/support/raw.ts';
import { startService, type TestService } from '../../test/support/service.ts';

let service: TestService;
let origin: string;
let token: string;

beforeAll(async () => {
  service = await startService();
  origin = service.api.origin;
  const merchant = await service.given.merchant();
  token = (await service.given.credential(merchant)).token;
});
afterAll(() => service.stop());

let operationsBefore: number;
beforeEach(async () => {
  operationsBefore = await countOperations();
});

async function countOperations(): Promise<number> {
  const [row] = await service.db.sql('select count(*)::int as n from operations');
  return Number(row?.n);
}

const host = 'Host: shop.example\r\n';
const auth = () => `Authorization: Bearer ${token}\r\n`;
const json = 'Content-Type: application/json\r\n';
const key = 'Idempotency-Key: 0123456789abcdef\r\n';
const get = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\n${host}${auth()}${headers}\r\n`;
const post = (headers: string, content = '') =>
  'POST /api/v1/inventory/adjustments HTTP/1.1\r\n' +
  `${host}${auth()}${json}${key}${headers}\r\n${content}`;

/** One refusal in the common form, and nothing done. */
async function expectRefusal(found: RawExchange, status: number, code: string) {
  const [answer] = found.answers;
  expect(answer?.status, answer?.text).toBe(status);
  expect(answer?.json?.error?.code).toBe(code);
  expect(answer?.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
  expect(answer?.json.meta.request_id).toBe(answer?.headers['x-request-id']);
  expect(answer?.headers['cache-control']).toBe('no-store');
  expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(await countOperations()).toBe(operationsBefore);
}

describe('bad framing is 400, closes the connection and smuggles nothing', () => {
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
  const cases: [string, () => string][] = [
    [
      'both Content-Length and Transfer-Encoding',
      () => post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
    ],
    ['two Content-Length', () => post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}')],
    ['a signed Content-Length', () => post('Content-Length: +2\r\n', '{}')],
    ['an unknown Transfer-Encoding', () => post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
    ['chunked not last', () => post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n')],
    ['a folded header', () => post('X-A: 1\r\n b\r\nContent-Length: 2\r\n', '{}')],
    ['a blank before the colon', () => post('X-A : 1\r\nContent-Length: 2\r\n', '{}')],
    ['a NUL in a header', () => post('X-A: a\0b\r\nContent-Length: 2\r\n', '{}')],
    ['a bad chunk size', () => post('Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n')],
    ['a coding that is not ours', () => post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
    ['bytes of TLS', () => '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\r\n\r\n'],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', () => `FETCH /api/v1/products HTTP/1.1\r\n${host}\r\n`],
  ];
  test.each(cases)('%s', async (_name, bytes) => {
    const found = await exchange(origin, [Buffer.from(bytes(), 'latin1')]);
    await expectRefusal(found, 400, 'malformed_request');
    expect(found.answers).toHaveLength(1);
    expect(found.closed).toBe(true);
  });
});

describe('what makes a request ambiguous is 400', () => {
  const cases: [string, () => string][] = [
    ['no Host', () => `GET /api/v1/products HTTP/1.1\r\n${auth()}\r\n`],
    ['two Hosts', () => get('/api/v1/products', host)],
    ['two Authorizations', () => get('/api/v1/products', auth())],
    ['two Idempotency-Keys', () => post(`${key}Content-Length: 2\r\n`, '{}')],
    ['two Content-Types', () => post(`${json}Content-Length: 2\r\n`, '{}')],
    ['HTTP/0.9', () => 'GET /api/v1/products\r\n\r\n'],
    ['an absolute URL', () => get('http://other.example/api/v1/products')],
    ['a fragment', () => get('/api/v1/products#x')],
    ['a bad percent-encoding in the path', () => get('/api/v1/products/%zz')],
    ['a bad percent-encoding in the query', () => get('/api/v1/inventory/levels?limit=%zz')],
  ];
  test.each(cases)('%s', async (_name, bytes) => {
    await expectRefusal(await exchange(origin, [bytes()]), 400, 'malformed_request');
  });
});

describe('limits of the message', () => {
  test('a body over 64 KiB is 413, declared or chunked, and closes', async () => {
    const declared = await exchange(origin, [post('Content-Length: 70000\r\n')]);
    await expectRefusal(declared, 413, 'content_too_large');
    expect(declared.closed).toBe(true);
    const chunk = `11170\r\n${' '.repeat(0x11170)}\r\n0\r\n\r\n`;
    const chunked = await exchange(origin, [post('Transfer-Encoding: chunked\r\n', chunk)]);
    await expectRefusal(chunked, 413, 'content_too_large');
    expect(chunked.closed).toBe(true);
  });

  test('headers over 16 KiB or 100 lines are 431, a URL over 8 KiB is 414', async () => {
    const big = `X-Big: ${'a'.repeat(20_000)}\r\n`;
    await expectRefusal(await exchange(origin, [get('/', big)]), 431, 'headers_too_large');
    const huge = `X-Big: ${'a'.repeat(100_000)}\r\n`;
    await expectRefusal(await exchange(origin, [get('/', huge)]), 431, 'headers_too_large');
    const many = 'X-A: 1\r\n'.repeat(3_000);
    await expectRefusal(await exchange(origin, [get('/', many)]), 431, 'headers_too_large');
    for (const length of [9_000, 20_000, 33_000, 50_000, 64_000, 100_000]) {
      const long = get(`/api/v1/products?q=${'a'.repeat(length)}`);
      await expectRefusal(await exchange(origin, [long]), 414, 'uri_too_long');
    }
  });

  test('Expect is met only for 100-continue, and not for a body that is too large', async () => {
    const unknown = await exchange(origin, [post('Expect: tea\r\nContent-Length: 2\r\n', '{}')]);
    await expectRefusal(unknown, 417, 'expectation_failed');
    const mixed = post('Expect: 100-continue, tea\r\nContent-Length: 2\r\n', '{}');
    await expectRefusal(await exchange(origin, [mixed]), 417, 'expectation_failed');
    const big = await exchange(origin, [post('Expect: 100-continue\r\nContent-Length: 70000\r\n')]);
    await expectRefusal(big, 413, 'content_too_large');
    const fine = await exchange(origin, [
      post('Expect: 100-continue\r\nContent-Length: 2\r\n', '{}'),
    ]);
    expect(fine.answers[0]?.status).toBe(422);
  });
});

describe('methods', () => {
  test.each(['TRACE', 'OPTIONS', 'DELETE', 'PUT', 'PROPFIND'])(
    '%s on a known path is 405 with Allow',
    async (method) => {
      const path = '/api/v1/inventory/adjustments';
      const found = await exchange(origin, [`${method} ${path} HTTP/1.1\r\n${host}\r\n`]);
      await expectRefusal(found, 405, 'method_not_allowed');
      expect(found.answers[0]?.headers.allow).toBe('POST');
    },
  );

  test('CONNECT is refused in the common form', async () => {
    const found = await exchange(origin, [`CONNECT shop.example:443 HTTP/1.1\r\n${host}\r\n`]);
    await expectRefusal(found, 405, 'method_not_allowed');
  });

  test('OPTIONS * is refused, with the methods there are', async () => {
    const found = await exchange(origin, [`OPTIONS * HTTP/1.1\r\n${host}\r\n`]);
    await expectRefusal(found, 405, 'method_not_allowed');
    expect(found.answers[0]?.headers.allow).toBe('GET, HEAD, POST, PATCH');
  });

  test('a route has one spelling: another case, slash or encoding of it is 404', async () => {
    for (const path of [
      '/api/v1/%70roducts',
      '/api/v1/Products',
      '/api/v1/products/',
      '//api/v1',
    ]) {
      await expectRefusal(await exchange(origin, [get(path)]), 404, 'not_found');
    }
  });

  test('Upgrade is ignored', async () => {
    const found = await exchange(origin, [
      get('/api/v1/credential', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'),
    ]);
    expect(found.answers[0]?.status).toBe(200);
  });

  test('HEAD answers like GET, without the body', async () => {
    const path = '/api/v1/credential';
    const bytes = `HEAD ${path} HTTP/1.1\r\n${host}${auth()}Connection: close\r\n\r\n`;
    const found = await exchange(origin, [bytes]);
    const [answer] = found.answers;
    expect(answer?.status).toBe(200);
    expect(answer?.text).toBe('');
    expect(Number(answer?.headers['content-length'])).toBeGreaterThan(100);
    expect(answer?.headers['x-request-id']).toMatch(/^req_/);
  });
});

describe('one connection', () => {
  test('answers pipelined requests in order, each with its own request ID', async () => {
    const found = await exchange(origin, [get('/api/v1/credential').repeat(100)], { quiet: 500 });
    expect(found.answers).toHaveLength(100);
    const ids = found.answers.map((answer) => answer.headers['x-request-id']);
    expect(new Set(ids).size).toBe(100);
  });

  test('stays in step after a GET with a body and after a refusal', async () => {
    const withBody = get('/api/v1/credential', 'Content-Length: 5\r\n');
    const found = await exchange(origin, [
      `${withBody}hello${get('/api/v1/nowhere')}${get('/api/v1/credential')}`,
    ]);
    expect(found.answers.map((answer) => answer.status)).toEqual([200, 404, 200]);
  });
});

describe('a client that stalls', () => {
  test('in its headers is 408 within 12 s, in its body within 17 s', {
    timeout: 40_000,
  }, async () => {
    const [headers, content] = await Promise.all([
      exchange(origin, [`GET /api/v1/products HTTP/1.1\r\n${host}X-Slow: `]),
      exchange(origin, [post('Content-Length: 100\r\n', '{"a":')]),
    ]);
    await expectRefusal(headers, 408, 'request_timeout');
    expect(headers.milliseconds).toBeLessThan(12_500);
    await expectRefusal(content, 408, 'request_timeout');
    expect(content.milliseconds).toBeLessThan(17_500);
    expect(headers.closed && content.closed).toBe(true);
  });
});
