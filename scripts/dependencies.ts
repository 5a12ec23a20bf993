// What must be true of the dependencies, as far as package.json and package-lock.json say it.
// Nothing here needs a network, so the tests run it as well.

import { type Locked, type Lockfile, lockedPackages, type Manifest } from './lockfile.ts';

/** Each is code that runs with everybody's data. More of them need more than a line here. */

const registry = 'https://registry.npmjs.org/';

export interface Sources {
  readonly manifest: Manifest;
  readonly lockfile: Lockfile;
  /** docs/security.md: it says of each runtime dependency what it is for. */
  readonly notes: string;
}

/** One guarantee, with all that speaks against it. */
interface Check {
  readonly name: string;
  faults(sources: Sources): readonly string[];
}

export const dependencyChecks: readonly Check[] = [
  { name: 'every dependency is pinned to one version', faults: pinFaults },
  { name: 'each runtime dependency is explained', faults: noted },
  { name: 'the lockfile installs exactly what is pinned', faults: agreementFaults },
  { name: 'every package is from the registry, with its SHA-512', faults: originFaults },
  { name: 'no package runs a script when it is installed', faults: scriptFaults },
];

function pinFaults({ manifest: { dependencies, devDependencies, overrides } }: Sources): string[] {
  return [dependencies, devDependencies, overrides].flatMap((versions = {}) =>
    Object.entries(versions)
      .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version))
      .map(([name, version]) => `${name} is ${version}`),
  );
}

function noted({ manifest, notes }: Sources): string[] {
  const names = Object.keys(manifest.dependencies);
  return names
    .filter((name) => !new RegExp(`^\\| \`${name}\` \\| \\S+ \\S+`, 'm').test(notes))
    .map((name) => `${name} is not explained in docs/security.md`);
}

function agreementFaults({ manifest, lockfile }: Sources): string[] {
  const { dependencies, devDependencies, overrides } = manifest;
  const own = lockfile.packages[''];
  const isOfThis =
    JSON.stringify([own?.dependencies, own?.devDependencies]) ===
    JSON.stringify([dependencies, devDependencies]);
  const locked = lockedPackages(lockfile);
  const others = Object.entries({ ...dependencies, ...devDependencies, ...overrides }).flatMap(
    ([name, version]) => {
      const versions = locked.filter((one) => one.name === name).map((one) => one.version);
      if (versions.length > 0 && versions.every((one) => one === version)) return [];
      return [`${name} is pinned to ${version} and locked to ${versions}`];
    },
  );
  return [...(isOfThis ? [] : ['the lockfile is of another package.json']), ...others];
}

function originFaults({ lockfile }: Sources): string[] {
  const old = lockfile.lockfileVersion === 3 ? [] : [`its version is ${lockfile.lockfileVersion}`];
  return [...old, ...lockedPackages(lockfile).flatMap((one) => originFault(one))];
}

function originFault({ place, version, resolved, integrity, link, inBundle }: Locked): string[] {
  const faults = [
    version === undefined && 'it has no version',
    resolved !== undefined && !resolved.startsWith(registry) && `it is from ${resolved}`,
    link === true && 'it is a link',
    inBundle === true && 'it comes inside of another package',
    !/^sha512-[0-9A-Za-z+/]{86}==$/.test(integrity ?? '') && `its hash is ${integrity}`,
  ];
  return faults.filter((fault) => fault !== false).map((fault) => `${place}: ${fault}`);
}

/** npm skips the scripts of a package that `allowScripts` denies, and says nothing of it. */
function scriptFaults({ manifest: { allowScripts = {} }, lockfile }: Sources): string[] {
  const packages = lockedPackages(lockfile);
  const allowed = packages.filter(
    ({ name, hasInstallScript }) => hasInstallScript && allowScripts[name] !== false,
  );
  const gone = Object.keys(allowScripts).filter(
    (denied) => !packages.some(({ name }) => name === denied),
  );
  return [
    ...allowed.map(({ name }) => `${name} runs a script`),
    ...gone.map((name) => `${name} is in allowScripts and not installed`),
  ];
}
