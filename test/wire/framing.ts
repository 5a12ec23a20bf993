// Where a message ends, and whether it is one: what two readers could take differently is refused,
// and the connection with it.

import { alike, type WireCase } from './case.ts';

const lengths = alike({ status: 400, code: 'malformed_request', closes: true }, [
  [
    'both Content-Length and Transfer-Encoding',
    (to) => to.framed(['Content-Length: 4', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
  ],
  [
    'Transfer-Encoding before Content-Length',
    (to) => to.framed(['Transfer-Encoding: chunked', 'Content-Length: 4'], '0\r\n\r\n'),
  ],
  ['two equal lengths', (to) => to.framed(['Content-Length: 2', 'Content-Length: 2'], '{}')],
  ['two lengths', (to) => to.framed(['Content-Length: 2', 'Content-Length: 3'], '{} ')],
  ['a list of lengths', (to) => to.framed(['Content-Length: 2, 2'], '{}')],
  ['a length with a plus', (to) => to.framed(['Content-Length: +2'], '{}')],
  ['a length below zero', (to) => to.framed(['Content-Length: -2'], '{}')],
  ['a hexadecimal length', (to) => to.framed(['Content-Length: 0x2'], '{}')],
  ['a length with a letter', (to) => to.framed(['Content-Length: 2a'], '{}')],
  ['a length with an inner blank', (to) => to.framed(['Content-Length: 1 1'], '{}')],
  ['an empty length', (to) => to.framed(['Content-Length:'], '{}')],
  ['a length beyond 64 bits', (to) => to.framed(['Content-Length: 36893488147419103234'], '{}')],
]);

const codings = alike({ status: 400, code: 'malformed_request', closes: true }, [
  ['an unknown coding', (to) => to.framed(['Transfer-Encoding: xchunked'], '0\r\n\r\n')],
  ['a coding after chunked', (to) => to.framed(['Transfer-Encoding: chunked, identity'])],
  ['chunked twice', (to) => to.framed(['Transfer-Encoding: chunked, chunked'], '0\r\n\r\n')],
  ['chunked in two lines', (to) => to.chunked('0\r\n\r\n', 'Transfer-Encoding: chunked')],
  ['gzip before chunked', (to) => to.framed(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n')],
  ['identity', (to) => to.framed(['Transfer-Encoding: identity'], '0\r\n\r\n')],
  ['an empty coding', (to) => to.framed(['Transfer-Encoding:'], '0\r\n\r\n')],
  ['a quoted coding', (to) => to.framed(['Transfer-Encoding: "chunked"'], '0\r\n\r\n')],
  ['a vertical tab in the coding', (to) => to.framed(['Transfer-Encoding: \vchunked'])],
  [
    'chunks in HTTP/1.0',
    (to) => to.chunked('2\r\n{}\r\n0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
  ],
  ['a chunk size that is none', (to) => to.chunked('zz\r\n{}\r\n0\r\n\r\n')],
  ['a chunk size below zero', (to) => to.chunked('-2\r\n{}\r\n0\r\n\r\n')],
  ['a chunk size with 0x', (to) => to.chunked('0x2\r\n{}\r\n0\r\n\r\n')],
  ['a chunk size beyond 64 bits', (to) => to.chunked(`${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`)],
  ['a chunk size that ends in LF', (to) => to.chunked('2\n{}\r\n0\r\n\r\n')],
  ['a chunk longer than it says', (to) => to.chunked('2\r\n{} \r\n0\r\n\r\n')],
  ['a chunk that ends in LF', (to) => to.chunked('2\r\n{}\n0\r\n\r\n')],
  ['a length in a trailer', (to) => to.chunked('2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n')],
  ['no chunk size at all', (to) => to.chunked('\r\n{}\r\n0\r\n\r\n')],
]);

const lines = alike({ status: 400, code: 'malformed_request', closes: true }, [
  ['lines that end in LF', (to) => to.read('X-A: 1').replaceAll('\r\n', '\n')],
  ['one line that ends in LF', (to) => to.read('X-A: 1\nX-B: 2')],
  ['a first line that ends in LF', (to) => to.read().replace('\r\n', '\n')],
  ['a lone CR in a header', (to) => to.read('X-A: a\rb')],
  ['lines that end in CR', (to) => to.read('X-A: 1\rX-B: 2')],
  ['a line folded by a blank', (to) => to.read('X-A: 1\r\n b')],
  ['a line folded by a tab', (to) => to.read('X-A: 1\r\n\tb')],
  ['a first header line that begins with a blank', (to) => to.read().replace('Host', ' Host')],
  ['a blank before the colon', (to) => to.read('X-A : 1')],
  ['a tab before the colon', (to) => to.read('X-A\t: 1')],
  ['a NUL in a value', (to) => to.read('X-A: a\0b')],
  ['a NUL in a name', (to) => to.read('X\0A: 1')],
  ['DEL in a value', (to) => to.read('X-A: a\x7fb')],
  ['a name that is not ASCII', (to) => to.read('X-\xe9: 1')],
  ['a name in parentheses', (to) => to.read('(X): 1')],
  ['a line without a colon', (to) => to.read('X-A')],
  ['a line without a name', (to) => to.read(': 1')],
]);

const versions = alike({ status: 400, code: 'malformed_request', closes: true }, [
  ['bytes of TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
  ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/0.9', () => 'GET /api/v1/credential\r\n\r\n'],
  ['HTTP/1.2', (to) => to.read().replace('HTTP/1.1', 'HTTP/1.2')],
  ['HTTP/2.0', (to) => to.read().replace('HTTP/1.1', 'HTTP/2.0')],
  ['HTTP/1.10', (to) => to.read().replace('HTTP/1.1', 'HTTP/1.10')],
  ['HTTP/01.1', (to) => to.read().replace('HTTP/1.1', 'HTTP/01.1')],
  ['a version in small letters', (to) => to.read().replace('HTTP/1.1', 'http/1.1')],
  ['another protocol', (to) => to.read().replace('HTTP/1.1', 'SIP/2.0')],
  ['no HTTP at all', () => '\x00\x01\x02\x03\r\n\r\n'],
  ['a command of Redis', () => '*1\r\n$4\r\nPING\r\n'],
]);

/** The body `{}` arrives, and is judged as one. */
const taken = alike({ status: 422, code: 'validation_failed' }, [
  ['one chunk', (to) => to.chunked('2\r\n{}\r\n0\r\n\r\n')],
  [
    'a coding in capitals',
    (to) => to.framed(['Transfer-Encoding: CHUNKED'], '2\r\n{}\r\n0\r\n\r\n'),
  ],
  ['a chunk for each byte', (to) => to.chunked('1\r\n{\r\n01\r\n}\r\n0\r\n\r\n')],
  ['short chunk extensions', (to) => to.chunked('2;a=b;c="d"\r\n{}\r\n0;e\r\n\r\n')],
  ['trailers', (to) => to.chunked('2\r\n{}\r\n0\r\nX-A: 1\r\nIf-Match: x\r\n\r\n')],
  ['a length with leading zeros', (to) => to.framed(['Content-Length: 0002'], '{}')],
]);

const others: readonly WireCase[] = [
  {
    name: 'chunk extensions of 20 KB',
    bytes: (to) => to.chunked(`2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
    status: 413,
    code: 'content_too_large',
    closes: true,
  },
  {
    name: 'trailers of 40 KB',
    bytes: (to) => to.chunked(`2\r\n{}\r\n0\r\nX-A: ${'a'.repeat(40_000)}\r\n\r\n`),
    status: 431,
    code: 'headers_too_large',
    closes: true,
  },
  {
    name: 'a credential in a trailer, which is none',
    bytes: (to) =>
      to.message(
        'POST /api/v1/inventory/adjustments HTTP/1.1',
        [to.host, to.json, to.key, 'Transfer-Encoding: chunked'],
        `2\r\n{}\r\n0\r\n${to.auth}\r\n\r\n`,
      ),
    status: 401,
    code: 'authentication_required',
  },
  {
    name: 'no body where one is due',
    bytes: (to) => to.framed([]),
    status: 400,
    code: 'invalid_json',
  },
  { name: 'empty lines before it', bytes: (to) => `\r\n\r\n${to.read()}`, status: 200 },
  {
    name: 'a read with a body',
    bytes: (to) => `${to.read('Content-Length: 5')}hello`,
    status: 200,
  },
  {
    name: 'a read with a body in chunks',
    bytes: (to) => `${to.read('Transfer-Encoding: chunked')}2\r\nab\r\n0\r\n\r\n`,
    status: 200,
  },
  {
    name: 'HTTP/1.0',
    bytes: (to) => to.read().replace('HTTP/1.1', 'HTTP/1.0'),
    status: 200,
    closes: true,
  },
  {
    name: 'HTTP/1.0 that wants to go on',
    bytes: (to) => to.read('Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0'),
    status: 200,
  },
  {
    name: 'Connection: close',
    bytes: (to) => to.read('Connection: close'),
    status: 200,
    closes: true,
  },
];

export const framing: readonly WireCase[] = [
  ...lengths,
  ...codings,
  ...lines,
  ...versions,
  ...taken,
  ...others,
];
