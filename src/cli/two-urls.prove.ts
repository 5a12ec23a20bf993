// One database has two URLs, the service's and its owner's. Where they do not mean the same one, or
// one of them is missing or wrong, no command does its work on what nobody named.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../test/kit/cluster.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const given = { TALLYBOOK_SECRET: 'a secret of at least thirty-two characters' };

let directory: string;
let cluster: Cluster;
let other: Cluster;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-urls-'));
  [cluster, other] = await Promise.all([startCluster(), startCluster()]);
  for (const name of ['books', 'stock', 'new']) await cluster.sql(`create database ${name}`);
  await other.sql('create database books');
  await other.sql('create role books_service login');
});
afterAll(async () => {
  await Promise.all([cluster.stop(), other.stop()]);
  await rm(directory, { recursive: true, force: true });
});

function tallybook(command: string, env: Record<string, string>) {
  return new Promise<{ code: number | null; stderr: string }>((resolve) => {
    const options = {
      cwd: directory,
      env: { PATH: process.env.PATH, ...given, ...env },
      timeout: 20_000,
    };
    const args = [program, ...command.split(' ')];
    const child = execFile(process.execPath, args, options, (_, __, stderr) =>
      resolve({ code: child.exitCode, stderr }),
    );
  });
}

const hasSchema = async (server: Cluster, database: string) =>
  (await server.sql(`select to_regclass('schema_migrations') is not null as has`, database))[0]
    ?.has === true;

test('the owner alone is not understood, and no private server is made instead', async () => {
  const env = { TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'books') };
  for (const command of ['migrate', 'serve --port 0', 'backup books.gz']) {
    const { code, stderr } = await tallybook(command, env);
    expect({ command, code }).toEqual({ command, code: 2 });
    expect(stderr).toContain('TALLYBOOK_MIGRATE_URL needs --database-url or DATABASE_URL');
  }
  expect(await readdir(directory)).toEqual([]);
});

describe('two databases', () => {
  const commands = ['migrate', 'serve --port 0', 'verify', 'backup b.gz', 'merchant list'];

  beforeAll(async () => {
    const env = { TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'books') };
    const flag = `--database-url ${cluster.url('books_service', 'books')}`;
    expect(await tallybook(`migrate ${flag}`, env)).toMatchObject({ code: 0 });
  });

  test.each(commands)('on one server are refused before anything is done: %s', async (command) => {
    const env = { TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'stock') };
    const flag = `--database-url ${cluster.url('books_service', 'books')}`;
    const { code, stderr } = await tallybook(`${command} ${flag}`, env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: books on \S+ \(--database-url or DATABASE_URL\) and stock on/);
    expect(stderr).toMatch(/\(TALLYBOOK_MIGRATE_URL\) are different databases: name one/);
    expect(stderr).not.toContain(':x@');
    expect(await hasSchema(cluster, 'stock')).toBe(false);
    expect(await readdir(directory)).toEqual([]);
  });

  test('of one name on two servers are refused as well', async () => {
    const env = {
      DATABASE_URL: other.url('books_service', 'books'),
      TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'books'),
    };
    const { code, stderr } = await tallybook('serve --port 0', env);
    expect(code).toBe(1);
    expect(stderr).toContain('are different databases');
    expect(await hasSchema(other, 'books')).toBe(false);
  });
});

test('one database under two names is the same, once its role is there', async () => {
  const env = {
    // As a pooler's address is another one.
    DATABASE_URL: `${cluster.url('new_service', 'new')}%2F`,
    TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'new'),
  };
  const { code, stderr } = await tallybook('migrate', env);
  expect(code).toBe(1);
  expect(stderr).toContain('cannot be compared, because the role of the service is not there yet');
  expect(await hasSchema(cluster, 'new')).toBe(false);
  const alike = { ...env, DATABASE_URL: cluster.url('new_service', 'new') };
  expect(await tallybook('migrate', alike)).toMatchObject({ code: 0 });
  expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
});

test('what cannot be reached is named by its setting, and not by its password', async () => {
  const away = 'postgres://somebody:hidden@127.0.0.1:1/books';
  const service = cluster.url('books_service', 'books');
  const [ofService, ofOwner, ofNobody] = await Promise.all([
    tallybook('verify', { DATABASE_URL: away }),
    tallybook('verify', { DATABASE_URL: service, TALLYBOOK_MIGRATE_URL: away }),
    tallybook('verify', { DATABASE_URL: cluster.url('nobody', 'books') }),
  ]);
  const last = /error: the database cannot be used: .*ECONNREFUSED.* \((.*)\)\n$/;
  expect(ofService.stderr).toMatch(last);
  expect(last.exec(ofService.stderr)?.[1]).toBe('--database-url or DATABASE_URL');
  expect(last.exec(ofOwner.stderr)?.[1]).toBe('TALLYBOOK_MIGRATE_URL');
  expect(ofNobody.stderr).toMatch(
    /role "nobody" does not exist \(--database-url or DATABASE_URL\)/,
  );
  for (const { code, stderr } of [ofService, ofOwner, ofNobody]) {
    expect(code).toBe(1);
    expect(stderr).not.toContain('hidden');
  }
}, 30_000);
