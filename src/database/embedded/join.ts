// Joins the server of a data directory: the one that runs there, else a new one. Call it under
// the lock only. It returns with a connection that proves the server ready, or leaves nothing
// running that it started itself.

import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { connectKeeper, type Keeper } from './connection.ts';
import { findRunning, type Launch, type LaunchOptions, launch, shutDown } from './postmaster.ts';
import { keepSocketDirectory, socketIn } from './socket.ts';

export type Log = (event: Record<string, unknown>, message: string) => void;

export interface Joined {
  /** As it is: a running server may have its socket elsewhere than planned. */
  readonly cluster: Cluster;
  readonly keeper: Keeper;
  /** Undefined when a running server was adopted. */
  readonly launch: Launch | undefined;
}

export interface JoinOptions extends LaunchOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Recovery after a crash reads up to max_wal_size of log: seconds, on a poor disk minutes. */
const READY_LIMIT_MS = 10 * 60_000;
/** How long the children of a killed server may hold its memory; they notice within a second. */
const REMAINS_LIMIT_MS = 15_000;
const POLL_MS = 20;
const REMAINS = /still in use|already exists/;
const NOT_YET = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAGAIN', '53300']);

export async function joinServer(planned: Cluster, options: JoinOptions): Promise<Joined> {
  const cluster = await withUsableSocket(planned, options.log);
  if (findRunning(cluster) !== undefined) {
    try {
      return { cluster, keeper: await untilReady(cluster, options, undefined), launch: undefined };
    } catch (error) {
      if (findRunning(cluster) !== undefined) throw error;
      // It was about to end.
    }
  }
  return startAnew(cluster, options);
}

/** A server killed a moment ago leaves children that still hold its shared memory. */
async function startAnew(cluster: Cluster, options: JoinOptions): Promise<Joined> {
  const deadline = Date.now() + REMAINS_LIMIT_MS;
  for (;;) {
    options.signal.throwIfAborted();
    const started = await launch(cluster, options);
    try {
      return { cluster, keeper: await untilReady(cluster, options, started), launch: started };
    } catch (error) {
      const passing = REMAINS.test(started.failure() ?? '') && Date.now() < deadline;
      await started.end();
      if (!passing || options.signal.aborted) throw error;
      await sleep(100);
    }
  }
}

/** A running server whose socket file was cleaned away is of no use to anybody: it must go. */
async function withUsableSocket(planned: Cluster, log: Log): Promise<Cluster> {
  const running = findRunning(planned);
  if (!running) return planned;
  if (running.ready && !existsSync(socketIn(running.socketDirectory))) {
    log({ pid: running.pid }, 'the socket of PostgreSQL is gone: restarting it');
    await shutDown(planned, running.pid);
    return planned;
  }
  if (running.socketDirectory === planned.socketDirectory) return planned;
  keepSocketDirectory(planned.layout, running.socketDirectory);
  return { ...planned, socketDirectory: running.socketDirectory };
}

async function untilReady(
  cluster: Cluster,
  { signal, log }: JoinOptions,
  started: Launch | undefined,
): Promise<Keeper> {
  const begin = Date.now();
  let noticeAt = begin + 10_000;
  for (;;) {
    signal.throwIfAborted();
    const failure = started?.failure();
    if (failure) throw new Error(`PostgreSQL did not start: ${failure}`);
    try {
      return await connectOrAbort(cluster, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw refused(cluster, error);
      if (!started && !findRunning(cluster)) throw error;
      if (Date.now() - begin > READY_LIMIT_MS) {
        throw new Error('PostgreSQL is not ready after ten minutes.', { cause: error });
      }
    }
    if (Date.now() > noticeAt) {
      log({ waitedMs: Date.now() - begin }, 'waiting for PostgreSQL: it may be recovering');
      noticeAt = Date.now() + 10_000;
    }
    await sleep(POLL_MS);
  }
}

/** A frozen server lets a connection wait for ten seconds: who gives up does not wait with it. */
async function connectOrAbort(cluster: Cluster, signal: AbortSignal): Promise<Keeper> {
  const connecting = connectKeeper(cluster);
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([connecting, aborted]);
  } catch (error) {
    void connecting.then(({ client }) => client.end()).catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Class 57P: starting up, shutting down, or recovering. Without a code: cut off midway. */
function isPassing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' || NOT_YET.has(code) || code.startsWith('57P');
}

function refused({ layout }: Cluster, cause: unknown): Error {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new Error(
    `PostgreSQL in ${layout.cluster} runs but refuses Tallybook (${said}): are ` +
      `${layout.passwords} and the database from the same backup?`,
    { cause },
  );
}
