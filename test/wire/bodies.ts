// What is sent as a body: one strict JSON object, and in it exact texts and exact quantities.

import { alike, utf8, type WireCase } from './case.ts';

type Row = readonly [name: string, bytes: WireCase['bytes']];

const raw = (name: string, content: string): Row => [name, (to) => to.body(content)];

const sizes = alike({ status: 413, code: 'content_too_large', closes: true }, [
  ['a length beyond 64 KiB, and nothing sent yet', (to) => to.framed(['Content-Length: 65537'])],
  ['a length of 1 TB', (to) => to.framed(['Content-Length: 1000000000000'], '{}')],
  ['a byte beyond 64 KiB', (to) => to.body(' '.repeat(64 * 1_024 + 1))],
  ['a chunk beyond 64 KiB', (to) => to.chunked(`11170\r\n${' '.repeat(0x11170)}\r\n0\r\n\r\n`)],
  ['many chunks beyond 64 KiB', (to) => to.chunked(`1000\r\n${' '.repeat(4_096)}\r\n`.repeat(17))],
]);

const json = alike({ status: 400, code: 'invalid_json' }, [
  raw('nothing but blanks', '  '),
  raw('an array', '[]'),
  raw('a string', '"a"'),
  raw('null', 'null'),
  raw('two objects', '{}{}'),
  raw('an object and a NUL', '{}\0'),
  raw('a trailing comma', '{"a":1,}'),
  raw('a comment', '{/**/}'),
  raw('single quotes', "{'a':1}"),
  raw('a form', 'target_quantity=1'),
  raw('a member twice', '{"a":1,"a":1}'),
  raw('a member twice, once in escapes', '{"a":1,"\\u0061":1}'),
  raw('a member twice, deeper', '{"a":{"b":1,"b":1}}'),
  raw('__proto__', '{"__proto__":{"polluted":1}}'),
  raw('1e400', '{"a":1e400}'),
  ['1e400 for a quantity', (to) => to.adjustText('target_quantity', '1e400')],
  ['309 digits for a quantity', (to) => to.adjustText('target_quantity', '9'.repeat(309))],
  ['1. for a quantity', (to) => to.adjustText('target_quantity', '1.')],
  ['+1 for a quantity', (to) => to.adjustText('target_quantity', '+1')],
  raw('a number that begins with 0', '{"a":01}'),
  raw('NaN', '{"a":NaN}'),
  raw('Infinity', '{"a":-Infinity}'),
  raw('a raw line feed in a string', '{"a":"\n"}'),
  raw('a raw NUL in a string', '{"a":"\0"}'),
  raw('an escape that is none', '{"a":"\\x41"}'),
  raw('an escaped lone surrogate', '{"a":"\\ud800"}'),
  raw('surrogates the wrong way round', '{"a":"\\udc00\\ud800"}'),
  raw('bytes of a surrogate', '{"a":"\xed\xa0\x80"}'),
  raw('overlong UTF-8', '{"a":"\xc0\xaf"}'),
  raw('UTF-8 cut off', '{"a":"\xe2\x82"}'),
  raw('a byte that is not of UTF-8', '{"a":"\xff"}'),
  raw('a byte order mark', '\xef\xbb\xbf{}'),
  raw('UTF-16', '\xff\xfe{\0}\0'),
  raw('UTF-32', '{\0\0\0}\0\0\0'),
  raw('nine levels', '{"a":[[[[[[[[1]]]]]]]]}'),
  raw('30,000 levels', `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`),
  raw('5,000 members', `{${numbered(5_000)}}`),
  raw('161 members', `{${numbered(161)}}`),
  raw('20,000 empty objects', `{"a":[${Array(20_000).fill('{}')}]}`),
  raw('gzip', '\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0'),
]);

const invalid = { status: 422, code: 'validation_failed' } as const;

