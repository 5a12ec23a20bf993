// `npm run supply-chain`: what can be checked of where the program comes from, before a release.
// The first half needs no network and is part of the tests. The second asks the registry; without
// it the command fails and says so, for nothing has been checked then.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readTree } from '../test/support/source.ts';
import { secretRules } from '../test/tidy/secrets.ts';
import { buildDifferences } from './build-twice.ts';
import { dependencyChecks, readSources, type Sources } from './dependencies.ts';

const run = promisify(execFile);

/** Attacks on packages are found within days. */
const ageDaysMin = 7;
const day = 86_400_000;

/** Enough of them at a time that the registry is not the bottleneck, and not a burden to it. */
const viewsAtOnce = 4;

interface Ended {
  readonly isOk: boolean;
  readonly output: string;
}

async function npm(...words: readonly string[]): Promise<Ended> {
  try {
    const { stdout } = await run('npm', words, { maxBuffer: 64 * 1024 * 1024, timeout: 300_000 });
    return { isOk: true, output: stdout };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; stderr?: string };
    return { isOk: false, output: stdout.trim() === '' ? stderr : stdout };
  }
}

let failures = 0;

/** One line for a guarantee that holds, and one more for each fault. */
function report(name: string, faults: readonly string[]): void {
  process.stdout.write(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}\n`);
  for (const fault of faults) process.stdout.write(`       ${fault}\n`);
  failures += faults.length;
}

async function checkAll(): Promise<void> {
  const sources = readSources();
  for (const check of dependencyChecks) report(check.name, check.faults(sources));
  report('no file holds a token or a private key', secretFaults());
  report('two clean builds are the same, byte for byte', await buildDifferences());
  const isReachable = await npm('ping');
  if (isReachable.isOk) {
    report(`every direct dependency is at least ${ageDaysMin} days old`, await young(sources));
    report('no runtime package has a known vulnerability', await vulnerable());
    report('every runtime package has a valid signature of the registry', await unsigned());
  } else {
    const reason = isReachable.output.trim().split('\n')[0] ?? '';
    const unchecked = 'ages, known vulnerabilities and signatures are not checked';
    report('the registry can be reached', [`${reason}: ${unchecked}`]);
  }
  if (failures > 0) process.exitCode = 1;
}

function secretFaults(): string[] {
  const files = readTree();
  const tree = new Map(files.map((file) => [file.path, file]));
  return secretRules
    .flatMap((rule) => files.flatMap((file) => rule.check(file, tree)))
    .map(({ file, line }) => `${file}:${line}`);
}

async function young({ manifest }: Sources): Promise<string[]> {
  const { dependencies, devDependencies } = manifest;
  const left = Object.entries({ ...dependencies, ...devDependencies });
  const faults: string[] = [];
  const viewer = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [name, version] = next;
      const { isOk, output } = await npm('view', name, 'time', '--json');
      const times: Readonly<Record<string, string>> = isOk ? JSON.parse(output) : {};
      const age = (Date.now() - Date.parse(times[version] ?? '')) / day;
      // Of a version that the registry does not know there is no age: not a number.
      if (!(age >= ageDaysMin)) faults.push(`${name} ${version}: ${Math.floor(age)} days`);
    }
  };
  await Promise.all(Array.from({ length: viewsAtOnce }, viewer));
  return faults.sort();
}

async function vulnerable(): Promise<string[]> {
  const { output } = await npm('audit', '--omit=dev', '--json');
  const found = (JSON.parse(output) as { readonly vulnerabilities?: Record<string, Advisory> })
    .vulnerabilities;
  if (found === undefined) return [`npm audit gave no answer: ${output.slice(0, 200)}`];
  return Object.values(found).map(({ name, severity, range }) => `${severity}: ${name} ${range}`);
}

interface Advisory {
  readonly name: string;
  readonly severity: string;
  readonly range: string;
}

async function unsigned(): Promise<string[]> {
  const { isOk, output } = await npm('audit', 'signatures', '--omit=dev', '--json');
  if (!isOk && !output.startsWith('{')) return [output.trim()];
  const { invalid, missing } = JSON.parse(output) as Readonly<Record<string, Signed[]>>;
  const name = (what: string) => (one: Signed) => `${what}: ${one.name} ${one.version}`;
  return [...(invalid ?? []).map(name('invalid')), ...(missing ?? []).map(name('missing'))];
}

interface Signed {
  readonly name: string;
  readonly version: string;
}

await checkAll();
