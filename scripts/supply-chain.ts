// `npm run supply-chain`: what can be checked of where the program comes from, before a release.
// The first half needs no network and is part of the tests. The second asks the registry; without
// an answer the command fails and says so.

import { readTree } from '../test/support/source.ts';
import { secretRules } from '../test/tidy/secrets.ts';
import { buildDifferences } from './build-twice.ts';
import { dependencyChecks, readSources } from './dependencies.ts';
import { registryChecks } from './registry.ts';

/** One line for a guarantee, and one more for each fault. */
function report(name: string, faults: readonly string[]): void {
  process.stdout.write(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}\n`);
  for (const fault of faults) process.stdout.write(`       ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

function secretFaults(): string[] {
  const files = readTree();
  const tree = new Map(files.map((file) => [file.path, file]));
  return secretRules
    .flatMap((rule) => files.flatMap((file) => rule.check(file, tree)))
    .map(({ file, line }) => `${file}:${line}`);
}

const sources = readSources();
for (const check of dependencyChecks) report(check.name, check.faults(sources));
report('no file holds a token or a private key', secretFaults());
report('two clean builds are the same, byte for byte', await buildDifferences());
for (const check of registryChecks) report(check.name, await check.faults(sources.manifest));
