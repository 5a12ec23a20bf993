// What the configuration guarantees: where each setting comes from, and that a wrong one is refused
// before anything has started.

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, settings, UsageError } from './config.ts';

const url = 'postgres://service:secret@db:5432/tallybook';

describe('where the data is', () => {
  test('without any setting it is a directory of its own', () => {
    const isRoot = process.getuid?.() === 0;
    expect(readConfig({}, {}).storage).toEqual({
      kind: 'private',
      dataDirectory: isRoot ? '/var/lib/tallybook' : resolve('data'),
      binDirectory: undefined,
    });
  });

  test('the environment names a directory or a database, and the database wins', () => {
    expect(readConfig({}, { TALLYBOOK_DATA: 'books' }).storage).toMatchObject({
      dataDirectory: resolve('books'),
    });
    const environment = { TALLYBOOK_DATA: 'books', DATABASE_URL: url };
    expect(readConfig({}, environment).storage).toEqual({
      kind: 'external',
      databaseUrl: url,
      migrateUrl: undefined,
    });
  });

  test('--data is refused beside a variable that names a database', () => {
    for (const name of ['DATABASE_URL', 'TALLYBOOK_MIGRATE_URL']) {
      const read = () => readConfig({ data: 'books' }, { [name]: url });
      expect(read).toThrow(UsageError);
      expect(read).toThrow(`leave out --data, or unset ${name}`);
    }
  });

  test('a flag beats the environment', () => {
    expect(readConfig({ data: 'books' }, { TALLYBOOK_DATA: 'other' }).storage).toMatchObject({
      dataDirectory: resolve('books'),
    });
    expect(readConfig({ databaseUrl: url }, { TALLYBOOK_DATA: 'books' }).storage).toMatchObject({
      kind: 'external',
    });
  });

  test('the owner alone is refused', () => {
    const environment = { TALLYBOOK_MIGRATE_URL: url, TALLYBOOK_DATA: 'books' };
    expect(() => readConfig({}, environment)).toThrow(UsageError);
    expect(() => readConfig({}, environment)).toThrow(/^(?!.*secret).*DATABASE_URL/);
  });

  test('both flags together are refused', () => {
    expect(() => readConfig({ data: 'books', databaseUrl: url }, {})).toThrow(UsageError);
  });

  test('a wrong database URL is refused without repeating its password', () => {
    const wrong = 'mysql://service:secret@db/tallybook';
    expect(() => readConfig({ databaseUrl: wrong }, {})).toThrow(/^(?!.*secret).*DATABASE_URL/);
    expect(() => readConfig({}, { DATABASE_URL: url, TALLYBOOK_MIGRATE_URL: wrong })).toThrow(
      /^(?!.*secret).*TALLYBOOK_MIGRATE_URL/,
    );
  });
});

describe('the other settings', () => {
  test('have the defaults of the table', () => {
    expect(readConfig({}, {})).toMatchObject({
      host: settings.host.default,
      port: Number(settings.port.default),
      publicUrl: undefined,
      secret: undefined,
      trustedProxies: [],
      webhookAllow: [],
      logLevel: settings.logLevel.default,
      logAddresses: true,
      metricsPort: undefined,
      workers: 1,
    });
  });

  test('workers are a number, or as many as there are processors', () => {
    expect(readConfig({ workers: '64' }, { TALLYBOOK_WORKERS: '2' }).workers).toBe(64);
    expect(readConfig({}, { TALLYBOOK_WORKERS: '2' }).workers).toBe(2);
    expect(readConfig({ workers: 'auto' }, {}).workers).toBe(availableParallelism());
    for (const wrong of ['0', '-1', '1.5', 'x', '65', '1e1', '', 'Auto', ' 2']) {
      expect(() => readConfig({ workers: wrong }, {}), wrong).toThrow(
        new UsageError('--workers or TALLYBOOK_WORKERS must be a number from 1 to 64, or auto'),
      );
    }
  });

  test('come from the environment, and from the flag where there is one', () => {
    const environment = {
      TALLYBOOK_HOST: '0.0.0.0',
      TALLYBOOK_PORT: '80',
      TALLYBOOK_PUBLIC_URL: 'https://Books.example.com/',
      TALLYBOOK_SECRET: 'kept by the operator',
      TALLYBOOK_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      TALLYBOOK_WEBHOOK_ALLOW: 'Hooks.internal., localhost:8080,10.0.0.0/8,::1,[fd00::1]:443,',
      TALLYBOOK_LOG_LEVEL: 'warn',
      TALLYBOOK_LOG_ADDRESSES: 'off',
      TALLYBOOK_METRICS_PORT: '9090',
      TALLYBOOK_POSTGRES_BIN: '/opt/postgresql/bin',
    };
    const config = readConfig({ port: '8081' }, environment);
    expect(config).toMatchObject({
      storage: { binDirectory: '/opt/postgresql/bin' },
      host: '0.0.0.0',
      port: 8081,
      publicUrl: 'https://books.example.com',
      secret: 'kept by the operator',
      trustedProxies: ['10.0.0.0/8', '::1'],
      webhookAllow: [
        { kind: 'name', name: 'hooks.internal', port: undefined },
        { kind: 'name', name: 'localhost', port: 8080 },
        { kind: 'range', address: '10.0.0.0', prefix: 8, port: undefined },
        { kind: 'range', address: '::1', prefix: 128, port: undefined },
        { kind: 'range', address: 'fd00::1', prefix: 128, port: 443 },
      ],
      logLevel: 'warn',
      logAddresses: false,
      metricsPort: 9090,
    });
  });

  test('count as unset when they are empty', () => {
    const empty = Object.fromEntries(Object.values(settings).map(({ variable }) => [variable, '']));
    expect(readConfig({}, empty)).toEqual(readConfig({}, {}));
  });

  test.each([
    ['TALLYBOOK_PORT', '65536'],
    ['TALLYBOOK_PORT', '80a'],
    ['TALLYBOOK_PORT', '-1'],
    ['TALLYBOOK_METRICS_PORT', 'off'],
    ['TALLYBOOK_PUBLIC_URL', 'books.example.com'],
    ['TALLYBOOK_PUBLIC_URL', 'https://books.example.com/api'],
    ['TALLYBOOK_PUBLIC_URL', 'ftp://books.example.com'],
    ['TALLYBOOK_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TALLYBOOK_TRUSTED_PROXIES', 'proxy.example.com'],
    ...[
      ...[
        'https://hooks.internal',
        'hooks.internal/path',
        '*.internal',
        'user@hooks.internal',
        'a b',
      ],
      ...[
        '10.0.0.0/33',
        '10.0/8',
        '10.0.0.0/8:80',
        '::/129',
        'fe80::1%eth0',
        '[::1',
        '::1]:80',
        '%31',
      ],
      ...[
        '127.1',
        '0x7f000001',
        '0177.0.0.1',
        '256.0.0.1',
        'localhost:0',
        '127.0.0.1:65536',
        'a:b',
      ],
      ...['2130706433', '127.0.0.1.', '.', 'a..b', 'cafe:80:1', '[127.0.0.1]', '１２７.0.0.1'],
    ].map((entry) => ['TALLYBOOK_WEBHOOK_ALLOW', `localhost,${entry}`]),
    ['TALLYBOOK_LOG_LEVEL', 'loud'],
    ['TALLYBOOK_LOG_ADDRESSES', 'yes'],
    ['TALLYBOOK_WEBHOOKS', 'false'],
  ])('%s=%s is refused by name', (variable, value) => {
    expect(() => readConfig({}, { [variable]: value })).toThrow(variable);
  });
});
