// What an operator meets while the disk under a data directory is full: a reason in words, nothing
// left behind, and everything as before once there is room. Only root can make such a disk.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { SmallDisk } from '../../test/chaos/environment/small-disk.ts';
import { serveProcess } from '../../test/kit/process.ts';

vi.setConfig({ testTimeout: 120_000 });

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'tallybook-full-'));
const disk = SmallDisk.make(join(root, 'disk'));
const data = join(disk.directory, 'data');

afterAll(() => {
  disk.unmount();
  rmSync(root, { recursive: true, force: true });
});

function tallybook(...args: string[]): { code: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [program, ...args, '--data', data], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  return { code: status, stderr };
}

function locks(): string[] {
  return readdirSync(data).filter((name) => name.includes('lock') || name.includes('draft'));
}

describe('the disk under a data directory', () => {
  test('is named when it is full, and no attempt leaves anything behind', (context) => {
    context.skip(!disk.canBeFull);
    expect(tallybook('migrate')).toEqual({ code: 0, stderr: '' });
    expect(disk.fill()).toBe(true);
    fillRest();
    const said =
      `error: the data directory ${data} cannot be written (no space left on device): ` +
      'free space\n';
    for (const args of [['verify'], ['backup', join(root, 'a.gz')], ['serve', '--port', '0']]) {
      const { code, stderr } = tallybook(...args);
      expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: said });
    }
    expect(locks()).toEqual([]);
    free();
    expect(tallybook('verify')).toEqual({ code: 0, stderr: '' });
  });

  test('may be full when a service stops: its server stops with it', async (context) => {
    context.skip(!disk.canBeFull);
    const service = await serveProcess(['--data', data]);
    disk.fill();
    fillRest();
    const code = await service.end();
    free();
    expect(code).toBe(0);
    expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false);
    expect(locks()).toEqual([]);
  });
});

test('a start removes the drafts of locks that dead processes left, and no others', () => {
  tallybook('migrate');
  const left = (name: string) => {
    mkdirSync(join(data, name));
    writeFileSync(join(data, name, 'x'), '');
    return name;
  };
  left(`postgres.lock.${spawnSync('true').pid}-1-abc`);
  left(`postgres.lock.${process.pid}-1-abc`);
  const kept = [left(`postgres.lock.${process.pid}-0-abc`), left('postgres.lock.of-somebody-else')];
  expect(tallybook('verify').code).toBe(0);
  expect(locks().sort()).toEqual(kept);
  for (const name of kept) rmSync(join(data, name), { recursive: true });
});

const filler = join(disk.directory, 'filler');

/** What the disk was left with: a lock needs only some bytes. */
function fillRest(): void {
  try {
    writeFileSync(filler, Buffer.alloc(2 ** 20));
  } catch {
    // Now it is full.
  }
}

function free(): void {
  disk.free();
  rmSync(filler, { force: true });
}
