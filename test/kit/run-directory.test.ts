// What runs of tests leave in memory when they are broken off goes away; what a run still uses
// stays.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownProcess } from '../../src/postgres/lock.ts';
import { SmallDisk } from '../chaos/environment/small-disk.ts';
import { removeDeadRuns } from './run-directory.ts';

let parent: string;
let dead: number;

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'tallybook-runs-'));
  const child = spawn('true', { stdio: 'ignore' });
  await once(child, 'exit');
  dead = child.pid ?? 0;
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

function make(name: string): void {
  mkdirSync(join(parent, name, 'server'), { recursive: true });
  writeFileSync(join(parent, name, 'server', 'file'), 'some');
}

test('the directory of a dead run is removed, that of a living one is not', () => {
  const kept = [
    `tallybook-tests-${ownProcess()}-AbCdEf`,
    // Of an earlier version, or of somebody else.
    'tallybook-tests-QqKFwA',
    `another-${dead}-1-AbCdEf`,
  ];
  const removed = [
    `tallybook-tests-${dead}-1-AbCdEf`,
    // Its process ID is in use again.
    `tallybook-tests-${process.pid}-1-AbCdEf`,
  ];
  for (const name of [...kept, ...removed]) make(name);
  removeDeadRuns(parent);
  expect(readdirSync(parent).sort()).toEqual(kept.toSorted());
});

test('a disk that it left mounted is unmounted', () => {
  const name = `tallybook-tests-${dead}-1-GhIjKl`;
  make(name);
  const disk = SmallDisk.make(join(parent, name, 'disk'));
  writeFileSync(join(disk.directory, 'file'), 'more');
  removeDeadRuns(parent);
  expect(readdirSync(parent)).not.toContain(name);
  expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(name);
});
