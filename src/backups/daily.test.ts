// When the service takes a backup, and what stays, on a clock that the test sets.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DailyBackups, latest } from './daily.ts';
import { BackupFolder } from './folder.ts';

let root: string;
let folder: BackupFolder;
let backups: DailyBackups | undefined;
let now: Date;
let taken: string[];
let errors: object[];
/** Makes the next tries fail. */
let fault: string | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tallybook-daily-'));
  folder = new BackupFolder(join(root, 'backups'));
  folder.prepare();
  now = new Date(2026, 10, 22, 12, 0);
  taken = [];
  errors = [];
  fault = undefined;
});
afterEach(async () => {
  await backups?.stop();
  rmSync(root, { recursive: true, force: true });
});

function start(keep = 3): DailyBackups {
  backups = new DailyBackups({
    folder,
    keep,
    at: { hour: 3, minute: 0 },
    take: async (file) => {
      taken.push(file);
      if (fault !== undefined) throw new Error(fault);
      writeFileSync(file, 'a backup');
    },
    log: { info: () => undefined, error: (event) => errors.push(event) },
    clock: () => now,
    lookEveryMs: 2,
  });
  backups.start();
  return backups;
}

const looks = () => new Promise((resolve) => setTimeout(resolve, 60));

/** Resolves when so many were tried, and no more are tried at this moment of the clock. */
async function settled(tries: number): Promise<void> {
  await vi.waitFor(() => expect(taken.length).toBeGreaterThanOrEqual(tries), 10_000);
  await looks();
  expect(taken).toHaveLength(tries);
}

const files = () => readdirSync(folder.path).sort();

test('one is taken at once where there is none, then one each day at its time', async () => {
  start();
  await settled(1);
  now = new Date(2026, 10, 23, 2, 59, 59);
  await settled(1);
  now = new Date(2026, 10, 23, 3, 0);
  await settled(2);
  now = new Date(2026, 10, 24, 9, 0);
  await settled(3);
  expect(files()).toEqual(taken.map((file) => file.slice(folder.path.length + 1)));
  expect(backups?.state).toEqual({ last: now, failure: undefined });
});

test('a start later in the day takes none when that of today is there', async () => {
  start();
  await settled(1);
  await backups?.stop();
  now = new Date(2026, 10, 22, 23, 0);
  start();
  await looks();
  expect(taken).toHaveLength(1);
});

test('the oldest go, and nothing that is no backup of ours', async () => {
  writeFileSync(join(folder.path, 'notes.txt'), 'mine');
  writeFileSync(join(folder.path, 'tallybook-20260101T000000Z.gz.unsound'), 'old');
  writeFileSync(join(folder.path, 'tallybook.gz'), 'taken by hand');
  start(2);
  for (let day = 22; day < 27; day += 1) {
    now = new Date(2026, 10, day, 12, 0);
    await settled(day - 21);
  }
  expect(files()).toEqual(
    [
      ...taken.slice(-2).map((file) => file.slice(folder.path.length + 1)),
      'notes.txt',
      'tallybook.gz',
    ].sort(),
  );
});

describe('one that fails', () => {
  test('is known after a restart, is tried each hour, and a success ends it', async () => {
    start();
    await settled(1);
    const { last } = folder.state();
    now = new Date(2026, 10, 23, 3, 0);
    fault = 'no space left on device';
    await settled(2);
    expect(errors).toHaveLength(1);
    const failure = { at: now, reason: 'no space left on device' };
    expect(new BackupFolder(folder.path).state()).toEqual({ last, failure });
    await backups?.stop();
    start();
    now = new Date(2026, 10, 23, 3, 59);
    await settled(2);
    now = new Date(2026, 10, 23, 4, 0);
    await settled(3);
    fault = undefined;
    now = new Date(2026, 10, 23, 5, 1);
    await settled(4);
    expect(folder.state()).toEqual({ last: now, failure: undefined });
    expect(existsSync(join(folder.path, 'last-failure.json'))).toBe(false);
  });

  test('removes no earlier one', async () => {
    start(1);
    await settled(1);
    const before = files();
    fault = 'it is not sound';
    now = new Date(2026, 10, 23, 3, 0);
    await settled(2);
    expect(files()).toEqual(['last-failure.json', ...before].sort());
  });
});

test('a folder that is not there is a failure that is known, and tried each hour', async () => {
  folder = new BackupFolder(join(root, 'mounted', 'backups'));
  const daily = start();
  await vi.waitFor(() => expect(daily.state.failure).toBeDefined(), 10_000);
  const reason = expect.stringContaining('cannot be made');
  expect(daily.state).toEqual({ last: undefined, failure: { at: now, reason } });
  await looks();
  // Tried once, not at each look; that it could not be noted is said as well.
  expect([taken, errors.length]).toEqual([[], 2]);
  mkdirSync(join(root, 'mounted'));
  now = new Date(+now + 3_600_000);
  await settled(1);
  expect(daily.state).toEqual({ last: now, failure: undefined });
});

test('a folder that cannot be made or written to is refused', () => {
  const nowhere = new BackupFolder(join(root, 'not', 'there'));
  expect(() => nowhere.prepare()).toThrow(/cannot be made: .*ENOENT/);
  writeFileSync(join(root, 'file'), '');
  expect(() => new BackupFolder(join(root, 'file', 'in')).prepare()).toThrow(/ENOTDIR/);
});

test('the last moment of a time of day is today or yesterday', () => {
  const at = { hour: 3, minute: 30 };
  expect(latest(at, new Date(2026, 0, 1, 3, 30))).toEqual(new Date(2026, 0, 1, 3, 30));
  expect(latest(at, new Date(2026, 0, 1, 3, 29, 59))).toEqual(new Date(2025, 11, 31, 3, 30));
  expect(latest(at, new Date(2026, 0, 1, 23, 59))).toEqual(new Date(2026, 0, 1, 3, 30));
});
