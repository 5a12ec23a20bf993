// PgBouncer before a server, with the sample of deploy/. Where it is not installed, its tests say
// so.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chooseAccount, handOver, runAs } from '../../src/postgres/account.ts';
import { freePort } from './port.ts';
import { changed, sampleOf } from './samples.ts';

type Changes = Readonly<Record<string, string>>;

/** On one port for all its life. */
export class Pooler {
  readonly port: number;
  readonly #directory: string;
  readonly #account: ReturnType<typeof chooseAccount>;
  /** From it to the server. */
  readonly #places: Changes;
  #process: ChildProcess | undefined;

  constructor(directory: string, port: number, places: Changes) {
    this.port = port;
    this.#directory = directory;
    this.#account = chooseAccount(directory);
    this.#places = places;
    handOver(directory, this.#account);
  }

  /** What reaches through it what this URL reaches. */
  through(url: string): string {
    const other = new URL(url);
    other.searchParams.delete('host');
    other.host = `127.0.0.1:${this.port}`;
    return other.toString();
  }

  /**
   * Resolves when it listens: that its server answers is another matter.
   * @param changes to the sample, beside those of places.
   */
  async start(changes: Changes = {}): Promise<void> {
    const file = join(this.#directory, 'pgbouncer.ini');
    writeFileSync(file, changed(sampleOf('pgbouncer.ini'), { ...this.#places, ...changes }));
    const child = spawn('pgbouncer', [file], { ...runAs(this.#account), stdio: 'ignore' });
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    this.#process = child;
    while (!(await this.#listens())) {
      if (child.exitCode !== null) {
        throw new Error(`pgbouncer ended with ${child.exitCode}: ${this.log()}`);
      }
      await sleep(20);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  /** Sends it a signal, and starts it when it has ended. */
  async restart(signal: NodeJS.Signals, changes?: Changes): Promise<void> {
    await this.end(signal);
    await this.start(changes);
  }

  log(): string {
    return readFileSync(join(this.#directory, 'log'), 'utf8');
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      const answer = (isThere: boolean) => {
        socket.destroy();
        resolve(isThere);
      };
      socket.once('connect', () => answer(true)).once('error', () => answer(false));
    });
  }
}

/**
 * Before the server of these URLs, for every database of it and their roles.
 * @param changes to the sample, beside those of places.
 */
export async function poolerFor(urls: readonly string[], changes?: Changes): Promise<Pooler> {
  const directory = mkdtempSync(join(tmpdir(), 'tallybook-pooler-'));
  const port = await freePort();
  const [server, ...others] = urls.map((url) => new URL(url));
  if (server === undefined) throw new Error('a pooler needs a server');
  const users = [server, ...others].map(
    ({ username, password }) => `"${username}" "${decode(password)}"\n`,
  );
  writeFileSync(join(directory, 'userlist.txt'), users.join(''));
  const host = server.searchParams.get('host') ?? server.hostname;
  const pooler = new Pooler(directory, port, {
    'tallybook = host=127.0.0.1 port=5432': `* = host=${host} port=${server.port || 5432}`,
    'listen_port = 6432': `listen_port = ${port}`,
    '/etc/pgbouncer/userlist.txt': join(directory, 'userlist.txt'),
    '/var/log/postgresql/pgbouncer.log': join(directory, 'log'),
    '/run/postgresql/pgbouncer.pid': join(directory, 'pid'),
  });
  await pooler.start(changes);
  return pooler;
}

const decode = (text: string) => decodeURIComponent(text).replaceAll('"', '""');
