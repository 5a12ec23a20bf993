// The file of a backup. It appears under its name only when it is complete and on disk: until then
// it is a draft beside it, and what had that name before stays as it was. Nobody else can read it.

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
import { syncDirectory } from '../embedded/directory.ts';

export interface Draft {
  readonly stream: Writable;
  /** Gives it its name, once everything was written. */
  keep(): void;
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
  const file = openSync(draft, 'wx', 0o600);
  return {
    stream: createWriteStream(draft, { fd: file, autoClose: false }),
    keep: () => {
      fsyncSync(file);
      closeSync(file);
      renameSync(draft, path);
      syncDirectory(dirname(path));
    },
    discard: () => rmSync(draft, { force: true }),
  };
}
