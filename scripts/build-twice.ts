// Builds the sources twice, in two new places, and compares what came out. A build that depends on
// where, when or after what it ran cannot be verified by anyone else.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const settings = ['package.json', 'tsconfig.json', 'tsconfig.build.json'];
const sources = [...settings, 'scripts/build.mjs', 'src'];

/** The files that differ; none when the builds are the same. */
export async function buildDifferences(): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tallybook-build-'));
  try {
    // Of different depth: a path from the build into the sources would differ.
    const first = await build(join(directory, 'one'));
    const second = await build(join(directory, 'some', 'where', 'else'));
    const names = [...new Set([...first.keys(), ...second.keys()])].sort();
    if (!first.has(join('cli', 'main.js'))) return ['nothing was built'];
    return names.filter((name) => first.get(name) !== second.get(name));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The hash of each file that was built. */
async function build(place: string): Promise<ReadonlyMap<string, string>> {
  mkdirSync(place, { recursive: true });
  for (const path of sources) {
    cpSync(join(root, path), join(place, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  await promisify(execFile)(process.execPath, [join(place, 'scripts', 'build.mjs')]);
  const built = join(place, 'dist');
  const files = readdirSync(built, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(built.length + 1));
  return new Map(
    files.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(built, name)))
        .digest('hex'),
    ]),
  );
}
