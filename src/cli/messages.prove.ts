// Errors in the words of the caller: which option, file or address it is and what it must be, never
// the raw words of the runtime.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
let db: TestDatabase;
let folder: string;

beforeAll(async () => {
  db = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tallybook-messages-'));
  await mkdir(join(folder, 'folder'));
  await writeFile(join(folder, 'file'), 'text');
});
afterAll(async () => {
  await db.drop();
  await rm(folder, { recursive: true, force: true });
});

function tallybook(args: readonly string[]): Promise<{ code: number; stderr: string }> {
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: db.serviceUrl,
    TALLYBOOK_SECRET: 'a secret of at least thirty-two characters',
  };
  return new Promise((resolve) => {
    const options = { env, cwd: folder };
    const child = execFile(process.execPath, [program, ...args], options, (_, __, stderr) =>
      resolve({ code: child.exitCode ?? -1, stderr }),
    );
  });
}

const create = ['app', 'create', '--name', 'a', '--scopes', 'all', '--jwks'];
const merchant = 'mer_01k9x3v7c2e4r8t1m5n6p0q9sa';

describe('an error says what is wrong with what', () => {
  test.each([
    [
      ['token', 'show', 'cred_1'],
      '<credential> is "cred_1". It must be an ID such as cred_01k9x3v7c2e4r8t1m5n6p0q9sa; ' +
        '"tallybook token list" shows them.',
    ],
    [
      ['location', 'list', '--merchant', 'abc'],
      `--merchant is "abc". It must be an ID such as ${merchant}; "tallybook merchant list" shows`,
    ],
    [['audit', 'list', '--since', 'yesterday'], '--since is "yesterday". It must be a day, a time'],
    [['completion', 'fish'], '<shell> is "fish". Allowed choices are bash, zsh.'],
    [
      [...create, 'absent'],
      '--jwks is "absent". It cannot be read: there is no such file or directory (ENOENT).',
    ],
    [[...create, 'folder'], '--jwks is "folder". It cannot be read: it is a directory (EISDIR).'],
    [[...create, 'file'], '--jwks is "file". It cannot be read: it is not JSON.'],
    [['restore', 'absent'], 'there is no such file'],
    [['restore', 'folder'], 'it is a directory (EISDIR)'],
    [['backup', 'folder'], 'folder is not a file; "-" is standard output'],
    [['backup', 'absent/file'], 'absent/file cannot be written: there is no such directory'],
    [['backup', 'file/b'], 'file/b: a part of its path is not a directory (ENOTDIR)'],
    [
      ['serve', '--host', 'absent.invalid'],
      'cannot listen on absent.invalid, port 8080, because there is no machine of this name',
    ],
    [
      ['serve', '--tls-cert', 'absent', '--tls-key', 'absent'],
      'absent: there is no such file or directory (ENOENT)',
    ],
    [['backup', '/dev/null/b'], '/dev/null/b: a part of its path is not a directory (ENOTDIR)'],
  ] satisfies [string[], string][])('%j', async (args, text) => {
    const { code, stderr } = await tallybook(args);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(text);
    expect(stderr).toMatch(/^error: |\nerror: /);
    expect(stderr).not.toMatch(/syscall|getaddrinfo|illegal operation|no such file or directory, /);
    expect(stderr).not.toContain('    at ');
  });
});

test('a backup whose reader has gone says that, and fails', async () => {
  const backup = `"${process.execPath}" "${program}" backup -`;
  const line = `exec 3> >(true); wait $!; ${backup} >&3`;
  const env = { PATH: process.env.PATH, DATABASE_URL: db.serviceUrl };
  const args = ['--norc', '-c', line];
  const [code, stderr] = await new Promise<[number, string]>((resolve) => {
    const child = execFile('/bin/bash', args, { env }, (_, __, printed) =>
      resolve([child.exitCode ?? -1, printed]),
    );
  });
  expect([code, stderr]).toEqual([1, 'error: nobody reads it any more (EPIPE)\n']);
});
