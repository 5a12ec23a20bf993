// A primary and its standby, run with the programs of Debian's PostgreSQL, and HAProxy before them
// with the samples of deploy/. Where these are not installed, their tests say so.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { chooseAccount, handOver, runAs } from '../../src/postgres/account.ts';
import { killServer } from './kill-server.ts';
import { freePort } from './port.ts';
import { changed, inPath, isInstalled, sampleOf } from './samples.ts';
import { sqlAt } from './sql.ts';

const versions = '/usr/lib/postgresql';

/** The newest that is installed with what makes standbys. */
function binaries(): string | undefined {
  const found = existsSync(versions) ? readdirSync(versions).map(Number) : [];
  const folders = found.sort((a, b) => b - a).map((major) => join(versions, `${major}`, 'bin'));
  return folders.find((bin) => existsSync(join(bin, 'pg_rewind')));
}

/** What is missing for these tests; undefined when nothing is. */
export function missingForReplication(): string | undefined {
  if (binaries() === undefined) return "Debian's postgresql is not installed";
  return isInstalled('haproxy') ? undefined : 'haproxy is not installed';
}

const commits = (name: string) => `alter system set synchronous_standby_names = '${name}'`;

interface ReplicaOptions {
  /** Of PostgreSQL, on top of those that these tests need. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether it is started again when it ends by itself, as by systemd. */
  readonly isKept?: boolean;
}

/** A server that ended by itself is started again after this. */
const restartMs = 100;

/** A server that is a primary or a standby, on one port for all its life. */
export class ReplicaServer {
  readonly port: number;
  readonly directory: string;
  readonly #options: ReplicaOptions;
  readonly #account = chooseAccount('/nowhere');
  #process: ChildProcess | undefined;
  /** Nobody has ended it. */
  #isWanted = false;

  constructor(directory: string, port: number, options: ReplicaOptions = {}) {
    this.directory = directory;
    this.port = port;
    this.#options = options;
  }

  url(role = 'owner', database = 'postgres'): string {
    return `postgres://${role}:x@127.0.0.1:${this.port}/${database}`;
  }

  async sql(text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    return run(this.url('owner', database), text);
  }

