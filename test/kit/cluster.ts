// A PostgreSQL of an operator's: its settings can be changed for the worse, which the private
// server does not allow. Everybody may connect as whoever he says he is.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { chooseAccount, handOver, runAs } from '../../src/postgres/account.ts';
import { findBinaries } from '../../src/postgres/binaries.ts';
import { sqlAt } from './sql.ts';

export interface Cluster {
  /** As a role, to a database. */
  url(role: string, database: string): string;
  /** As the superuser `owner`, to `postgres` unless told otherwise. */
  sql(text: string, database?: string, role?: string): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-pg-'));
  const server = await launch(directory);
  const end = () => server.kill('SIGINT');
  process.once('exit', end);
  const url = (role: string, database: string) =>
    `postgres://${role}:x@localhost:5432/${database}?host=${encodeURIComponent(directory)}`;
  const sql = (text: string, database = 'postgres', role = 'owner') =>
    sqlAt(url(role, database), text);
  const answers = () =>
    sql('select 1').then(
      () => true,
      () => false,
    );
  while (!(await answers())) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    await sleep(20);
  }
  return {
    url,
    sql,
    stop: async () => {
      process.removeListener('exit', end);
      const gone = once(server, 'exit');
      end();
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function launch(directory: string): Promise<ChildProcess> {
  await chmod(directory, 0o700);
  const account = chooseAccount(directory);
  handOver(directory, account);
  const { directory: bin } = findBinaries(undefined, account);
  const options = { ...runAs(account), cwd: '/' };
  const form = ['--auth=trust', '--username=owner', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await promisify(execFile)(join(bin, 'initdb'), ['-D', directory, ...form], options);
  const settings = ['listen_addresses=', `unix_socket_directories=${directory}`, 'port=5432'];
  const given = settings.flatMap((setting) => ['-c', setting]);
  return spawn(join(bin, 'postgres'), ['-D', directory, ...given], { ...options, stdio: 'ignore' });
}
