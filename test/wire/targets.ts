// What is asked, of what, and at which host: one route has one spelling and its own methods.

import { alike, utf8, type WireCase } from './case.ts';

const adjustments = '/api/v1/inventory/adjustments';

const methods: readonly WireCase[] = [
  ...alike(
    { status: 405, code: 'method_not_allowed', headers: { allow: 'POST' } },
    ['TRACE', 'OPTIONS', 'DELETE', 'PUT', 'GET', 'PROPFIND', 'M-SEARCH'].map((method) => [
      `${method} of a path that takes POST`,
      (to) => to.message(`${method} ${adjustments} HTTP/1.1`, [to.host]),
    ]),
  ),
  {
    name: 'a body with a method that has no place there',
    bytes: (to) => to.message(`PUT ${adjustments} HTTP/1.1`, [to.host, 'Content-Length: 2'], '{}'),
    status: 405,
    code: 'method_not_allowed',
    headers: { allow: 'POST' },
  },
  {
    name: 'CONNECT',
    bytes: (to) => to.message('CONNECT shop.example:443 HTTP/1.1', [to.host]),
    status: 405,
    code: 'method_not_allowed',
    headers: { allow: 'GET, HEAD, POST, PATCH' },
    closes: true,
  },
  {
    name: 'OPTIONS *',
    bytes: (to) => to.message('OPTIONS * HTTP/1.1', [to.host]),
    status: 405,
    code: 'method_not_allowed',
    headers: { allow: 'GET, HEAD, POST, PATCH' },
  },
  ...alike({ status: 400, code: 'malformed_request', closes: true }, [
    ['an unknown method', (to) => to.read().replace('GET', 'FETCH')],
    ['a method in small letters', (to) => to.read().replace('GET', 'get')],
    ['a method with a NUL', (to) => to.read().replace('GET', 'G\0ET')],
  ]),
  {
    name: 'HEAD of what is there',
    bytes: (to) => to.read().replace('GET', 'HEAD'),
    status: 200,
    isHead: true,
  },
  {
    name: 'HEAD of what is not there',
    bytes: (to) => to.get('/api/v1/nothing').replace('GET', 'HEAD'),
    status: 404,
    isHead: true,
  },
  {
    name: 'another method by a header',
    bytes: (to) => to.read('X-HTTP-Method-Override: DELETE'),
    status: 200,
  },
];

const hosts: readonly WireCase[] = [
  ...alike({ status: 400, code: 'malformed_request', closes: true }, [
    ['no Host', (to) => to.message('GET /api/v1/credential HTTP/1.1', [to.auth])],
    ['no Host in HTTP/1.0', (to) => to.message('GET /api/v1/credential HTTP/1.0', [to.auth])],
    ['two Hosts', (to) => to.read('Host: other.example')],
    ['two equal Hosts', (to) => to.read(to.host)],
    ['a Host with a path', (to) => to.read().replace('shop.example', 'shop.example/a')],
    ['a Host with a blank', (to) => to.read().replace('shop.example', 'shop example')],
    ['a Host with a user', (to) => to.read().replace('shop.example', 'a@shop.example')],
    ['a Host that is not ASCII', (to) => to.read().replace('shop.example', 'sh\xf6p.example')],
  ]),
  ...alike({ status: 200 }, [
    ['a Host with a port', (to) => to.read().replace('shop.example', 'shop.example:8080')],
    ['a Host that is an IPv6 address', (to) => to.read().replace('shop.example', '[::1]:80')],
    ['an empty Host', (to) => to.read().replace(' shop.example', '')],
  ]),
];

const targets: readonly WireCase[] = [
  ...alike({ status: 400, code: 'malformed_request', closes: true }, [
    ['an absolute URL', (to) => to.get('http://other.example/api/v1/credential')],
    ['an authority', (to) => to.get('shop.example:80')],
    ['a fragment', (to) => to.get('/api/v1/credential#x')],
    ['a relative path', (to) => to.get('api/v1/credential')],
    ['a blank within', (to) => to.get('/api/v1/credential /x')],
    ['a NUL', (to) => to.get('/api/v1/credential\0')],
    ['a tab', (to) => to.get('/api/v1/\tcredential')],
    ['no target', (to) => to.get('')],
    ['%zz', (to) => to.get('/api/v1/products/%zz')],
    ['a lone %', (to) => to.get('/api/v1/products/%')],
    ['overlong UTF-8', (to) => to.get('/api/v1/products/%c0%af')],
    ['UTF-8 cut off', (to) => to.get('/api/v1/products/%e2%82')],
    ['a byte that is not ASCII', (to) => to.get('/api/v1/products/\xe9')],
    ['UTF-8 that is not encoded', (to) => to.get(`/api/v1/products/${utf8('名')}`)],
    ['an encoded surrogate', (to) => to.get('/api/v1/products/%ed%a0%80')],
  ]),
  ...alike({ status: 404, code: 'not_found' }, [
    ['%00 for an ID', (to) => to.get('/api/v1/products/%00')],
    ['%2f for an ID', (to) => to.get('/api/v1/products/%2f')],
    ['%2e%2e for an ID', (to) => to.get('/api/v1/products/%2e%2e')],
    ['%25zz for an ID', (to) => to.get('/api/v1/products/%25zz')],
    ['an emoji for an ID', (to) => to.get('/api/v1/products/%f0%9f%99%82')],
    ['8,000 characters for an ID', (to) => to.get(`/api/v1/products/${'a'.repeat(8_000)}`)],
    ['parameters of a segment', (to) => to.get('/api/v1/credential;a=b')],
    ['a slash at the end', (to) => to.get('/api/v1/credential/')],
    ['two slashes', (to) => to.get('/api//v1/credential')],
    ['two slashes before all', (to) => to.get('//api/v1/credential')],
    ['a dot as a segment', (to) => to.get('/api/./v1/credential')],
    ['two dots as a segment', (to) => to.get('/api/v1/products/../credential')],
    ['capitals', (to) => to.get('/api/v1/Credential')],
    ['an encoded letter', (to) => to.get('/api/v1/%63redential')],
    ['an encoded slash', (to) => to.get('/api/v1%2fcredential')],
    ['a backslash', (to) => to.get('/api\\v1\\credential')],
    ['another version', (to) => to.get('/api/v2/credential')],
    ['2,000 segments', (to) => to.get('/a'.repeat(2_000))],
  ]),
  {
    name: 'a target of 8 KiB',
    bytes: (to) => to.get(`/${'a'.repeat(8 * 1_024 - 1)}`),
    status: 404,
    code: 'not_found',
  },
  ...alike({ status: 414, code: 'uri_too_long', closes: true }, [
    ['a target of a byte more', (to) => to.get(`/${'a'.repeat(8 * 1_024)}`)],
    ...[9_000, 20_000, 33_000, 50_000, 64_000, 100_000].map(
      (length) =>
        [
          `a query of ${length} bytes`,
          (to) => to.get(`/api/v1/products?q=${'a'.repeat(length)}`),
        ] as [string, WireCase['bytes']],
    ),
  ]),
];

export const methodsAndTargets: readonly WireCase[] = [...methods, ...hosts, ...targets];
