// A data directory that was copied or moved by hand: PostgreSQL runs only on files that are its
// account's and closed to others, and what it says about them does not tell what to do.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const isRoot = process.getuid?.() === 0;
const root = mkdtempSync(join(tmpdir(), 'tallybook-copied-'));
chmodSync(root, 0o711);
const original = join(root, 'original');

beforeAll(() => expect(tallybook('migrate', original)).toEqual({ code: 0, stderr: '' }));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function tallybook(command: string, data: string): { code: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [program, command, '--data', data], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  return { code: status, stderr };
}

function copied(flag: '-a' | '-r', name: string): string {
  const data = join(root, name);
  expect(spawnSync('cp', [flag, original, data]).status).toBe(0);
  return data;
}

/** Runs what the message says: it has to be enough. */
function mend(stderr: string): void {
  const remedy = /: (ch(?:own|mod) .*)\n$/.exec(stderr)?.[1] ?? 'false';
  expect(spawnSync('/bin/sh', ['-c', remedy]).status).toBe(0);
}

test('a copy with its owners and modes is as good as the original', () => {
  expect(tallybook('verify', copied('-a', 'whole copy'))).toEqual({ code: 0, stderr: '' });
});

test('a copy that belongs to root is refused with what mends it', (context) => {
  context.skip(!isRoot);
  const data = copied('-r', "root's copy");
  const { code, stderr } = tallybook('verify', data);
  expect(code).toBe(1);
  expect(stderr).toMatch(/copy\/postgres must belong to \w+ and have mode 0700: chown -R /);
  mend(stderr);
  expect(tallybook('verify', data)).toEqual({ code: 0, stderr: '' });
});

test('a copy that others may read is refused with what mends it', () => {
  const data = copied('-a', 'open');
  chmodSync(join(data, 'postgres'), 0o755);
  const { code, stderr } = tallybook('verify', data);
  expect(code).toBe(1);
  expect(stderr).toMatch(/open\/postgres must belong to \w+ and have mode 0700: chmod 700 /);
  mend(stderr);
  expect(statSync(join(data, 'postgres')).mode & 0o777).toBe(0o700);
  expect(tallybook('verify', data)).toEqual({ code: 0, stderr: '' });
});
