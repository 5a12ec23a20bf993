// Which addresses and URLs webhooks may have. What an address is, is written here by hand, after
// the registries of IANA for special purposes.

import { describe, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { Destinations } from './address.ts';

const none = new Destinations([]);
const allowing = (list: string) =>
  new Destinations(readConfig({}, { TALLYBOOK_WEBHOOK_ALLOW: list }).webhookAllow);
const targetOf = (url: string) => new URL(url);

/** Each range by its first and its last address. */
const closed: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.255.255'],
  'shared by a provider': ['100.64.0.0', '100.127.255.255', '100.100.100.200'],
  loopback: ['127.0.0.1', '127.255.255.255', '::1'],
  'link-local': ['169.254.0.0', '169.254.169.254', 'fe80::1', 'febf:ffff::1', 'fe80::1%eth0'],
  'of protocols': ['192.0.0.0', '192.0.0.170', '192.0.0.192', '192.0.0.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.255', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.0', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  'reserved, and broadcast': ['240.0.0.0', '255.255.255.254', '255.255.255.255'],
  'of relays': ['192.88.99.1', '192.52.193.1', '192.31.196.1', '192.175.48.1'],
  'of a cloud, though public': ['168.63.129.16', '::ffff:168.63.129.16'],
  unspecified: ['::'],
  'unique local': ['fc00::1', 'fdff::1', 'fd00:ec2::254'],
  'site-local': ['fec0::1', 'feff::1'],
  'IPv4-mapped': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::ffff:10.0.0.1',
  ],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8', '::a00:1'],
  'IPv4-translated': ['::ffff:0:127.0.0.1', '::ffff:0:808:808'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::a00:1'],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:808:808::1'],
  Teredo: ['2001::1', '2001:0:7f00:1::'],
  'of other protocols': [
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
    '2001:1::1',
    '5f00::1',
    '100::1',
  ],
  'not assigned': ['4000::1', '8000::1', 'e000::1', '1::1', '200::1'],
  'no address at all': [
    '',
    'localhost',
    '127.1',
    '0x7f000001',
    '2130706433',
    '[::1]',
    '8.8.8.8/32',
  ],
};
const open = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0'],
  ...['126.255.255.255', '128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255'],
  ...['172.32.0.0', '192.0.1.0', '192.167.255.255', '198.17.255.255', '198.20.0.0'],
  ...['223.255.255.255', '2606:4700:4700::1111', '2a00:1450:4001::1', '2001:4860::8888'],
  ...['2003::1', '::ffff:8.8.8.8'],
];

describe('an address', () => {
  test.each(Object.entries(closed).flatMap(([kind, all]) => all.map((address) => [kind, address])))(
    '%s is not called: %s',
    (_, address) => {
      expect(none.permits(targetOf('https://example.com'), address)).toBe(false);
    },
  );

  test.each(open)('that is public is called over TLS, and not without: %s', (address) => {
    expect(none.permits(targetOf('https://example.com'), address)).toBe(true);
    expect(none.permits(targetOf('http://example.com'), address)).toBe(false);
  });
});