  async run(program: string, ...args: readonly string[]): Promise<void> {
    const command = join(binaries() ?? '', program);
    await promisify(execFile)(command, [...args], { ...runAs(this.#account), cwd: '/' });
  }

  async make(): Promise<void> {
    mkdirSync(this.directory, { mode: 0o700 });
    handOver(this.directory, this.#account);
    const form = ['--auth=trust', '--username=owner', '--encoding=UTF8', '--locale=C', '--no-sync'];
    await this.run('initdb', '-D', this.directory, ...form);
    // In its files, because pg_rewind recovers a killed server by these alone.
    const kept = [
      ...['wal_log_hints = on', 'wal_keep_size = 256MB'],
      // By default commits wait 3.5 to 5 s after a crash of the primary; with this 1 to 2.
      'wal_retrieve_retry_interval = 500ms',
    ];
    writeFileSync(join(this.directory, 'postgresql.auto.conf'), `${kept.join('\n')}\n`);
    await this.start();
    await this.sql('create role tallybook_check login');
  }

  async start(): Promise<void> {
    this.#isWanted = true;
    const child = this.#launch();
    const hasFailed = () => child.exitCode !== null && this.#options.isKept !== true;
    while (!(await this.answers())) {
      if (hasFailed()) throw new Error(`PostgreSQL ended with ${child.exitCode}`);
      await sleep(20);
    }
  }

  #launch(): ChildProcess {
    const given = {
      listen_addresses: '127.0.0.1',
      port: this.port,
      unix_socket_directories: '',
      max_connections: 200,
      shared_buffers: '32MB',
      ...this.#options.settings,
    };
    const settings = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const command = join(binaries() ?? '', 'postgres');
    const child = spawn(command, ['-D', this.directory, ...settings], {
      ...runAs(this.#account),
      ...{ cwd: '/', stdio: 'ignore' },
    });
    const quit = () => child.kill('SIGQUIT');
    process.once('exit', quit);
    child.once('exit', async () => {
      process.off('exit', quit);
      if (this.#options.isKept !== true) return;
      await sleep(restartMs);
      if (this.#isWanted && this.#process === child) this.#launch();
    });
    this.#process = child;
    return child;
  }

  /** Of its first process, which begins the others. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** All its processes at once, as when its machine loses power. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    const { pid } = this.#process ?? {};
    const gone = this.#gone();
    if (pid !== undefined) await killServer(pid);
    await gone;
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    const gone = this.#gone();
    this.#process?.kill('SIGQUIT');
    await gone;
  }

  async #gone(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await once(child, 'exit');
  }

  /** As docs/operate/standby.md says. */
  async promote(): Promise<void> {
    await this.run('pg_ctl', 'promote', '-w', '-D', this.directory);
  }

  /** Its data directory becomes that of a standby, whatever it held, and commits wait for it. */
  async follow(primary: ReplicaServer): Promise<void> {
    const from = `host=127.0.0.1 port=${primary.port} user=owner dbname=postgres`;
    if (existsSync(join(this.directory, 'PG_VERSION'))) {
      // Without it PostgreSQL 15 takes both for one timeline, and rewinds nothing.
      await primary.sql('checkpoint');
      await this.run('pg_rewind', '-R', '-D', this.directory, `--source-server=${from}`);
    } else {
      mkdirSync(this.directory, { mode: 0o700 });
      handOver(this.directory, this.#account);
      const how = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
      await this.run('pg_basebackup', '-D', this.directory, '-d', from, ...how);
    }
    await this.start();
    // It becomes a primary without a standby one day.
    await this.sql(commits(''));
    await primary.sql(commits('*'));
    await primary.sql('select pg_reload_conf()');
    while (!(await primary.isFollowed())) await sleep(20);
  }

  /** Whether its commits are confirmed by a standby. */
  async isFollowed(): Promise<boolean> {
    const synchronous = `select from pg_stat_replication where sync_state = 'sync'`;
    return (await this.sql(synchronous)).length > 0;
  }

  async answers(): Promise<boolean> {
    return this.sql('select 1').then(
      () => true,
      () => false,
    );
  }
}

/** A server that does not answer is not waited for. */
const run = (url: string, text: string) =>
  sqlAt({ connectionString: url, connectionTimeoutMillis: 5_000 }, text);

export interface Pair {
  readonly servers: readonly [ReplicaServer, ReplicaServer];
  /** The port of HAProxy. */
  readonly port: number;
  /** Through HAProxy. */
  url(role: string, database: string): string;
  stop(): Promise<void>;
}

interface PairOptions {
  /** Where a server has its data; elsewhere than usual. */
  readonly folders?: readonly [string, string];
  /** Of the server of a folder. */
  readonly optionsOf?: (folder: string) => ReplicaOptions;
}

/** HAProxy before both, with what it needs in a folder. */
function startProxy(directory: string, port: number, servers: Pair['servers']): ChildProcess {
  const script = join(directory, 'primary.sh');
  const check = changed(sampleOf('postgresql-primary.sh'), {
    '/var/lib/haproxy/tallybook-timeline': join(directory, 'timeline'),
  });
  writeFileSync(script, check, { mode: 0o755 });
  const file = join(directory, 'haproxy.cfg');
  const places = {
    '127.0.0.1:5000': `127.0.0.1:${port}`,
    '/etc/haproxy/postgresql-primary.sh': script,
    '/usr/local/bin:/usr/bin:/bin': `${binaries()}:/usr/bin:/bin`,
    '10.0.0.1:5432': `127.0.0.1:${servers[0].port}`,
    '10.0.0.2:5432': `127.0.0.1:${servers[1].port}`,
    '/dev/log local0': 'stderr format raw local0',
  };
  writeFileSync(file, changed(sampleOf('haproxy-postgresql.cfg'), places));
  const proxy = spawn('haproxy', ['-db', '-f', file], { ...inPath, stdio: 'ignore' });
  const kill = () => proxy.kill('SIGKILL');
  process.once('exit', kill);
  proxy.once('exit', () => process.off('exit', kill));
  return proxy;
}

/** A primary that waits for its standby, and HAProxy. */
export async function startPair({ folders, optionsOf }: PairOptions = {}): Promise<Pair> {
  const directory = mkdtempSync(join(tmpdir(), 'tallybook-pair-'));
  chmodSync(directory, 0o711);
  const [first, second, port] = [await freePort(), await freePort(), await freePort()];
  const [one, two] = folders ?? [join(directory, 'one'), join(directory, 'two')];
  const servers = [
    new ReplicaServer(one, first, optionsOf?.(one)),
    new ReplicaServer(two, second, optionsOf?.(two)),
  ] as const;
  await servers[0].make();
  await servers[1].follow(servers[0]);
  const proxy = startProxy(directory, port, servers);
  const url = (role: string, database: string) =>
    `postgres://${role}:x@127.0.0.1:${port}/${database}`;
  while ((await run(url('owner', 'postgres'), 'select 1').catch(() => [])).length === 0) {
    if (proxy.exitCode !== null) throw new Error(`haproxy ended with ${proxy.exitCode}`);
    await sleep(50);
  }
  return {
    servers,
    port,
    url,
    stop: async () => {
      const gone = once(proxy, 'exit');
      proxy.kill('SIGKILL');
      await gone;
      for (const server of servers) await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
