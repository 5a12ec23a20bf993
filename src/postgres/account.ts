// PostgreSQL refuses to run as root, so root starts it as another user. Files that the server must
// read belong to that user; files that only Tallybook reads belong to the user of this process.

import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync, statSync } from 'node:fs';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** Whether it differs from the user of this process (only root may run others). */
  readonly foreign: boolean;
}

export function chooseAccount(cluster: string): Account {
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  if (uid === undefined || gid === undefined) {
    throw new Error(
      'The private PostgreSQL needs Unix sockets and does not run on this system. ' +
        'Set DATABASE_URL to a PostgreSQL server, or run Tallybook on Linux, macOS or WSL.',
    );
  }
  const owner = existsSync(cluster) ? statSync(cluster) : undefined;
  if (uid !== 0) {
    if (owner && owner.uid !== uid) {
      throw new Error(
        `${cluster} belongs to user ${nameOf(owner.uid)}, not to ${nameOf(uid)}: run Tallybook ` +
          'as that user (or as root), or choose another data directory.',
      );
    }
    return { name: nameOf(uid), uid, gid, foreign: false };
  }
  // Data that an ordinary user made still belongs to that user when root starts the service once.
  const account =
    owner && owner.uid !== 0
      ? { name: nameOf(owner.uid), uid: owner.uid, gid: owner.gid, foreign: true }
      : unprivilegedAccount();
  // Root in a container may lack the right to become another user; this throws then.
  canEnter('/', account);
  return account;
}

function unprivilegedAccount(): Account {
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const entry = passwdEntries().find((each) => each.name === name && each.uid !== 0);
    if (entry) return { ...entry, foreign: true };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and /etc/passwd names neither "postgres" nor "nobody": ' +
      'run Tallybook as an ordinary user.',
  );
}

function nameOf(uid: number): string {
  return passwdEntries().find((entry) => entry.uid === uid)?.name ?? String(uid);
}

function passwdEntries(): { name: string; uid: number; gid: number }[] {
  if (!existsSync('/etc/passwd')) return [];
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

interface RunOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * The environment is written out: ours may hold secrets that another user must not see, and
 * PG… variables that would redirect the server.
 */
export function runAs(account: Account): RunOptions {
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C',
  };
  return account.foreign ? { env, uid: account.uid, gid: account.gid } : { env };
}

/** Tried as that user, because modes alone say nothing about access lists and mounts. */
export function canEnter(directory: string, account: Account): boolean {
  const script = 'cd "$1" 2>/dev/null';
  const tried = spawnSync('/bin/sh', ['-c', script, 'sh', directory], {
    ...runAs(account),
    cwd: '/',
  });
  if (tried.error) throw cannotBecome(account, tried.error);
  return tried.status === 0;
}

export function handOver(path: string, account: Account): void {
  if (!account.foreign) return;
  try {
    chownSync(path, account.uid, account.gid);
  } catch (error) {
    throw cannotBecome(account, error);
  }
}

/**
 * PostgreSQL refuses a directory that belongs to another user or is open to others, such as a copy
 * that root made, without saying what to do. It accepts a group that may read, and so does this.
 */
export function requirePrivate(cluster: string, account: Account): void {
  const { uid, mode } = statSync(cluster);
  const isForeign = uid !== account.uid;
  if (!isForeign && (mode & 0o727) === 0o700) return;
  const path = `'${cluster.replaceAll("'", "'\\''")}'`;
  const chown = isForeign ? `chown -R ${account.name}: ${path} && ` : '';
  throw new Error(
    `${cluster} must belong to ${account.name} and have mode 0700: ${chown}chmod 700 ${path}`,
  );
}

function cannotBecome(account: Account, cause: unknown): Error {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new Error(
    `PostgreSQL refuses to run as root, and this root may not act as user "${account.name}" ` +
      `(${detail}): run Tallybook as an ordinary user, or set DATABASE_URL.`,
    { cause },
  );
}
