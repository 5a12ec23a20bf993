// `npm run supply-chain`: what can be checked of where the program comes from, before a release.
// The first half needs no network and is part of the tests. The second asks the registry, through
// npm; without an answer the command fails and says so.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readTree } from '../test/kit/source.ts';
import { secretRules } from '../test/tidy/secrets.ts';
import { dependencyChecks } from './dependencies.ts';
import { readLockfile, readManifest, textOf } from './lockfile.ts';

/** Attacks on packages are found within days. */
const ageDaysMin = 7;

/** Tells what a command wrote when it failed; nothing when it ended with 0. */
async function complaint(program: string, ...words: readonly string[]): Promise<string[]> {
  const ended = promisify(execFile)(program, words, { maxBuffer: 64 * 1024 * 1024 });
  return ended.then(
    () => [],
    ({ stdout, stderr }) => `${stdout}${stderr}`.trim().split('\n').slice(0, 20),
  );
}

function secretFaults(): string[] {
  const files = readTree();
  const tree = new Map(files.map((file) => [file.path, file]));
  return secretRules
    .flatMap((rule) => files.flatMap((file) => rule.check(file, tree)))
    .map(({ file, line }) => `${file}:${line}`);
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
      const faults = await complaint(process.execPath, join(place, 'scripts', 'build.mjs'));
      if (faults.length > 0) return faults;
    }
    return await complaint('diff', '-rq', ...places.map((place) => join(place, 'dist')));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function ageFaults(): Promise<string[]> {
  const { dependencies, devDependencies, overrides } = readManifest();
  const faults: string[] = [];
  for (const [name, version] of Object.entries({
    ...dependencies,
    ...devDependencies,
    ...overrides,
  })) {
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

const sources = {
  manifest: readManifest(),
  lockfile: readLockfile(),
  notes: textOf('docs/security.md'),
};
for (const check of dependencyChecks) await report(check.name, check.faults(sources));
await report('no file holds a token or a private key', secretFaults());
await report('two clean builds are the same, byte for byte', buildFaults());
await report(`every direct dependency is at least ${ageDaysMin} days old`, ageFaults());
await report(
  'no runtime package has a known vulnerability',
  complaint('npm', 'audit', '--omit=dev'),
);
await report(
  'every runtime package has a valid signature of the registry',
  complaint('npm', 'audit', 'signatures', '--omit=dev'),
);
