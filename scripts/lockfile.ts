// package.json and package-lock.json as the checks of the supply chain read them.

import { readFileSync } from 'node:fs';

type Versions = Readonly<Record<string, string>>;

export interface Manifest {
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
  readonly overrides?: Versions;
}

export interface LockedPackage {
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
    .map(([place, locked]) => ({ ...locked, place, name: nameOf(place) }));
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** A file by its path in the repository. */
export function textOf(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
}

export const readManifest = (): Manifest => JSON.parse(textOf('package.json'));

export const readLockfile = (): Lockfile => JSON.parse(textOf('package-lock.json'));
