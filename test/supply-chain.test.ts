// Where the program comes from, as far as it can be judged without a network. The rest is asked by
// `npm run supply-chain`.

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { dependencyChecks, readSources, type Sources } from '../scripts/dependencies.ts';
import { ageFaults, signatureFaults, vulnerabilityFaults } from '../scripts/registry.ts';
import { mintToken } from '../src/access/token.ts';

const sources = readSources();

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
  const pg = 'node_modules/pg';
  const refused: [string, Sources, RegExp][] = [
    ['a range', withDependency('pg', '^8.23.1'), /pg is \^8/],
    ['a tag', withDependency('pg', 'latest'), /pg is latest/],
    ['a repository', withDependency('pg', 'github:brianc/node-postgres'), /pg is github/],
    ['one too many', withDependency('left-pad', '1.3.0'), /there are 12/],
    ['one that is not explained', withDependency('left-pad', '1.3.0'), /left-pad is not explained/],
    ['one that is not locked', withDependency('left-pad', '1.3.0'), /locked to undefined/],
    ['another version in the lockfile', withPackage(pg, { version: '8.0.0' }), /locked to 8.0.0/],
    ['another host', withPackage(pg, { resolved: 'https://evil.example/pg.tgz' }), /is from/],
    ['a git address', withPackage(pg, { resolved: 'git+ssh://git@github.com/a/b' }), /is from/],
    ['plain HTTP', withPackage(pg, { resolved: 'http://registry.npmjs.org/pg' }), /is from/],
    ['no hash', withPackage(pg, { integrity: undefined }), /its hash is undefined/],
    ['a weak hash', withPackage(pg, { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK' }), /its hash is/],
    ['a link', withPackage(pg, { link: true }), /is a link/],
    ['a script', withPackage(pg, { hasInstallScript: true }), /pg runs a script/],
    [
      'a script in the service',
      withPackage('node_modules/esbuild', { dev: false }),
      /esbuild runs one and belongs to the service/,
    ],
  ];

  test.each(refused)('%s is refused', (_, changed, fault) => {
    expect(faultsOf(changed)).toEqual(expect.arrayContaining([expect.stringMatching(fault)]));
  });
});

describe('an answer of the registry', () => {
  const ended = (isOk: boolean, value: unknown) => ({ isOk, output: JSON.stringify(value) });
  const none = [
    { isOk: false, output: 'npm error code ENOTFOUND' },
    ended(false, { error: { code: 'ENOTFOUND', summary: 'no network' } }),
    ended(false, { message: '405 Method Not Allowed' }),
  ];

  test('is none when npm could not ask, and counts against the dependencies', () => {
    const judges = [
      vulnerabilityFaults,
      signatureFaults,
      (one: { isOk: boolean; output: string }) => ageFaults('pg', '8.23.1', one),
    ];
    for (const judge of judges) {
      for (const one of none) expect(judge(one)).toHaveLength(1);
    }
  });

  test('names what is vulnerable, unsigned and young, and nothing else', () => {
    const bad = { name: 'pg', severity: 'high', range: '<9' };
    expect(vulnerabilityFaults(ended(false, { vulnerabilities: { pg: bad } }))).toEqual([
      'high: pg <9',
    ]);
    expect(vulnerabilityFaults(ended(true, { vulnerabilities: {} }))).toEqual([]);
    const one = { name: 'pg', version: '8.23.1' };
    expect(signatureFaults(ended(false, { invalid: [one], missing: [] }))).toEqual([
      'invalid: pg 8.23.1',
    ]);
    expect(signatureFaults(ended(false, { invalid: [], missing: [one] }))).toHaveLength(1);
    expect(signatureFaults(ended(false, { invalid: [], missing: [] }))).toHaveLength(1);
    expect(signatureFaults(ended(true, { invalid: [], missing: [] }))).toEqual([]);
    const published = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toJSON();
    const times = { '1.0.0': published(7.1), '1.0.1': published(6.9) };
    expect(ageFaults('pg', '1.0.0', ended(true, times))).toEqual([]);
    expect(ageFaults('pg', '1.0.1', ended(true, times))).toEqual(['pg 1.0.1: 6 days']);
    expect(ageFaults('pg', '1.0.2', ended(true, times))).toEqual(['pg 1.0.2: age unknown']);
  });
});

test('secret scanners find every kind of token by the expression in docs/security.md', async () => {
  const page = await readFile(new URL('../docs/security.md', import.meta.url), 'utf8');
  const [expression = ''] = /tb_\(\?:[a-z|]+\)_\S+\}/.exec(page) ?? [];
  for (const kind of ['pat', 'oat', 'ocs', 'ort'] as const) {
    const token = mintToken(kind);
    expect(new RegExp(`\\b${expression}\\b`).exec(`TOKEN="${token}"`)?.[0]).toBe(token);
  }
});
