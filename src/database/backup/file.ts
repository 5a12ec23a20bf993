// The file of a backup. It gets its name only when it is complete and on disk. Until then it is a
// draft beside an older file of that name, which stays as it was. Only its owner can read it.

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  createWriteStream,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { systemReason } from '../../core/system-failure.ts';
import { codeOf } from '../find.ts';

export interface Draft {
  readonly stream: Writable;
  readonly path: string;
  /** Puts what was written on disk. It can be read under its path then. */
  finish(): void;
  /** Gives it its name, or another one, once it is finished. */
  keep(as?: string): void;
  /** Removes what was written, if it was not kept. */
  discard(): void;
}

/** @throws Error when there can be no such file. */
export function openDraft(name: string): Draft {
  const path = resolve(name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) {
    throw new Error(`${name} is not a file; "-" is standard output`);
  }
  const draft = `${path}.${randomBytes(6).toString('hex')}.unfinished`;
  const file = open(draft, name);
  return {
    stream: createWriteStream(draft, { fd: file, autoClose: false }),
    path: draft,
    finish: () => {
      fsyncSync(file);
      closeSync(file);
    },
    keep: (as = path) => {
      renameSync(draft, as);
      syncDirectory(dirname(path));
    },
    discard: () => rmSync(draft, { force: true }),
  };
}

function open(draft: string, name: string): number {
  try {
    return openSync(draft, 'wx', 0o600);
  } catch (cause) {
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such directory',
      EACCES: 'this user may not write to its directory',
    };
    const reason = reasons[codeOf(cause)] ?? systemReason(cause);
    throw new Error(`${name} cannot be written: ${reason}`, { cause });
  }
}

/** A rename is on disk only when its directory is. */
function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
