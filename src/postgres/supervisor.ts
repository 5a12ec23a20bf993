// Keeps a joined server alive, and stops it with the last process that uses it.

import { setTimeout as sleep } from 'node:timers/promises';
import { connectMonitor, isSilence, otherClients, remainingClients } from './connection.ts';
import { codeOf, isFull } from './directory.ts';
import { type Joined, type JoinOptions, joinServer } from './join.ts';
import { withLock } from './lock.ts';
import { findRunning, pruneLogs, shutDown } from './postmaster.ts';
import { dropSocketDirectory } from './socket.ts';

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/**
 * After this time the end of a server has nothing to do with its start: the next delay is short.
 */
const STEADY_MS = 30_000;
/** A server that does not answer by then whether others use it is left running. */
const STOP_REQUEST_MS = 50;
const PRUNE_EVERY_MS = 10 * 60_000;

export class Supervisor {
  readonly #options: JoinOptions;
  readonly #abort = new AbortController();
  readonly #aborted: Promise<void>;
  readonly #pruning: NodeJS.Timeout;
  readonly #watching: Promise<void>;
  #joined: Joined;
  #stopped: Promise<void> | undefined;

  constructor(joined: Joined, options: Omit<JoinOptions, 'signal'>) {
    const { signal } = this.#abort;
    this.#options = { ...options, signal };
    this.#joined = joined;
    this.#aborted = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#watching = this.#watch();
    this.#pruning = setInterval(() => pruneLogs(joined.cluster), PRUNE_EVERY_MS).unref();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Without the lock: a process that joins at this moment starts the server again. */
  async requestStop(): Promise<void> {
    this.#abort.abort();
    const { cluster, monitor } = this.#joined;
    const running = findRunning(cluster);
    if (running === undefined) return;
    const late = sleep(STOP_REQUEST_MS, undefined, { ref: false });
    try {
      const found = await Promise.race([otherClients(monitor.client), late]);
      if (found?.monitors === 0) process.kill(running.pid, 'SIGINT');
    } catch {
      // It is ending already.
    }
  }

  async #watch(): Promise<void> {
    const { log, signal } = this.#options;
    let delay = FIRST_DELAY_MS;
    let since = Date.now();
    for (;;) {
      await Promise.race([this.#joined.monitor.ended, this.#aborted]);
      if (signal.aborted) return;
      const reason = this.#joined.launch?.failure() ?? 'the connection ended';
      log({ reason }, 'PostgreSQL was lost: joining it again or restarting it');
      if (Date.now() - since > STEADY_MS) delay = FIRST_DELAY_MS;
      do {
        await sleep(delay, undefined, { signal }).catch(() => undefined);
        delay = Math.min(delay * 2, LONGEST_DELAY_MS);
      } while (!signal.aborted && !(await this.#rejoined()));
      since = Date.now();
    }
  }

  async #rejoined(): Promise<boolean> {
    const { log, signal } = this.#options;
    try {
      await this.#underLock(async () => {
        this.#hold(await joinServer(this.#joined.cluster, this.#options));
      }, signal);
      log({ wasRunning: this.#joined.launch === undefined }, 'PostgreSQL is back');
      return true;
    } catch (error) {
      if (!signal.aborted) log({ err: error }, 'PostgreSQL could not be restarted yet');
      return false;
    }
  }

  #hold(joined: Joined): void {
    const earlier = this.#joined.launch;
    const isAlive = earlier !== undefined && earlier.failure() === undefined;
    // The server that this process launched keeps its watcher: letting go would stop it.
    this.#joined = { ...joined, launch: joined.launch ?? (isAlive ? earlier : undefined) };
    if (!isAlive) earlier?.release();
  }

  async #stop(): Promise<void> {
    this.#abort.abort();
    clearInterval(this.#pruning);
    await this.#watching;
    let hasLock = false;
    // Under the lock no process joins between the count of connections and the end.
    await this.#underLock(() => {
      hasLock = true;
      return this.#leave();
    }).catch((error) => {
      if (hasLock || !isFull(error)) throw error;
      // A full disk has no room for a lock. A process that joins just now starts the server again.
      return this.#leave();
    });
  }

  async #leave(): Promise<void> {
    const { log } = this.#options;
    const { cluster, launch, monitor } = this.#joined;
    const running = findRunning(cluster);
    // It cannot be found when its pid file was removed, but our own child is known.
    const isAlive = running !== undefined || (launch !== undefined && !launch.failure());
    const others = isAlive ? await this.#others() : 0;
    if (others !== 0) {
      const reason = others ? 'others are connected' : 'it is unknown whether others use it';
      log({ others }, `PostgreSQL is left running: ${reason}`);
      return;
    }
    if (running) await shutDown(cluster, running.pid);
    else await launch?.end();
    launch?.release();
    // A connection to a server that could not be found would keep this process from ending.
    void monitor.client.end().catch(() => undefined);
    dropSocketDirectory(cluster.layout, cluster.socketDirectory);
    log({}, 'PostgreSQL is stopped');
  }

  /** Connections other than ours; ours is closed. Undefined: unknown, so the server stays. */
  async #others(): Promise<number | undefined> {
    const { cluster, monitor } = this.#joined;
    try {
      const count = await remainingClients(monitor.client);
      await monitor.client.end();
      return count;
    } catch (error) {
      if (isSilence(error)) return undefined;
    }
    // Our connection has ended: ask on a new one.
    try {
      const { client } = await connectMonitor(cluster);
      return await remainingClients(client).finally(() => client.end());
    } catch (error) {
      // 57P03: starting up, so nothing is connected.
      return codeOf(error) === '57P03' ? 0 : undefined;
    }
  }

  #underLock<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const notice = (message: string) => this.#options.log({}, message);
    return withLock(this.#joined.cluster.layout.lock, { notice, signal }, work);
  }
}
