// Keeps a joined server alive. One idle connection per process, the keeper, tells at once when
// the server dies, also one that another process started; and it shows others that this process
// uses the server, even while its pools are empty, so that the last one out stops it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { isSilence } from '../failure.ts';
import type { Cluster } from './cluster.ts';
import { connectKeeper, otherClients } from './connection.ts';
import { isFull } from './directory.ts';
import { type Joined, type JoinOptions, joinServer, type Log } from './join.ts';
import { withLock } from './lock.ts';
import { findRunning, type LaunchOptions, pruneLogs, shutDown } from './postmaster.ts';
import { dropSocketDirectory } from './socket.ts';

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/** A server that lived this long did not die of its start: the next delay is short again. */
const STEADY_MS = 30_000;
/** A closed connection's backend leaves pg_stat_activity a little later than its client. */
const FAREWELL_MS = 2_000;
/** One that does not say by then whether others use it is left running. */
const DISMISSAL_MS = 50;
const PRUNE_EVERY_MS = 10 * 60_000;

export class Supervisor {
  readonly #cluster: Cluster;
  readonly #options: JoinOptions;
  readonly #abort: AbortController;
  readonly #pruning: NodeJS.Timeout;
  readonly #watching: Promise<void>;
  readonly #aborted: Promise<void>;
  #joined: Joined;
  #stopped: Promise<void> | undefined;

  constructor(joined: Joined, options: LaunchOptions & { log: Log }) {
    const abort = new AbortController();
    this.#cluster = joined.cluster;
    this.#options = { ...options, signal: abort.signal };
    this.#abort = abort;
    this.#joined = joined;
    this.#aborted = new Promise((resolve) => {
      abort.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#watching = this.#watch();
    this.#pruning = setInterval(() => pruneLogs(this.#cluster), PRUNE_EVERY_MS).unref();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Without the lock: who joins at this moment starts the server again. */
  async dismiss(): Promise<void> {
    this.#abort.abort();
    const running = findRunning(this.#cluster);
    if (running === undefined) return;
    const late = sleep(DISMISSAL_MS, undefined, { ref: false });
    try {
      const found = await Promise.race([otherClients(this.#joined.keeper.client), late]);
      if (found?.keepers === 0) process.kill(running.pid, 'SIGINT');
    } catch {
      // It is ending already.
    }
  }

  async #watch(): Promise<void> {
    let delay = FIRST_DELAY_MS;
    while (!this.#abort.signal.aborted) {
      const since = Date.now();
      await Promise.race([this.#joined.keeper.ended, this.#aborted]);
      if (this.#abort.signal.aborted) return;
      const reason = this.#joined.launch?.failure() ?? 'the connection ended';
      this.#options.log({ reason }, 'PostgreSQL was lost: joining it again or restarting it');
      if (Date.now() - since > STEADY_MS) delay = FIRST_DELAY_MS;
      delay = await this.#rejoin(delay);
    }
  }

  /** Returns the delay of the next time. */
  async #rejoin(firstDelay: number): Promise<number> {
    const { log, signal } = this.#options;
    for (let delay = firstDelay; ; delay = Math.min(delay * 2, LONGEST_DELAY_MS)) {
      await sleep(delay, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return delay;
      try {
        await this.#underLock(async () => {
          this.#hold(await joinServer(this.#cluster, this.#options));
        }, signal);
        log({ adopted: this.#joined.launch === undefined }, 'PostgreSQL is back');
        return Math.min(delay * 2, LONGEST_DELAY_MS);
      } catch (error) {
        if (!signal.aborted) log({ err: error }, 'PostgreSQL could not be restarted yet');
      }
    }
  }

  #hold(joined: Joined): void {
    const earlier = this.#joined.launch;
    // A server that still lives keeps its watcher: letting go would stop it.
    if (earlier?.failure() !== undefined) earlier.release();
    const launch = joined.launch ?? (earlier?.failure() === undefined ? earlier : undefined);
    this.#joined = { ...joined, launch };
  }

  async #stop(): Promise<void> {
    this.#abort.abort();
    clearInterval(this.#pruning);
    await this.#watching;
    let hasLock = false;
    const leave = () => {
      hasLock = true;
      return this.#leave();
    };
    // Under the lock nobody joins between our look at the connections and the end. A full disk has
    // no room for a lock: who joins then starts the server again.
    await this.#underLock(leave).catch((error) => {
      if (hasLock || !isFull(error)) throw error;
      return this.#leave();
    });
  }

  async #leave(): Promise<void> {
    const running = findRunning(this.#cluster);
    const { launch, keeper } = this.#joined;
    // Without its pid file, which somebody removed, it cannot be found; our own child it still is.
    const lives = running !== undefined || (launch !== undefined && launch.failure() === undefined);
    const others = lives ? await this.#others() : 0;
    if (others === undefined || others > 0) {
      const reason = others ? 'others are connected' : 'it does not say whether others use it';
      this.#options.log({ others }, `PostgreSQL is left running: ${reason}`);
      return;
    }
    if (running) await shutDown(this.#cluster, running.pid);
    else await launch?.end();
    launch?.release();
    // To a server that nobody can find it would keep this process for as long as that lives.
    void keeper.client.end().catch(() => undefined);
    dropSocketDirectory(this.#cluster.layout, this.#cluster.socketDirectory);
    this.#options.log({}, 'PostgreSQL is stopped');
  }

  /** Connections other than ours; ours is closed. Undefined: nobody knows, so the server stays. */
  async #others(): Promise<number | undefined> {
    try {
      const count = await remainingClients(this.#joined.keeper.client);
      await this.#joined.keeper.client.end();
      return count;
    } catch (error) {
      if (isSilence(error)) return undefined;
      // Our connection is gone: a fresh one tells.
    }
    try {
      const { client } = await connectKeeper(this.#cluster);
      return await remainingClients(client).finally(() => client.end());
    } catch (error) {
      // 57P03: starting up, so nobody is connected.
      return error instanceof Error && 'code' in error && error.code === '57P03' ? 0 : undefined;
    }
  }

  #underLock<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const notice = (message: string) => this.#options.log({}, message);
    return withLock(this.#cluster.layout.lock, signal ? { notice, signal } : { notice }, work);
  }
}

/** A keeper elsewhere is a process that stays; other connections may be on their way out. */
async function remainingClients(keeper: Client): Promise<number> {
  const deadline = Date.now() + FAREWELL_MS;
  for (;;) {
    const { keepers, all } = await otherClients(keeper);
    if (all === 0 || keepers > 0 || Date.now() > deadline) return all;
    await sleep(20);
  }
}
