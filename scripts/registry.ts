// What only the registry of npm can say of the dependencies, asked by npm itself. An answer that is
// none counts against them: nothing has been checked then.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Manifest } from './lockfile.ts';

/** Attacks on packages are found within days. */
const ageDaysMin = 7;
const day = 86_400_000;

/** Enough of them at a time that the registry is not the bottleneck, and not a burden to it. */
const viewsAtOnce = 4;

/** What a command of npm wrote and how it ended. */
export interface Ended {
  readonly isOk: boolean;
  readonly output: string;
}

async function npm(...words: readonly string[]): Promise<Ended> {
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: 300_000 };
  try {
    return { isOk: true, output: (await promisify(execFile)('npm', words, options)).stdout };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; stderr?: string };
    return { isOk: false, output: stdout.trim() === '' ? stderr : stdout };
  }
}

export interface RegistryCheck {
  readonly name: string;
  faults(manifest: Manifest): Promise<readonly string[]>;
}

export const registryChecks: readonly RegistryCheck[] = [
  { name: `every direct dependency is at least ${ageDaysMin} days old`, faults: youngFaults },
  {
    name: 'no runtime package has a known vulnerability',
    faults: async () => vulnerabilityFaults(await npm('audit', '--omit=dev', '--json')),
  },
  {
    name: 'every runtime package has a valid signature of the registry',
    faults: async () => signatureFaults(await npm('audit', 'signatures', '--omit=dev', '--json')),
  },
];

async function youngFaults({ dependencies, devDependencies }: Manifest): Promise<string[]> {
  const left = Object.entries({ ...dependencies, ...devDependencies });
  const faults: string[] = [];
  const viewer = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [name, version] = next;
      faults.push(...ageFaults(name, version, await npm('view', name, 'time', '--json')));
    }
  };
  await Promise.all(Array.from({ length: viewsAtOnce }, viewer));
  return faults.sort();
}

export function ageFaults(name: string, version: string, ended: Ended): string[] {
  const published = membersOf(ended)?.[version];
  if (!ended.isOk || typeof published !== 'string') return [`${name} ${version}: age unknown`];
  const age = (Date.now() - Date.parse(published)) / day;
  return age >= ageDaysMin ? [] : [`${name} ${version}: ${Math.floor(age)} days`];
}

/** npm ends with 1 when there are vulnerabilities, and when it could not ask. */
export function vulnerabilityFaults(ended: Ended): string[] {
  const found = membersOf(ended)?.vulnerabilities;
  if (typeof found !== 'object' || found === null) return [unanswered(ended)];
  return Object.values(found as Readonly<Record<string, Advisory>>).map(
    ({ name, severity, range }) => `${severity}: ${name} ${range}`,
  );
}

interface Advisory {
  readonly name: string;
  readonly severity: string;
  readonly range: string;
}

export function signatureFaults(ended: Ended): string[] {
  const { invalid, missing } = membersOf(ended) ?? {};
  if (!Array.isArray(invalid) || !Array.isArray(missing)) return [unanswered(ended)];
  const named = (what: string) => (one: { readonly name: string; readonly version: string }) =>
    `${what}: ${one.name} ${one.version}`;
  const faults = [...invalid.map(named('invalid')), ...missing.map(named('missing'))];
  return faults.length === 0 && !ended.isOk ? [unanswered(ended)] : faults;
}

function membersOf({ output }: Ended): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}

function unanswered({ output }: Ended): string {
  return `not checked, npm has no answer: ${output.replaceAll(/\s+/g, ' ').slice(0, 200)}`;
}
