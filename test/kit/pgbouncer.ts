// PgBouncer before the server of a test, with the sample of deploy/. Where it is not installed, its
// tests say so.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { chooseAccount, handOver, runAs } from '../../src/postgres/account.ts';
import { changed, sampleOf } from './http-proxies.ts';
import { freePort } from './port.ts';

export interface Pooler {
  /** What reaches through it what this URL reaches. */
  through(url: string): string;
  /** Sends it a signal, and starts it on the same port, as it was or changed, when it has ended. */
  restart(signal: NodeJS.Signals, changes?: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

/**
 * For every database of a server.
 * @param changes to the sample, beside those of places.
 * @param reached by the owner and by the service: otherwise the server of all tests.
 */
export async function startPooler(
  changes: Readonly<Record<string, string>> = {},
  reached: readonly string[] = [inject('ownerUrl'), inject('serviceUrl')],
): Promise<Pooler> {
  const directory = mkdtempSync(join(tmpdir(), 'tallybook-pooler-'));
  const port = await freePort();
  const urls = reached.map((url) => new URL(url));
  const users = urls.map(({ username, password }) => `"${username}" "${decode(password)}"\n`);
  writeFileSync(join(directory, 'userlist.txt'), users.join(''));
  const [server] = urls.map(({ searchParams, hostname, port: own }) => ({
    host: searchParams.get('host') ?? hostname,
    port: own === '' ? '5432' : own,
  }));
  const configure = (own: Readonly<Record<string, string>>) => {
    const places = {
      'tallybook = host=127.0.0.1 port=5432': `* = host=${server?.host} port=${server?.port}`,
      'listen_port = 6432': `listen_port = ${port}`,
      '/etc/pgbouncer/userlist.txt': join(directory, 'userlist.txt'),
      '/var/log/postgresql/pgbouncer.log': join(directory, 'log'),
      '/run/postgresql/pgbouncer.pid': join(directory, 'pid'),
    };
    const text = changed(sampleOf('pgbouncer.ini'), { ...places, ...own });
    writeFileSync(join(directory, 'pgbouncer.ini'), text);
  };
  const through = (url: string) => {
    const other = new URL(url);
    other.searchParams.delete('host');
    other.host = `127.0.0.1:${port}`;
    return other.toString();
  };
  configure(changes);
  const account = chooseAccount(directory);
  handOver(directory, account);
  const launch = async () => {
    const started = spawn('pgbouncer', [join(directory, 'pgbouncer.ini')], {
      ...runAs(account),
      stdio: 'ignore',
    });
    await answers(started, through(reached[0] ?? ''));
    return started;
  };
  let running = await launch();
  const end = async (signal: NodeJS.Signals) => {
    const gone = once(running, 'exit');
    running.kill(signal);
    await gone;
  };
  return {
    through,
    async restart(signal, own = changes) {
      await end(signal);
      configure(own);
      running = await launch();
    },
    async stop() {
      await end('SIGTERM');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const decode = (text: string) => decodeURIComponent(text).replaceAll('"', '""');

async function answers(process: ChildProcess, connectionString: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString });
    client.on('error', () => undefined);
    const isThere = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => undefined);
    if (isThere) return;
    if (process.exitCode !== null) throw new Error(`pgbouncer ended with ${process.exitCode}`);
    await sleep(20);
  }
}
