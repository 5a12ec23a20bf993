// `npm run sbom`: writes the bill of materials of the service (CycloneDX, JSON). npm 11 leaves out
// with --omit=dev what a development dependency needs as well, so it is asked about the service
// alone, and the bill must list exactly what the lockfile installs for it.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lockedPackages, readLockfile, readManifest } from './lockfile.ts';

const target = 'sbom.cdx.json';

interface Bill {
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

/** The bill of the project without its development dependencies. */
async function bill(): Promise<string> {
  const { devDependencies: _, ...manifest } = readManifest();
  const { packages, ...lockfile } = readLockfile();
  const kept = Object.entries(packages).filter(([, { dev }]) => dev !== true);
  const { devDependencies: __, ...own } = packages[''] ?? {};
  const locked = { ...lockfile, packages: { ...Object.fromEntries(kept), '': own } };
  const directory = mkdtempSync(join(tmpdir(), 'tallybook-sbom-'));
  try {
    // npm names the bill after the folder.
    const project = join(directory, 'tallybook');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify(locked));
    const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
    const options = { cwd: project, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)('npm', words, options)).stdout;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const text = await bill();
const { components } = JSON.parse(text) as Bill;
const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
const installed = new Set(
  lockedPackages(readLockfile())
    .filter(({ dev }) => dev !== true)
    .map(({ name, version }) => `${name}@${version}`),
);
const faults = [
  ...[...installed].filter((one) => !listed.has(one)).map((one) => `${one} is not listed`),
  ...[...listed].filter((one) => !installed.has(one)).map((one) => `${one} is not installed`),
];
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
else {
  writeFileSync(new URL(`../${target}`, import.meta.url), text);
  process.stdout.write(`${target}: ${listed.size} packages\n`);
}
