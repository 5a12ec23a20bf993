// The server process: what its pid file says, whether it runs, starting it and stopping it. A pid
// file counts only after a check of the process itself, because process IDs are used again.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requirePrivate, runAs } from './account.ts';
import { type Cluster, dataArgument } from './cluster.ts';
import { codeOf } from './directory.ts';
import { commandLineSettings } from './settings.ts';
import { answers, makeUsable, socketIn } from './socket.ts';

interface Running {
  readonly pid: number;
  readonly socketDirectory: string;
  /** It says that it accepts connections. */
  readonly ready: boolean;
}

export interface LaunchOptions {
  /** The server ends with this process, however this process ends. */
  readonly stopWithParent: boolean;
  readonly settings: Readonly<Record<string, string>>;
  /** As many connections as its files say when these are more. */
  readonly connectionsMin: number;
}

export interface Launch {
  /** Why the server ended; undefined while it runs. */
  failure(): string | undefined;
  /** Stops a server that did not start, also before it has written its pid file. */
  end(): Promise<void>;
  /** Ends the watcher of `stopWithParent`. Call it once the server is gone. */
  release(): void;
}

/** A fast shutdown writes a checkpoint, at most shared_buffers; a slow disk takes long. */
const STOP_LIMIT_MS = 120_000;
const LOGS_KEPT = 5;

/**
 * The shell becomes the server, so its process ID is the server's. A second shell reads the pipe on
 * descriptor 3, which ends with this process. It is orphaned, because PostgreSQL takes a child that
 * it does not know for a crashed one. The signal is repeated, because a server that has not yet
 * installed its handlers loses it. It stops at a zombie, which still takes signals where nobody
 * waits for orphans, as in a container without an init.
 */
const LAUNCH_WATCHED = `
zombie() { [ -e /proc/self/cwd ] && [ ! -e /proc/$$/cwd ]; }
watch() {
  while read -r line; do :; done
  while kill -INT $$ && ! zombie; do sleep 0.1; done
}
(watch <&3 >/dev/null 2>&1 &)
exec "$@" 3<&-`;

export function findRunning(cluster: Cluster): Running | undefined {
  const lines = linesOf(pidFileOf(cluster)) ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1 || !isOnThisDirectory(cluster, pid)) return undefined;
  const socketDirectory = lines[4]?.trim() || cluster.socketDirectory;
  return { pid, socketDirectory, ready: lines[7]?.trim() === 'ready' };
}

/** Starts a server where `findRunning` found none. */
export async function launch(cluster: Cluster, options: LaunchOptions): Promise<Launch> {
  requirePrivate(cluster.layout.cluster, cluster.account);
  if (!makeUsable(cluster.socketDirectory, cluster.account)) {
    throw new Error(
      `${cluster.socketDirectory} is no longer a directory of user "${cluster.account.name}" ` +
        'only: start Tallybook again, and it takes another one.',
    );
  }
  await removeStaleFiles(cluster);
  pruneLogs(cluster);
  const { layout, account } = cluster;
  const settings = { ...roomOf(cluster, options), ...options.settings };
  const server = [
    ...onDirectory(cluster),
    ...commandLineSettings(cluster.socketDirectory, settings),
  ];
  const watched = ['/bin/sh', '-c', LAUNCH_WATCHED, 'sh', ...server];
  const [command = '', ...args] = options.stopWithParent ? watched : server;
  rmSync(layout.startLog, { force: true });
  const log = openSync(layout.startLog, 'wx', 0o600);
  const startedAt = Date.now();
  try {
    const child = spawn(command, args, {
      ...runAs(account),
      cwd: layout.cluster,
      // Its own session: Ctrl-C in a terminal goes to every process of the terminal's.
      detached: true,
      stdio: ['ignore', log, log, options.stopWithParent ? 'pipe' : 'ignore'],
    });
    return launched(child, () => reasonIn(cluster, startedAt));
  } finally {
    closeSync(log);
  }
}

const onDirectory = ({ layout, account, binaries }: Cluster): string[] => [
  ...[join(binaries.directory, 'postgres'), '-D', dataArgument(layout.cluster, account)],
];

/** A setting on the command line would win over the operator's own, which may be larger. */
function roomOf(cluster: Cluster, { connectionsMin }: LaunchOptions): Record<string, string> {
  if (connectionsMin === 0) return {};
  const { layout, account } = cluster;
  const [program = '', ...args] = [...onDirectory(cluster), '-C', 'max_connections'];
  const said = spawnSync(program, args, { ...runAs(account), cwd: layout.cluster });
  const isEnough = Number(said.stdout) >= connectionsMin;
  return isEnough ? {} : { max_connections: String(connectionsMin) };
}

/** Fast mode: open transactions are rolled back, clients are disconnected, a checkpoint is made. */
export async function shutDown(cluster: Cluster, pid: number): Promise<void> {
  const deadline = Date.now() + STOP_LIMIT_MS;
  try {
    if (isOnThisDirectory(cluster, pid)) process.kill(pid, 'SIGINT');
  } catch (error) {
    // It may have ended between the check and the signal.
    if (isOnThisDirectory(cluster, pid)) throw error;
  }
  while (isOnThisDirectory(cluster, pid)) {
    if (Date.now() > deadline) {
      throw new Error(`PostgreSQL (process ${pid}) did not stop within ${STOP_LIMIT_MS / 1000} s.`);
    }
    await sleep(10);
  }
}

