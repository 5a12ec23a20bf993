// The folder of daily backups. A proven backup is named after the moment it was begun. Why the last
// one failed is in a file beside them. Other files in the folder are left alone.

import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemReason } from '../core/system-failure.ts';

/** Why the last try failed; none when the last one succeeded. */
export interface BackupFailure {
  readonly at: Date;
  readonly reason: string;
}

export interface BackupState {
  /** When the newest proven backup was begun. */
  readonly last: Date | undefined;
  readonly failure: BackupFailure | undefined;
}

const backupName = /^tallybook-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.gz$/;

export class BackupFolder {
  readonly path: string;

  /** Its parent must exist: a disk that is not mounted must not be taken for an empty folder. */
  constructor(path: string) {
    this.path = path;
  }

  /** @throws Error when there can be no files in it. */
  prepare(): void {
    try {
      mkdirSync(this.path, { mode: 0o700 });
    } catch (cause) {
      if (codeOf(cause) !== 'EEXIST') {
        throw new Error(`the folder ${this.path} cannot be made: ${systemReason(cause)}`, {
          cause,
        });
      }
    }
    try {
      readdirSync(this.path);
      accessSync(this.path, constants.W_OK | constants.X_OK);
    } catch (cause) {
      throw new Error(`backups cannot be written to ${this.path}: ${systemReason(cause)}`, {
        cause,
      });
    }
  }

  fileOf(begun: Date): string {
    const stamp = begun.toISOString().replaceAll(/[-:]|\.\d+/g, '');
    return join(this.path, `tallybook-${stamp}.gz`);
  }

  state(): BackupState {
    return { last: timeOf(this.#names().at(-1)), failure: this.#failure() };
  }

  /** Removes the oldest backups, and failed ones that are older than what is left. */
  prune(keep: number): void {
    const names = this.#names();
    const kept = names.slice(-keep);
    const failed = this.#all().filter((name) => failedName.test(name));
    const old = failed.filter((name) => name < (kept[0] ?? ''));
    for (const name of [...names.slice(0, -keep), ...old]) {
      rmSync(join(this.path, name), { force: true });
    }
  }

  /** Undefined: the last try succeeded. */
  note(failure: BackupFailure | undefined): void {
    const file = join(this.path, failureName);
    if (failure === undefined) rmSync(file, { force: true });
    else writeFileSync(file, JSON.stringify(failure), { mode: 0o600 });
  }

  #failure(): BackupFailure | undefined {
    try {
      const { at, reason } = JSON.parse(readFileSync(join(this.path, failureName), 'utf8'));
      return { at: new Date(at), reason: String(reason) };
    } catch {
      // There is none, or a full disk has cut it: the age of the last backup says enough then.
      return undefined;
    }
  }

  /** The oldest first. */
  #names(): string[] {
    return this.#all()
      .filter((name) => backupName.test(name))
      .sort();
  }

  #all(): string[] {
    try {
      return readdirSync(this.path);
    } catch {
      return [];
    }
  }
}

const failedName = /^tallybook-\w+\.gz\.(?:unsound|unproven)$/;
const failureName = 'last-failure.json';

function timeOf(name: string | undefined): Date | undefined {
  const parts = backupName
    .exec(name ?? '')
    ?.slice(1)
    .map(Number);
  if (parts === undefined) return undefined;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
