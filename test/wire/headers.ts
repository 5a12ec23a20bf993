// The header lines that mean something, each by its own grammar, and how many there may be.

import { alike, type WireCase } from './case.ts';

type Row = readonly [name: string, bytes: WireCase['bytes']];

const path = '/inventory/adjustments';

const sizes: readonly WireCase[] = [
  ...alike({ status: 431, code: 'headers_too_large', closes: true }, [
    ['a line of 17 KB', (to) => to.read(`X-A: ${'a'.repeat(17_000)}`)],
    ['a line of 100 KB', (to) => to.read(`X-A: ${'a'.repeat(100_000)}`)],
    ['a name of 20 KB', (to) => to.read(`X-${'a'.repeat(20_000)}: 1`)],
    ['101 lines', (to) => to.read(...Array<string>(99).fill('X-A: 1'))],
    ['3,000 lines', (to) => to.read(...Array<string>(2_998).fill('X-A: 1'))],
    ['lines of 17 KB together', (to) => to.read(...Array(60).fill(`X-A: ${'a'.repeat(300)}`))],
  ]),
  ...alike({ status: 200 }, [
    ['100 lines', (to) => to.read(...Array<string>(98).fill('X-A: 1'))],
    ['lines of 15 KB together', (to) => to.read(`X-A: ${'a'.repeat(15_000)}`)],
  ]),
];

const repeated = alike({ status: 400, code: 'malformed_request', closes: true }, [
  ['two Authorizations', (to) => to.read(to.auth)],
  ['a second, empty Authorization', (to) => to.read('authorization:')],
  ['two Idempotency-Keys', (to) => to.post(path, to.json, to.key, to.key)],
  ['two Content-Types', (to) => to.post(path, to.key, to.json, to.json)],
  ['two Content-Encodings', (to) => to.post(path, ...Array(2).fill('Content-Encoding: identity'))],
  ['two Accepts', (to) => to.read('Accept: */*', 'Accept: text/html')],
  ['two If-Matches', (to) => to.post(path, 'If-Match: "1"', 'If-Match: "2"')],
]);

const expectations: readonly WireCase[] = [
  ...alike({ status: 417, code: 'expectation_failed', closes: true }, [
    ['Expect: tea', (to) => to.post(path, to.json, to.key, 'Expect: tea')],
    ['100-continue and tea', (to) => to.post(path, to.json, to.key, 'Expect: 100-continue, tea')],
    ['100-continue twice', (to) => to.post(path, ...Array(2).fill('Expect: 100-continue'))],
  ]),
  {
    name: '100-continue before a body that is too large',
    bytes: (to) => to.framed(['Expect: 100-continue', 'Content-Length: 70000']),
    status: 413,
    code: 'content_too_large',
    closes: true,
  },
  {
    name: '100-continue',
    bytes: (to) => to.framed(['Expect: 100-Continue', 'Content-Length: 2'], '{}'),
    status: 422,
    code: 'validation_failed',
  },
];

const ignored = alike({ status: 200 }, [
  ['Upgrade', (to) => to.read('Connection: Upgrade', 'Upgrade: websocket')],
  [
    'Upgrade to HTTP/2',
    (to) => to.read('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMA'),
  ],
  ['Range', (to) => to.read('Range: bytes=0-1')],
  ['If-None-Match', (to) => to.read('If-None-Match: *')],
  ['a request ID of the client', (to) => to.read('X-Request-Id: mine')],
  ['an unusable X-Forwarded-For', (to) => to.read('X-Forwarded-For: \xff, unknown, [::1]:99')],
  ['an Idempotency-Key of a read', (to) => to.read('Idempotency-Key: x')],
  ['a Content-Type of a read', (to) => to.read('Content-Type: text/plain')],
  ['names like those of an object', (to) => to.read('__proto__: 1', 'constructor: 2')],
]);

const keyOf = (value: string): WireCase['bytes'] => {
  return (to) => to.post(path, to.json, `Idempotency-Key:${value}`);
};
const fine = 'k'.repeat(20);

const keys: readonly WireCase[] = [
  {
    name: 'no key',
    bytes: (to) => to.post(path, to.json),
    status: 400,
    code: 'idempotency_key_required',
  },
  ...alike({ status: 400, code: 'idempotency_key_invalid' }, [
    ['an empty key', keyOf('')],
    ['a key of blanks', keyOf(' '.repeat(20))],
    ['a key of 15 characters', keyOf(` ${'k'.repeat(15)}`)],
    ['a key of 256 characters', keyOf(` ${'k'.repeat(256)}`)],
    ['a key with a tab', keyOf(` ${fine}\t${fine}`)],
  ]),
  ...alike({ status: 422, code: 'validation_failed' }, [
    ['a key of 16 characters', keyOf(` ${'k'.repeat(16)}`)],
    ['a key of 255 characters', keyOf(` ${'k'.repeat(255)}`)],
    ['a key in blanks and tabs, which are not part of it', keyOf(` \t ${fine} \t `)],
  ]),
  ...Array.from({ length: 256 }, (_, byte) => keyWithByte(byte)),
];

