// Joins the server of a data directory: the one that runs there, else a new one. Call it under the
// lock. It returns with a connection that proves the server ready, or leaves nothing running that
// it started itself.

import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { connectMonitor, type Monitor } from './connection.ts';
import { codeOf } from './directory.ts';
import {
  endOrphans,
  findRunning,
  type Launch,
  type LaunchOptions,
  launch,
  shutDown,
} from './postmaster.ts';
import { socketIn } from './socket.ts';

export type ServerLog = (event: Record<string, unknown>, message: string) => void;

export interface Joined {
  /** As it is: a running server may have its socket elsewhere than planned. */
  readonly cluster: Cluster;
  readonly monitor: Monitor;
  /** Undefined when the server ran already. */
  readonly launch: Launch | undefined;
}

export interface JoinOptions extends LaunchOptions {
  readonly log: ServerLog;
  readonly signal: AbortSignal;
}

/** Recovery after a crash reads up to max_wal_size of log: seconds, on a poor disk minutes. */
const READY_LIMIT_MS = 10 * 60_000;
/** How long the children of a killed server may hold its memory; they end within a second. */
const MEMORY_LIMIT_MS = 5_000;
const ABANDONED_LIMIT_MS = 1_000;
const POLL_MS = 20;
const STILL_HELD = /still in use|already exists/;
const NOT_YET = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAGAIN', '53300'];

export async function joinServer(planned: Cluster, options: JoinOptions): Promise<Joined> {
  const running = findRunning(planned);
  if (running === undefined) return startServer(planned, options);
  const { pid, ready, socketDirectory } = running;
  if (ready && !existsSync(socketIn(socketDirectory))) {
    // Without its socket no process can connect to it.
    options.log({ pid }, 'the socket of PostgreSQL is gone: restarting it');
    await shutDown(planned, pid);
    return startServer(planned, options);
  }
  const cluster = { ...planned, socketDirectory };
  try {
    return { cluster, monitor: await untilReady(cluster, options, undefined), launch: undefined };
  } catch (error) {
    if (findRunning(cluster) !== undefined) throw error;
    // It was ending.
    return startServer(cluster, options);
  }
}

/**
 * The children of a server that was just killed still hold its shared memory. A child that hangs,
 * such as one that waits for a lock of another killed process, never releases it.
 */
async function startServer(cluster: Cluster, options: JoinOptions): Promise<Joined> {
  let deadline = Date.now() + MEMORY_LIMIT_MS;
  for (;;) {
    options.signal.throwIfAborted();
    const started = await launch(cluster, options);
    try {
      return { cluster, monitor: await untilReady(cluster, options, started), launch: started };
    } catch (error) {
      const isHeld = STILL_HELD.test(started.failure() ?? '');
      await started.end();
      if (!isHeld || options.signal.aborted) throw error;
      if (Date.now() > deadline) {
        const ended = endOrphans(cluster);
        if (ended.length === 0) throw error;
        options.log({ ended }, 'processes of a killed PostgreSQL hung: they were ended');
        deadline = Date.now() + MEMORY_LIMIT_MS;
      }
      await sleep(100);
    }
  }
}

async function untilReady(
  cluster: Cluster,
  { signal, log }: JoinOptions,
  started: Launch | undefined,
): Promise<Monitor> {
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
      if (codeOf(error).startsWith('28')) throw refused(cluster, error);
      if (!isPassing(error)) throw error;
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

/**
 * Connecting to a frozen server takes ten seconds to fail. Who is aborted does not wait for that,
 * but a little for the connection to be closed: it would be taken for another process's, and the
 * server be left running for it.
 */
async function connectOrAbort(cluster: Cluster, signal: AbortSignal): Promise<Monitor> {
  const connecting = connectMonitor(cluster);
  const leave = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { signal: leave.signal });
  });
  try {
    return await Promise.race([connecting, aborted]);
  } catch (error) {
    const closed = connecting.then(({ client }) => client.end()).catch(() => undefined);
    await Promise.race([closed, sleep(ABANDONED_LIMIT_MS, undefined, { ref: false })]);
    throw error;
  } finally {
    leave.abort();
  }
}

/** Class 57P: starting up, shutting down, or recovering. Without a code: the connection broke. */
function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return code === '' || NOT_YET.includes(code) || code.startsWith('57P');
}

function refused({ layout }: Cluster, cause: unknown): Error {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new Error(
    `PostgreSQL in ${layout.cluster} runs but refuses Tallybook (${said}): are ` +
      `${layout.passwords} and the database from the same backup?`,
    { cause },
  );
}
