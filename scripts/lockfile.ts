// package.json and package-lock.json as the checks of the supply chain and the packing read them.

import { readFileSync } from 'node:fs';

type Versions = Readonly<Record<string, string>>;

export interface Manifest {
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly overrides?: Versions;
  /** Whether npm may run the scripts of a package when it installs it. */
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

interface LockedPackage {
  readonly version?: string;
  /** Absent: it comes from the registry that npm is set to. */
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

export interface Lockfile {
  readonly lockfileVersion: number;
  /** By its place, such as `node_modules/a/node_modules/b`; the project itself has an empty one. */
  readonly packages: Readonly<Record<string, LockedPackage & Partial<Manifest>>>;
}

export interface Locked extends LockedPackage {
  readonly place: string;
  readonly name: string;
}

/** Everything that is installed. */
export function lockedPackages({ packages }: Lockfile): readonly Locked[] {
  return Object.entries(packages)
    .filter(([place]) => place !== '')
    .map(([place, locked]) => ({ ...locked, place, name: place.replace(/^.*node_modules\//, '') }));
}

/** What is installed for the service, without what develops it. */
export function serviceLockfile({ packages, ...rest }: Lockfile): Lockfile {
  const { devDependencies: _, ...own } = packages[''] ?? {};
  const kept = Object.entries(packages).filter(([, { dev }]) => dev !== true);
  return { ...rest, packages: { ...Object.fromEntries(kept), '': own } };
}

/** A file by its path in the repository. */
export function textOf(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
}

export const readManifest = (): Manifest => JSON.parse(textOf('package.json'));

export const readLockfile = (): Lockfile => JSON.parse(textOf('package-lock.json'));
