// Words that mean something in a request, or nearly do: what mutations put where others were.

/** HEAD is not among them: whoever counts answers must know which have no body. */
export const methods = [
  'GET',
  'POST',
  'PATCH',
  'PUT',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
  '',
];
export const versions = ['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', ''];
export const names = [
  ...['Host', 'Authorization', 'Idempotency-Key', 'Content-Type', 'Content-Length', 'Accept'],
  ...['Transfer-Encoding', 'Content-Encoding', 'If-Match', 'Expect', 'Connection', 'Upgrade'],
  ...[
    'X-Forwarded-For',
    'X-Request-Id',
    'Range',
    'Trailer',
    'TE',
    'Cookie',
    '__proto__',
    'X A',
    '',
  ],
];
export const values = [
  ...['', ' ', '\0', '\x7f', '\xff', '\t', '\r\n x', '\n', '0', '1', '-1', '5', '"1"', '*', '*/*'],
  ...['99999999999999999999', 'chunked', 'gzip', 'identity', '100-continue', 'close', 'keep-alive'],
  ...[
    'websocket',
    'application/json',
    'text/html',
    'application/json;q=0',
    'Bearer x',
    'Basic eA==',
  ],
  ...['a'.repeat(16), 'a'.repeat(256), 'a'.repeat(9_000), 'a'.repeat(17_000), '"', '\\', ';', ',,'],
];
export const paths = [
  ...['%00', '%zz', '%', '%c0%af', '%ed%a0%80', '%f0%9f%99%82', '\xe9', '/', '//', '/../', '/./'],
  ...[
    '?',
    '&',
    '#',
    ';',
    ' ',
    '?limit=0',
    '?limit=1',
    '?cursor=x',
    '?q=%00',
    '?sku=%00',
    '?__proto__=1',
  ],
  ...[
    '?updated_after=9999-12-31T23:59:59.999999999Z',
    '?updated_after=0001-01-01T00:00:00%2B14:00',
  ],
  ...['?q=a%20b%20%27%20%3A%2A%20%7C', '?location_id=x', '?email=a%40b', `?q=${'a'.repeat(7_000)}`],
  ...[
    '?status=active',
    '?external_id=%E0%A4%A',
    '?product_id=a&product_id=b',
    '?type=inventory.adjust',
  ],
];
/** What may stand in JSON, or may not. */
export const jsonValues = [
  ...['null', 'true', '0', '-0', '1', '1.5', '1e400', '12345678901234567890', '[]', '{}', '[[[]]]'],
  ...['""', '" "', '"a"', '"0"', '"-0"', '"1.00000"', '"999999999999.99999"', '"1000000000000"'],
  ...[
    '"\\u0000"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\xff"',
    '"\xe2\x80\xae"',
    '"\\u0085"',
    '"%s"',
  ],
  ...[
    '"NaN"',
    '"Infinity"',
    '"1e5"',
    '"0x10"',
    '"active"',
    '"archived"',
    '"inactive"',
    '"UTC"',
    '',
  ],
  ...[
    `"${'a'.repeat(255)}"`,
    `"${'a'.repeat(6_000)}"`,
    '{"a":"b"}',
    '{"a":1}',
    '{"__proto__":"a"}',
  ],
  ...[
    '{"code":"kg","precision":5}',
    '{"amount":"0.00","currency":"EUR"}',
    '{"code":"","precision":9}',
  ],
];
