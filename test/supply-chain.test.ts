// Where the program comes from, as far as this can be checked without a network. `npm run
// supply-chain` checks the rest.

import { describe, expect, test } from 'vitest';
import { dependencyChecks, type Sources } from '../scripts/dependencies.ts';
import { readLockfile, readManifest, textOf } from '../scripts/lockfile.ts';
import { mintToken } from '../src/access/token.ts';

const sources: Sources = {
  manifest: readManifest(),
  lockfile: readLockfile(),
  notes: textOf('docs/security.md'),
};

function faultsOf(changed: Sources): string[] {
  return dependencyChecks.flatMap((check) => check.faults(changed));
}

describe('of the dependencies', () => {
  test.each(dependencyChecks.map((check) => [check.name, check] as const))('%s', (_, check) => {
    expect(check.faults(sources)).toEqual([]);
  });

  const { manifest, lockfile } = sources;
  const withDependency = (name: string, version: string): Sources => ({
    ...sources,
    manifest: { ...manifest, dependencies: { ...manifest.dependencies, [name]: version } },
  });
  const withPackage = (place: string, locked: object): Sources => {
    const packages = { ...lockfile.packages, [place]: { ...lockfile.packages[place], ...locked } };
    return { ...sources, lockfile: { ...lockfile, packages } };
  };
  const withScripts = (allowed: Readonly<Record<string, boolean>>): Sources => ({
    ...sources,
    manifest: { ...manifest, allowScripts: { ...manifest.allowScripts, ...allowed } },
  });
  const withOverride = (name: string, version: string): Sources => ({
    ...sources,
    manifest: { ...manifest, overrides: { ...manifest.overrides, [name]: version } },
  });
  const pg = 'node_modules/pg';
  const refused: [string, Sources, RegExp][] = [
    ['a range', withDependency('pg', '^8.23.1'), /pg is \^8/],
    ['a tag', withDependency('pg', 'latest'), /pg is latest/],
    ['a repository', withDependency('pg', 'github:brianc/node-postgres'), /pg is github/],
    ['one that is not explained', withDependency('left-pad', '1.3.0'), /left-pad is not explained/],
    ['one that is not locked', withDependency('left-pad', '1.3.0'), /locked to $/],
    ['another version in the lockfile', withPackage(pg, { version: '8.0.0' }), /locked to 8.0.0/],
    ['another host', withPackage(pg, { resolved: 'https://evil.example/pg.tgz' }), /is from/],
    ['a git address', withPackage(pg, { resolved: 'git+ssh://git@github.com/a/b' }), /is from/],
    ['plain HTTP', withPackage(pg, { resolved: 'http://registry.npmjs.org/pg' }), /is from/],
    ['no hash', withPackage(pg, { integrity: undefined }), /its hash is undefined/],
    ['a weak hash', withPackage(pg, { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK' }), /its hash is/],
    ['a link', withPackage(pg, { link: true }), /is a link/],
    ['a script', withPackage(pg, { hasInstallScript: true }), /pg runs a script/],
    ['a script that is allowed', withScripts({ esbuild: true }), /esbuild runs a script/],
    [
      'a denial of nothing',
      withScripts({ gone: false }),
      /gone is in allowScripts and not installed/,
    ],
    ['an override that is not locked', withOverride('pg', '8.0.0'), /pinned to 8.0.0/],
  ];

  test.each(refused)('%s is refused', (_, changed, fault) => {
    expect(faultsOf(changed)).toEqual(expect.arrayContaining([expect.stringMatching(fault)]));
  });
});

test('secret scanners find every kind of token by the expression in docs/security.md', () => {
  const [expression = ''] = /tb_\(\?:[a-z|]+\)_\S+\}/.exec(sources.notes) ?? [];
  for (const kind of ['pat', 'oat', 'ocs', 'ort'] as const) {
    const token = mintToken(kind);
    expect(new RegExp(`\\b${expression}\\b`).exec(`TOKEN="${token}"`)?.[0]).toBe(token);
  }
});
