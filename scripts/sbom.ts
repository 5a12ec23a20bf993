// `npm run sbom`: writes the bill of materials of the service, sbom.cdx.json (CycloneDX). `npm sbom
// --omit=dev` leaves out what a development dependency needs as well, so it gets a lockfile of the
// service alone, and the bill must list exactly what that installs.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockedPackages, readLockfile, readManifest, serviceLockfile } from './lockfile.ts';

const lockfile = serviceLockfile(readLockfile());
const { devDependencies: _, ...manifest } = readManifest();
const directory = mkdtempSync(join(tmpdir(), 'tallybook-sbom-'));
try {
  // npm names the bill after the folder.
  const cwd = join(directory, 'tallybook');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(cwd, 'package-lock.json'), JSON.stringify(lockfile));
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const bill = execFileSync('npm', words, { cwd, maxBuffer: 64 * 1024 * 1024 });
  const { components } = JSON.parse(bill.toString()) as {
    components: { name: string; version: string }[];
  };
  const sorted = (all: readonly { name: string; version?: string }[]) =>
    [...new Set(all.map(({ name, version }) => `${name}@${version}`))].sort().join('\n');
  if (sorted(components) !== sorted(lockedPackages(lockfile))) {
    throw new Error('the bill that npm wrote is not what the lockfile installs');
  }
  writeFileSync(new URL('../sbom.cdx.json', import.meta.url), bill);
  process.stdout.write(`sbom.cdx.json: ${components.length} packages\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
