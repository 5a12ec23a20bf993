// A run of chaos that cannot begin leaves nothing behind, above all no mounted disk.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { plain } from '../settings.ts';
import { ChaosEnvironment } from './environment.ts';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tallybook-chaos-test-'));
  vi.stubEnv('TMPDIR', directory);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

// Only root can make a disk that is too small.
test.runIf(process.getuid?.() === 0)(
  'a disk that is too small is unmounted and removed',
  async () => {
    await expect(ChaosEnvironment.make(() => undefined, plain, 4 * 2 ** 20)).rejects.toThrow();
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(directory);
    expect(readdirSync(directory)).toEqual([]);
  },
);