/**
 * Kills the processes on the directory whose postmaster is gone. What they did not write is in the
 * write-ahead log, as after any crash. A running postmaster is not among them, nor are its
 * children: it may run without a pid file. @returns their process IDs; none where there is no
 * /proc.
 */
export function endOrphans(cluster: Cluster): number[] {
  const numbers = existsSync('/proc/self/cwd') ? readdirSync('/proc').map(Number) : [];
  const ours = numbers.filter((pid) => pid > 1 && isOnThisDirectory(cluster, pid));
  const orphans = ours.filter((pid) => isBackend(pid) && !ours.includes(parentOf(pid)));
  for (const pid of orphans) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
  return orphans;
}

/** Log files rotate at 10 MB, and PostgreSQL itself never deletes one. */
export function pruneLogs({ layout }: Cluster): void {
  const directory = join(layout.cluster, 'log');
  try {
    const old = readdirSync(directory).sort().slice(0, -LOGS_KEPT);
    for (const name of old) rmSync(join(directory, name), { force: true });
  } catch {
    // Not there yet, or another process prunes it: no reason to fail.
  }
}

function pidFileOf({ layout }: Cluster): string {
  return join(layout.cluster, 'postmaster.pid');
}

/** None when there is no such file. */
function linesOf(file: string): string[] | undefined {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return undefined;
  }
}

function isOnThisDirectory({ layout, binaries, account }: Cluster, pid: number): boolean {
  const directory = layout.cluster;
  if (!existsSync('/proc/self/cwd')) {
    const pgCtl = join(binaries.directory, 'pg_ctl');
    return spawnSync(pgCtl, ['status', '-D', directory], runAs(account)).status === 0;
  }
  try {
    if (!readFileSync(`/proc/${pid}/comm`, 'utf8').includes('postgres')) return false;
    const [its, ours] = [statSync(`/proc/${pid}/cwd`), statSync(directory)];
    return its.dev === ours.dev && its.ino === ours.ino;
  } catch {
    return false;
  }
}

/** A child of a postmaster has a title, such as "postgres: checkpointer"; a postmaster has none. */
function isBackend(pid: number): boolean {
  const [title = ''] = linesOf(`/proc/${pid}/cmdline`) ?? [];
  return title.startsWith('postgres: ');
}

function parentOf(pid: number): number {
  const parent = /^PPid:\s*(\d+)/m.exec(linesOf(`/proc/${pid}/status`)?.join('\n') ?? '');
  return Number(parent?.[1]);
}

/**
 * PostgreSQL removes a pid file whose process is gone, with more checks than we have. It refuses
 * to start when the process ID now belongs to another process of the same user, or when the machine
 * lost power before the file was written: only then do we remove it.
 */
async function removeStaleFiles(cluster: Cluster): Promise<void> {
  const socket = socketIn(cluster.socketDirectory);
  if (await answers(cluster.socketDirectory)) {
    throw new Error(
      `A PostgreSQL that cannot be seen from here answers on ${cluster.socketDirectory}: is ` +
        `${cluster.layout.root} in use by another container? Stop that one first.`,
    );
  }
  rmSync(socket, { force: true });
  rmSync(`${socket}.lock`, { force: true });
  const [line] = linesOf(pidFileOf(cluster)) ?? [];
  const pid = Number(line);
  const isStale = !Number.isInteger(pid) || pid <= 1 || exists(pid);
  if (line !== undefined && isStale) rmSync(pidFileOf(cluster), { force: true });
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function launched(child: ChildProcess, reason: () => string): Launch {
  // The logs are read only when asked for: after an ordinary end their directory may be removed.
  let ended: (() => string) | undefined;
  child.once('error', (error) => {
    ended = () => `it could not be run: ${error.message}`;
  });
  child.once('exit', (code, signal) => {
    ended = () => `it ended with ${signal ?? code}: ${reason()}`;
  });
  child.unref();
  const pipe = child.stdio[3] instanceof Socket ? child.stdio[3] : undefined;
  pipe?.unref().on('error', () => pipe.destroy());
  return {
    failure: () => ended?.(),
    release: () => pipe?.destroy(),
    end: async () => {
      const deadline = Date.now() + STOP_LIMIT_MS;
      while (ended === undefined && Date.now() < deadline) {
        child.kill('SIGINT');
        await sleep(20);
      }
      pipe?.destroy();
    },
  };
}

/** Errors before the server opens its own log are in the start log, later ones in its own log. */
function reasonIn({ layout }: Cluster, startedAt: number): string {
  const early = (linesOf(layout.startLog) ?? []).filter(
    (line) => line !== '' && !line.includes('redirecting log output'),
  );
  if (early.length > 0) return early.slice(-3).join(' | ');
  const directory = join(layout.cluster, 'log');
  const newest = existsSync(directory) ? readdirSync(directory).sort().at(-1) : undefined;
  const log = newest ? join(directory, newest) : layout.startLog;
  if (statSync(log).mtimeMs < startedAt - 1_000) return 'it wrote no log';
  const errors = (linesOf(log) ?? []).filter((line) => /(FATAL|PANIC|ERROR):/.test(line));
  return errors.slice(-3).join(' | ') || `see ${log}`;
}
