// One node of the service: a real process behind a proxy, with another proxy before its database.
// It keeps its place when its process is replaced.

import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceProcess, serveProcess } from '../../kit/process.ts';
import { workersOf } from '../../kit/workers.ts';
import { addressOf, throughPort, type Urls } from './database.ts';
import { ToxicProxy } from './toxic-proxy.ts';

/** Its database may be down, and come back later each time. */
const startWithinMs = 120_000;

export class ServiceNode {
  readonly number: number;
  /** Between clients and the service. */
  readonly front: ToxicProxy;
  /** Between the service and the database. */
  readonly back: ToxicProxy;
  readonly #entry: Urls;
  readonly #workers: number;
  #process: ServiceProcess | undefined;
  /** Processes that ended although nobody ended them, with their last words. */
  readonly deaths: string[] = [];

  /**
   * @param entry to the database
   * @param workers how many processes it has that serve
   */
  constructor(number: number, entry: Urls, workers: number) {
    this.number = number;
    this.#workers = workers;
    this.#entry = entry;
    this.front = new ToxicProxy(() => {
      const api = this.#process?.api;
      return api && { host: '127.0.0.1', port: Number(new URL(api.origin).port) };
    });
    this.back = new ToxicProxy(() => addressOf(entry.serviceUrl));
  }

  async open(): Promise<void> {
    await this.front.listen();
    await this.back.listen();
    await this.start();
  }

  /** As the database knows it. */
  get name(): string {
    return `node ${this.number}`;
  }

  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  /** Starts a process, again and again where the database is not there. */
  async start(): Promise<void> {
    const deadline = Date.now() + startWithinMs;
    for (;;) {
      try {
        this.#process = await this.#serve();
        return;
      } catch (error) {
        if (Date.now() > deadline) {
          throw new Error(`node ${this.number} does not start`, { cause: error });
        }
        await sleep(100);
      }
    }
  }

  /** Ends the process. @returns its exit code, which a killed one does not have. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const ending = this.#process;
    this.#process = undefined;
    if (ending === undefined) return null;
    ending.child.removeAllListeners('exit');
    // Workers end by themselves when the main process is killed, but not while they are frozen.
    const workers = signal === 'SIGKILL' ? workersOf(ending.child.pid) : [];
    const ended = ending.end(signal);
    for (const pid of workers) signalTo(pid, signal);
    return ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.child.kill(signal);
    if (signal !== 'SIGUSR2') for (const pid of this.workers) signalTo(pid, signal);
  }

  /** Processes that serve beside the main one. */
  get workers(): readonly number[] {
    return this.#workers === 1 ? [] : workersOf(this.pid);
  }

  async close(): Promise<void> {
    await this.end('SIGTERM');
    await this.front.close();
    await this.back.close();
  }

  async #serve(): Promise<ServiceProcess> {
    const url = new URL(throughPort(this.#entry.serviceUrl, this.back.port));
    url.searchParams.set('application_name', this.name);
    const started = await serveProcess(['--database-url', url.toString()], {
      TALLYBOOK_MIGRATE_URL: this.#entry.ownerUrl,
      TALLYBOOK_SECRET: 'a secret for runs of chaos, of no value',
      TALLYBOOK_WEBHOOK_ALLOW: '127.0.0.1',
      TALLYBOOK_LOG_LEVEL: 'fatal',
      TALLYBOOK_WORKERS: String(this.#workers),
    });
    started.child.once('exit', (code, signal) => {
      this.deaths.push(`node ${this.number} ended by itself (${signal ?? code}): ${started.log()}`);
    });
    return started;
  }
}

/** @returns whether it was there. */
export function signalTo(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