/** Parsers end a message at some bytes, refuse others, and pass the rest on to be judged. */
function keyWithByte(byte: number): WireCase {
  const name = `the byte 0x${byte.toString(16).padStart(2, '0')} within a key`;
  const bytes = keyOf(` ${fine}${String.fromCharCode(byte)}${fine}`);
  if (byte >= 0x21 && byte <= 0x7e) return { name, bytes, status: 422, code: 'validation_failed' };
  if (byte === 0x09 || byte === 0x20 || byte >= 0x80) {
    return { name, bytes, status: 400, code: 'idempotency_key_invalid' };
  }
  return { name, bytes, status: 400, code: 'malformed_request', closes: true };
}

const typed = (line: string): Row => [line, (to) => to.post(path, to.key, line)];

const types: readonly WireCase[] = [
  ...alike({ status: 415, code: 'unsupported_media_type' }, [
    ['no Content-Type', (to) => to.post(path, to.key)],
    ...[
      '',
      'text/plain',
      'application/jsonp',
      'application/json5',
      'application/merge-patch+json',
      'application/json;',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'application/json; charset=utf-8; charset=utf-16',
      'application/json;\tcharset=utf-8',
      'application/json, text/html',
      'application/json; boundary=x',
      'multipart/form-data; boundary=application/json',
      'application/\xe9',
    ].map((type) => typed(`Content-Type: ${type}`)),
    ['Content-Encoding: gzip', (to) => to.post(path, to.key, to.json, 'Content-Encoding: gzip')],
    ['Content-Encoding: br', (to) => to.post(path, to.key, to.json, 'Content-Encoding: br')],
    ['two codings', (to) => to.post(path, to.key, to.json, 'Content-Encoding: identity, gzip')],
  ]),
  ...alike({ status: 422, code: 'validation_failed' }, [
    typed('Content-Type: APPLICATION/JSON'),
    typed('Content-Type: application/json; charset=UTF-8'),
    typed('Content-Type: application/json;charset="utf-8"'),
    [
      'Content-Encoding: identity',
      (to) => to.post(path, to.key, to.json, 'Content-Encoding: Identity'),
    ],
  ]),
];

const accepts: readonly WireCase[] = [
  ...alike(
    { status: 406, code: 'not_acceptable' },
    [
      'text/html',
      'application/xml, image/*',
      'application/json;q=0',
      'application/json; q=0.000, */*',
      '*/*;q=0',
      'application/jsonp',
      ';;;',
      '\xff\xfe',
    ].map((accept): Row => [`Accept: ${accept}`, (to) => to.read(`Accept: ${accept}`)]),
  ),
  ...alike(
    { status: 200 },
    ['', '*/*', 'application/*', 'text/html, application/json;q=0.1', 'APPLICATION/JSON'].map(
      (accept): Row => [`Accept: ${accept}`, (to) => to.read(`Accept: ${accept}`)],
    ),
  ),
];

const credentials: readonly WireCase[] = [
  ...alike({ status: 401, code: 'authentication_required' }, [
    ['no Authorization', (to) => to.message('GET /api/v1/credential HTTP/1.1', [to.host])],
    ['a scheme other than Bearer', (to) => to.read().replace('Bearer', 'Basic')],
    ['a colon after Bearer', (to) => to.read().replace('Bearer', 'Bearer:')],
    ['a tab after Bearer', (to) => to.read().replace('Bearer ', 'Bearer\t')],
  ]),
  ...alike({ status: 401, code: 'invalid_token' }, [
    ['Bearer alone', (to) => to.read().replace(/Bearer \S+/, 'Bearer')],
    ['a token and more', (to) => to.read().replace(/(Bearer \S+)/, '$1 x')],
    ['a token that is not ASCII', (to) => to.read().replace(/Bearer \S+/, 'Bearer \xff\xfe')],
    ['a token of 15 KB', (to) => to.read().replace(/Bearer \S+/, `Bearer ${'a'.repeat(15_000)}`)],
  ]),
];

const preconditions = alike({ status: 400, code: 'malformed_request' }, [
  ['If-Match where there is no version', (to) => to.post(path, to.json, to.key, 'If-Match: "1"')],
  ...['1', '*', 'W/"1"', '"1", "2"', '"0"', '"-1"', '"x"', `"${'9'.repeat(16)}"`].map(
    (tag): Row => [
      `If-Match: ${tag}`,
      (to) =>
        to
          .post(`/products/${to.shop.products[0]}`, to.json, to.key, `If-Match: ${tag}`)
          .replace('POST', 'PATCH'),
    ],
  ),
]);

export const headers: readonly WireCase[] = [
  ...sizes,
  ...repeated,
  ...expectations,
  ...ignored,
  ...keys,
  ...types,
  ...accepts,
  ...credentials,
  ...preconditions,
];