describe('a URL is refused', () => {
  const spelled = [
    ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0x7F.1'],
    ...['017700000001', '0177.0.0.1', '0177.1', '00000177.0.0.01', '127.0.0.1.', '127.000.000.001'],
    ...['%31%32%37.0.0.1', '１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.1', '0', '0x0', '0.0.0.0'],
    ...['10.0.0.1', '0xa.1', '012.1', '167772161', '192.168.1.1', '0xc0a80101', '3232235777'],
    ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518'],
    ...[
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::FFFF:7F00:1]',
      '[::7f00:1]',
    ],
    ...['[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '[2002:7f00:1::]', '[fe80::1]'],
    ...['[fd00:ec2::254]', '[ff02::1]', '100.64.0.1', '255.255.255.255', '224.0.0.1'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ｌocalhost', 'lo%63alhost'],
  ];

  test.each(spelled)('for an address that is not public, however it is spelled: %s', (host) => {
    for (const port of ['', ':8443']) {
      expect(none.urlFault(`https://${host}${port}/hook`)).toEqual({
        field: 'url',
        code: 'value_not_allowed',
        message: 'must name a public address, or what the operator of this service allows',
      });
    }
  });

  test.each([
    ...['', 'example.com/hook', '//example.com', 'ftp://example.com', 'file:///etc/passwd'],
    ...['https:/example.com', 'https:example.com', 'https://', 'https:///example.com'],
    ...['https:\\\\example.com', 'https://example.com\\@10.0.0.1', 'https://example.com/a b'],
    ...[
      ' https://example.com',
      'https://exa\tmple.com',
      'https://example.com\n',
      'https://a\u200bb.com',
    ],
    ...[
      'https://256.0.0.1',
      'https://1.2.3.4.5',
      'https://0x7f.0.0.0.1',
      'https://[::1',
      'https://a..b:x',
    ],
    ...['https://[fe80::1%25eth0]/', 'https://[fe80::1%eth0]/', 'https://example.com:65536'],
    ...[
      'javascript:alert(1)',
      'unix:/run/docker.sock',
      'https://%00.com',
      'https://?x',
      'https://#x',
    ],
  ])('that is none, or shows another host than it has: %j', (url) => {
    expect(none.urlFault(url)).toMatchObject({ field: 'url', code: 'invalid_format' });
  });

  test.each([
    ['https://user:password@example.com/', /user or a password/],
    ['https://user@example.com/', /user or a password/],
    ['https://example.com@127.0.0.1/', /user or a password/],
    ['https://:password@example.com/', /user or a password/],
    ['https://example.com:0/', /port 0/],
    ['http://example.com/', /https/],
    ['http://8.8.8.8/', /https/],
  ])('with what it must not have: %s', (url, message) => {
    expect(none.urlFault(url)).toMatchObject({ field: 'url', code: 'value_not_allowed' });
    expect(none.urlFault(url)?.message).toMatch(message);
  });
});

test.each([
  ...['https://example.com', 'HTTPS://Example.COM/hook?a=b#c', 'https://example.com:8443/'],
  ...['https://8.8.8.8/', 'https://[2606:4700:4700::1111]/', 'https://bücher.example/'],
  ...['https://[::ffff:8.8.8.8]/', 'https://intranet/', 'https://example.com/%20?q=a@b'],
])('a URL is accepted: %s', (url) => {
  expect(none.urlFault(url)).toBeUndefined();
});

describe('what the operator allows', () => {
  test('by name is called whatever its address, with and without TLS, and nothing else is', () => {
    const destinations = allowing('hooks.internal, LOCALHOST');
    for (const url of [
      'http://hooks.internal/',
      'https://Hooks.Internal.:9/',
      'http://localhost',
    ]) {
      expect(destinations.urlFault(url)).toBeUndefined();
      expect(destinations.permits(targetOf(url), '10.1.2.3')).toBe(true);
    }
    for (const url of [
      'http://a.hooks.internal/',
      'http://internal/',
      'http://hooks.internal.com',
    ]) {
      expect(destinations.urlFault(url)).toBeDefined();
      expect(destinations.permits(targetOf(url), '10.1.2.3')).toBe(false);
    }
    expect(destinations.urlFault('http://127.0.0.1/')).toBeDefined();
  });

  test('by range is called under any name and spelling', () => {
    const destinations = allowing('10.0.0.0/8,127.0.0.1,fd00::/8,[::1]');
    const urls = [
      'http://10.9.9.9/',
      'http://0x7f.1/',
      'https://[::ffff:10.0.0.1]/',
      'http://[fd12::1]/',
    ];
    for (const url of [...urls, 'http://[::1]:81/', 'http://erp.example/']) {
      expect(destinations.urlFault(url), url).toBeUndefined();
    }
    const target = targetOf('http://erp.example/');
    for (const address of ['10.255.0.1', '::ffff:10.0.0.1', '127.0.0.1', 'fdff::1', '::1']) {
      expect(destinations.permits(target, address), address).toBe(true);
    }
    for (const address of ['11.0.0.1', '127.0.0.2', '::2', 'fc00::1', '::10.0.0.1', '8.8.8.8']) {
      expect(destinations.permits(target, address), address).toBe(false);
    }
    for (const url of ['http://11.0.0.1/', 'https://127.0.0.2/', 'http://[::2]/']) {
      expect(destinations.urlFault(url), url).toBeDefined();
    }
  });

  test('for one port is not called at another', () => {
    const destinations = allowing('localhost:8080,127.0.0.1:80,[::1]:443');
    const allowed: Readonly<Record<string, string>> = {
      'http://localhost:8080/': '127.0.0.9',
      'http://127.0.0.1/': '127.0.0.1',
      'https://[::1]/': '::1',
    };
    for (const [url, address] of Object.entries(allowed)) {
      expect(destinations.urlFault(url), url).toBeUndefined();
      expect(destinations.permits(targetOf(url), address), url).toBe(true);
    }
    const refused: Readonly<Record<string, string>> = {
      'http://localhost:81/': '127.0.0.1',
      'https://127.0.0.1/': '127.0.0.1',
      'http://[::1]/': '::1',
    };
    for (const [url, address] of Object.entries(refused)) {
      expect(destinations.urlFault(url), url).toBeDefined();
      expect(destinations.permits(targetOf(url), address), url).toBe(false);
    }
  });
});