const members = alike(invalid, [
  raw('160 members that nobody knows', `{${numbered(160)}}`),
  raw('a string of 60 KB that nobody knows', `{"a":"${'a'.repeat(60_000)}"}`),
  raw('names like those of an object', '{"constructor":1,"toString":2,"hasOwnProperty":3}'),
  ['a number for a quantity', (to) => to.adjust({ target_quantity: 1 })],
  ['true for a quantity', (to) => to.adjust({ target_quantity: true })],
  ['a list for a quantity', (to) => to.adjust({ target_quantity: ['1'] })],
  ['an object for a quantity', (to) => to.adjust({ target_quantity: { toString: '1' } })],
  ['null for a quantity', (to) => to.adjust({ target_quantity: null })],
  ['no quantity', (to) => to.adjust({ target_quantity: undefined })],
  ['an unknown reason', (to) => to.adjust({ reason: 'theft' })],
  ['a reason in capitals', (to) => to.adjust({ reason: 'CORRECTION' })],
  ['an empty product', (to) => to.adjust({ product_id: '' })],
  ['a product of 65 characters', (to) => to.adjust({ product_id: 'p'.repeat(65) })],
  ['a NUL in a note', (to) => to.adjust({ note: 'a\0b' })],
  ['a note of 501 characters', (to) => to.adjust({ note: 'a'.repeat(501) })],
  ['a member that the service sets', (to) => to.adjust({ sequence: 1 })],
]);

/** As they are written: JSON.stringify would make 0 of -0, 1 of 1.0, and round. */
const numbers = alike(
  invalid,
  [
    ...[
      '0',
      '-0',
      '0.0',
      '-0.0',
      '1.0',
      '1.50',
      '1E0',
      '1e-400',
      '-1',
      '0.000001',
      '9007199254740993',
    ],
    ...['12345678901234567890', '1'.repeat(308), `0.${'1'.repeat(60_000)}`],
  ].map((number): Row => {
    const shown = number.length > 30 ? `${number.slice(0, 3)}… (${number.length})` : number;
    return [`the number ${shown} for a quantity`, (to) => to.adjustText('target_quantity', number)];
  }),
);

const quantities = alike(
  invalid,
  [
    ...['', ' ', '1 ', ' 1', '+1', '-1', '-0', '.5', '5.', '05', '00', '0x10', '1e5', '1E5'],
    ...['1_000', '1,000', "1'000", 'NaN', 'Infinity', '-Infinity', 'one', '1\0', '1\n', '--1'],
    ...['\u0661', '\uff11', '\u00bd', '1\u00a0000', '\u22121', '1.2.3', '0.000001'],
    ...['1000000000000', '9'.repeat(25), '9'.repeat(64), '9'.repeat(65), `1.${'0'.repeat(63)}`],
    '1'.repeat(60_000),
  ].map((quantity): Row => {
    const shown = quantity.length > 30 ? `${quantity.slice(0, 3)}… (${quantity.length})` : quantity;
    const target_quantity = utf8(quantity);
    return [`the quantity ${JSON.stringify(shown)}`, (to) => to.adjust({ target_quantity })];
  }),
);

const emails = alike(
  invalid,
  [
    ...['', 'a', '@', 'a@', '@a.de', 'a@b', 'a@b.', 'a@.de', 'a..b@c.de', '.a@b.de', 'a.@b.de'],
    ...['"a b"@c.de', 'a b@c.de', 'a@b@c.de', 'a@[127.0.0.1]', 'a@b.de\r\nBcc: c@d.de', 'a@b.de\n'],
    ...['a@b.de\0', 'Ada <a@b.de>', 'a,b@c.de', 'a@-b.de', 'a@b-.de', '\u202ea@b..de'],
    ...[`${'a'.repeat(65)}@b.de`, `a@${'b.'.repeat(126)}de`, `a@${'b'.repeat(64)}.de`],
    ...[`${'a'.repeat(60_000)}@b.de`, `a@${'b.'.repeat(30_000)}de`, '@'.repeat(60_000)],
  ].map((email): Row => {
    const shown = email.length > 30 ? `${email.slice(0, 9)}… (${email.length})` : email;
    return [`the address ${JSON.stringify(shown)}`, (to) => to.customer({ email })];
  }),
);

/** C0, DEL and C1: none may reach a log, a terminal or a mail. */
const controls = alike(
  invalid,
  [0, 1, 8, 9, 10, 13, 27, 31, 127, 128, 133, 159].map((code): Row => {
    const name = `a${String.fromCharCode(code)}b`;
    return [`a name with U+${code.toString(16).padStart(4, '0')}`, (to) => to.customer({ name })];
  }),
);

export const bodies: readonly WireCase[] = [
  ...sizes,
  ...json,
  ...members,
  ...numbers,
  ...quantities,
  ...emails,
  ...controls,
];

function numbered(count: number): string {
  return Array.from({ length: count }, (_, n) => `"${n}":1`).join(',');
}
