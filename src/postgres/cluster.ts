// Brings a data directory to the point where a server can run on it: user, programs, passwords,
// socket directory, and initialised files of the right version. Call it under the lock. A cluster
// appears by a rename, so a crash never leaves half of one.

import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, canEnter, chooseAccount, handOver, runAs } from './account.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { keptPasswords, type Layout, type Passwords, syncDirectory } from './directory.ts';
import { removeStaleDrafts } from './lock.ts';
import { TUNABLE } from './settings.ts';
import { keptSocketDirectory } from './socket.ts';

export const OWNER_ROLE = 'tallybook_owner';

export interface Cluster {
  readonly layout: Layout;
  readonly account: Account;
  readonly binaries: Binaries;
  readonly passwords: Passwords;
  readonly socketDirectory: string;
}

export async function prepareCluster(
  layout: Layout,
  binDirectory: string | undefined,
): Promise<Cluster> {
  const account = chooseAccount(layout.cluster);
  const cluster = {
    layout,
    account,
    binaries: findBinaries(binDirectory, account),
    passwords: keptPasswords(layout),
    socketDirectory: keptSocketDirectory(layout, account),
  };
  removeUnfinished(layout);
  removeStaleDrafts(layout.lock);
  if (!existsSync(layout.cluster)) await initialise(cluster);
  checkVersion(cluster);
  return cluster;
}

/**
 * What to give as -D. A directory behind one that is closed to the server's user, such as a home
 * with mode 0700, is entered by us and inherited: /proc/self/cwd needs no right on the parents.
 */
export function dataArgument(directory: string, account: Account): string {
  if (canEnter(directory, account)) return directory;
  if (process.platform === 'linux') return '/proc/self/cwd';
  throw new Error(
    `PostgreSQL runs as user "${account.name}", which cannot enter ${directory}: let it pass ` +
      'through every directory above ("chmod o+x"), or choose another data directory.',
  );
}

async function initialise(cluster: Cluster): Promise<void> {
  const { layout, account, passwords } = cluster;
  // A new name each time: an initdb that outlived its killed parent must not write into ours.
  const directory = mkdtempSync(layout.unfinished);
  handOver(directory, account);
  const passwordFile = join(cluster.socketDirectory, '.password');
  try {
    rmSync(passwordFile, { force: true });
    writeFileSync(passwordFile, passwords.owner, { flag: 'wx', mode: 0o600 });
    handOver(passwordFile, account);
    await runInitdb(cluster, directory, passwordFile);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  writeFileSync(join(directory, 'pg_hba.conf'), 'local all all scram-sha-256\n');
  renameSync(directory, layout.cluster);
  syncDirectory(layout.root);
}

async function runInitdb({ account, binaries }: Cluster, directory: string, passwordFile: string) {
  const flags = [
    '--data-checksums',
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
    '--encoding=UTF8',
    '--auth=scram-sha-256',
    '--no-instructions',
    `--username=${OWNER_ROLE}`,
    `--pwfile=${passwordFile}`,
    ...Object.entries(TUNABLE).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
    `--pgdata=${dataArgument(directory, account)}`,
  ];
  const options = { ...runAs(account), cwd: directory };
  try {
    await promisify(execFile)(join(binaries.directory, 'initdb'), flags, options);
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    throw new Error(`PostgreSQL's initdb failed: ${said || String(cause)}`, { cause });
  }
}

function removeUnfinished({ root, unfinished }: Layout): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(basename(unfinished))) continue;
    try {
      rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // An orphaned initdb still writes there. It fails at its next file, and a later start removes
      // it.
    }
  }
}

function checkVersion({ layout, binaries }: Cluster): void {
  let found: number;
  try {
    found = Number(readFileSync(join(layout.cluster, 'PG_VERSION'), 'utf8'));
  } catch (cause) {
    throw new Error(
      `${layout.cluster} is not a PostgreSQL data directory: rename it to start anew, or ` +
        'restore it from a backup.',
      { cause },
    );
  }
  if (found === binaries.major) return;
  const upgrade =
    `, run "tallybook backup" with it and "tallybook restore" into another data directory ` +
    `without it, or move the data to PostgreSQL ${binaries.major}: stop Tallybook, rename ` +
    `${layout.cluster}, make a new one with initdb, and run "pg_upgrade ` +
    `--username=${OWNER_ROLE} --old-bindir=… --new-bindir=${binaries.directory} ` +
    `--old-datadir=… --new-datadir=${layout.cluster}"`;
  throw new Error(
    `${layout.cluster} was made by PostgreSQL ${found}, but ${binaries.directory} holds ` +
      `PostgreSQL ${binaries.major}: set TALLYBOOK_POSTGRES_BIN to the bin folder of ` +
      `PostgreSQL ${found}${found < binaries.major ? upgrade : ''}.`,
  );
}
