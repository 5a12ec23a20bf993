// The secret that cursors are sealed with, kept in the data directory so that cursors outlive a
// restart. It appears whole or not at all, and the first of two starting processes decides.

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, UsageError } from '../config.ts';
import { explainingFull } from './embedded/directory.ts';

const secretBytes = 32;

/** Judged before anything starts; made when the data directory is there. */
export function secretOf(
  { secret, storage }: Config,
  isService: boolean,
  warn: (text: string) => void,
): () => string | Promise<string> {
  if (secret !== undefined) {
    if (secret.length < 32 && isService) {
      warn('TALLYBOOK_SECRET is short; take one from "openssl rand -base64 32"');
    }
    return () => secret;
  }
  if (storage.kind === 'embedded') return () => keptSecret(storage.dataDirectory);
  if (isService) {
    throw new UsageError(
      'DATABASE_URL needs TALLYBOOK_SECRET, the same on every node; ' +
        'take one from "openssl rand -base64 32"',
    );
  }
  // A command hands out no cursors that anybody else would have to open.
  return newSecret;
}

export function keptSecret(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, 'secret');
  return explainingFull(dataDirectory, () => readSecret(path) ?? makeSecret(path));
}

function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

function readSecret(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`${path} cannot be read: run Tallybook as the user who owns it`, {
      cause: error,
    });
  }
  if (text === '') throw new Error(`${path} is empty: remove it, and open cursors become invalid`);
  return text;
}

function makeSecret(path: string): string {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, `${newSecret()}\n`);
    fsyncSync(file);
    linkSync(draft, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
  return readSecret(path) ?? makeSecret(path);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
