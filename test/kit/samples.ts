// The samples of deploy/, made to run on this machine by the programs that are installed here.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { thisCheckout } from './program.ts';

/** Debian puts servers where other users' paths do not look. */
const pathOfServers = `${process.env.PATH}:/usr/sbin`;
export const inPath = { env: { PATH: pathOfServers }, encoding: 'utf8' } as const;

export const isInstalled = (program: string): boolean =>
  spawnSync('/bin/sh', ['-c', `command -v ${program}`], inPath).status === 0;

export const sampleOf = (name: string): string =>
  readFileSync(join(thisCheckout, 'deploy', name), 'utf8');

/** @throws Error where a replacement finds nothing: something else would be tried otherwise. */
export function changed(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`the sample has no “${from}”:\n${before}`);
    return before.replaceAll(from, to);
  }, text);
}
