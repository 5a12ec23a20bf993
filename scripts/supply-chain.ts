// `npm run supply-chain`: the checks before a release that are no tests, because they take long or
// ask the registry, through npm. Without an answer of the registry the command fails. Pins,
// lockfile, install scripts and secrets are checked by `npm test`.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readManifest } from './lockfile.ts';

/** Attacks on packages are found within days. */
const ageDaysMin = 7;

/** What a command wrote when it failed; nothing when it ended with 0. */
async function outputOfFailed(program: string, ...words: readonly string[]): Promise<string[]> {
  const ended = promisify(execFile)(program, words, { maxBuffer: 64 * 1024 * 1024 });
  return ended.then(
    () => [],
    ({ stdout, stderr }) => `${stdout}${stderr}`.trim().split('\n').slice(0, 20),
  );
}

/** A build that depends on where, when or after what it ran cannot be verified by anyone else. */
async function buildFaults(): Promise<string[]> {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const directory = mkdtempSync(join(tmpdir(), 'tallybook-build-'));
  try {
    // Of different depth: a path from the build into the sources would differ.
    const places = [join(directory, 'one'), join(directory, 'some', 'where', 'else')];
    for (const place of places) {
      mkdirSync(place, { recursive: true });
      for (const path of [
        'package.json',
        'tsconfig.json',
        'tsconfig.build.json',
        'scripts',
        'src',
      ]) {
        cpSync(join(root, path), join(place, path), { recursive: true });
      }
      symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
      const faults = await outputOfFailed(process.execPath, join(place, 'scripts', 'build.mjs'));
      if (faults.length > 0) return faults;
    }
    return await outputOfFailed('diff', '-rq', ...places.map((place) => join(place, 'dist')));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function ageFaults(): Promise<string[]> {
  const { dependencies, devDependencies, overrides } = readManifest();
  const pinned = { ...dependencies, ...devDependencies, ...overrides };
  const faults: string[] = [];
  for (const [name, version] of Object.entries(pinned)) {
    const view = promisify(execFile)('npm', ['view', name, 'time', '--json']);
    const times = await view.then(
      ({ stdout }) => JSON.parse(stdout),
      () => ({}),
    );
    const days = (Date.now() - Date.parse(times[version])) / 86_400_000;
    if (!(days >= ageDaysMin)) faults.push(`${name} ${version}: ${Math.floor(days)} days`);
  }
  return faults;
}

/** One line for a guarantee, and one more for each fault. */
async function report(name: string, asked: readonly string[] | Promise<readonly string[]>) {
  const faults = await asked;
  process.stdout.write(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}\n`);
  for (const fault of faults) process.stdout.write(`       ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

await report('two clean builds are the same, byte for byte', buildFaults());
await report(`every direct dependency is at least ${ageDaysMin} days old`, ageFaults());
await report(
  'no runtime package has a known vulnerability',
  outputOfFailed('npm', 'audit', '--omit=dev'),
);
await report(
  'every runtime package has a valid signature of the registry',
  outputOfFailed('npm', 'audit', 'signatures', '--omit=dev'),
);
