// What the private server guarantees, on real servers in temporary directories: durability,
// supervision, sharing between processes, and that it leaves nothing behind.

import { type ChildProcess, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type PrivateServer, startPrivateServer } from './server.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tallybook-test-'));
// Lets the server's own user through, as a directory of an operator's would.
chmodSync(scratch, 0o711);
const started: PrivateServer[] = [];
const children: ChildProcess[] = [];
let messages: string[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of started.splice(0)) await server.stop();
  messages = [];
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('durability', () => {
  const data = join(scratch, 'durability');

  test('fsync, full pages, synchronous commit and checksums are on, always', async () => {
    const server = await start(data, {
      fsync: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
      work_mem: '5MB',
    });
    expect(await settings(server)).toMatchObject({
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      data_checksums: 'on',
      listen_addresses: '',
      log_parameter_max_length: '0',
      log_parameter_max_length_on_error: '0',
      log_lock_waits: 'on',
      TimeZone: 'UTC',
      max_connections: '100',
      work_mem: '5120',
    });
    const locale = `select datlocprovider as provider, datlocale as locale,
      pg_encoding_to_char(encoding) as encoding from pg_database where datname = 'tallybook'`;
    expect(await rows(server.ownerUrl, locale)).toEqual([
      { provider: 'b', locale: 'C.UTF-8', encoding: 'UTF8' },
    ]);
  });

  test('ALTER SYSTEM cannot turn durability off', async () => {
    const first = await start(data);
    await rows(first.ownerUrl, 'alter system set fsync = off');
    await first.stop();
    expect(await settings(await start(data))).toMatchObject({ fsync: 'on' });
  });

  test('committed data survives kill -9 of the server, which comes back by itself', async () => {
    const server = await start(data);
    await rows(server.ownerUrl, 'create table kept as select generate_series(1, 1000) as n');
    for (const round of [1, 2]) {
      const pid = serverPid(data);
      process.kill(pid, 'SIGKILL');
      await until(`restart ${round}`, () => isServer(data) && serverPid(data) !== pid);
      await until('log', () => messages.filter((each) => /is back/.test(each)).length === round);
      expect(await rows(server.ownerUrl, 'select count(*)::int as n from kept')).toEqual([
        { n: 1000 },
      ]);
    }
  });

  // Such a process does not see that its server is gone, and holds its memory while it lives.
  test('it comes back although a process of the killed server hangs', async () => {
    const server = await start(data);
    await rows(server.ownerUrl, 'create table before_hanging as select 1 as n');
    const client = await connected(server.ownerUrl);
    const { rows: found } = await client.query('select pg_backend_pid() as pid');
    const hanging = Number(found[0].pid);
    process.kill(hanging, 'SIGSTOP');
    process.kill(serverPid(data), 'SIGKILL');
    await until('log', () => messages.some((each) => /is back/.test(each)));
    expect(isAlive(hanging)).toBe(false);
    expect(await rows(server.ownerUrl, 'select n from before_hanging')).toEqual([{ n: 1 }]);
  });

  test('it has room for what its workers need, and for what its own settings say', async () => {
    const room = async (connectionsMin: number) => {
      const server = await start(data, {}, { connectionsMin });
      const { max_connections } = Object(await settings(server));
      await server.stop();
      return max_connections;
    };
    expect([await room(0), await room(99), await room(112)]).toEqual(['100', '100', '112']);
    appendFileSync(join(data, 'postgres', 'postgresql.conf'), '\nmax_connections = 120\n');
    expect([await room(112), await room(121)]).toEqual(['120', '121']);
  });

  test('an idle connection that an operator ends is taken up again, not the server', async () => {
    const server = await start(data);
    const pid = serverPid(data);
    await rows(
      server.ownerUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'tallybook monitor'`,
    );
    await until('log', () => messages.some((each) => /is back/.test(each)));
    expect(serverPid(data)).toBe(pid);
  });
});

describe('sharing', () => {
  const data = join(scratch, 'sharing');

  test('a second start joins the running server, and the last one out stops it', async () => {
    const first = await start(data);
    const second = await start(data);
    expect([first.wasRunning, second.wasRunning]).toEqual([false, true]);
    expect(second.ownerUrl).toBe(first.ownerUrl);
    const pid = serverPid(data);
    await first.stop();
    expect(await rows(second.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await second.stop();
    await second.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test('a server with somebody connected is left running', async () => {
    const server = await start(data);
    const client = await connected(server.ownerUrl);
    await server.stop();
    expect(isServer(data)).toBe(true);
    await client.end();
    const next = await start(data);
    expect(next.wasRunning).toBe(true);
    await next.stop();
    expect(isServer(data)).toBe(false);
  });

  test('of processes starting at once one makes the server, the last out stops it', async () => {
    const fresh = join(scratch, 'at-once');
    const starters = [1, 2, 3, 4].map(() => startElsewhere(fresh));
    const lines = await Promise.all(starters.map(firstLine));
    expect(lines.toSorted()).toEqual(['false', 'true', 'true', 'true']);
    expect(isServer(fresh)).toBe(true);
    await Promise.all(starters.map(leave));
    expect(isServer(fresh)).toBe(false);
    expect(readdirSync(fresh).filter((name) => /unfinished|lock/.test(name))).toEqual([]);
  });

  test('a joined server that dies is restarted', async () => {
    const child = startElsewhere(data);
    await firstLine(child);
    child.kill('SIGKILL');
    const server = await start(data);
    expect(server.wasRunning).toBe(true);
    const pid = serverPid(data);
    process.kill(pid, 'SIGKILL');
    await until('restart', () => isServer(data) && serverPid(data) !== pid);
    await until('log', () => messages.some((each) => /is back/.test(each)));
    expect(await rows(server.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  // Its own connection is on the way then, and is not somebody else's.
  test('a process that stops while it takes up its connection again stops the server', async () => {
    const server = await start(data);
    const pid = serverPid(data);
    const slow = `create function slow() returns event_trigger language plpgsql as $$ begin
        if current_setting('application_name') = 'tallybook monitor' and pg_try_advisory_lock(1)
        then perform pg_sleep(0.5); end if; end $$;
      create event trigger slow on login execute function slow()`;
    const monitors = `from pg_stat_activity where application_name = 'tallybook monitor'`;
    const owner = await connected(server.ownerUrl.replace('/tallybook?', '/postgres?'));
    await owner.query(slow);
    await owner.query(`select pg_terminate_backend(pid) ${monitors}`);
    await expect
      .poll(async () => (await owner.query(`select wait_event ${monitors}`)).rows, { interval: 5 })
      .toEqual([{ wait_event: 'PgSleep' }]);
    await owner.end();
    await server.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test('a server whose socket was cleaned away is replaced', async () => {
    const first = await start(data);
    rmSync(readFileSync(join(data, 'postgres.socket'), 'utf8').trim(), { recursive: true });
    const second = await start(data);
    expect(second.wasRunning).toBe(false);
    expect(await rows(first.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('what a crash leaves', () => {
  const data = join(scratch, 'remains');

  test.each([
    ['names another process of the same user', () => String(bystander())],
    ['is empty', () => ''],
    ['names nobody', () => '4194000\n'],
  ])('a pid file that %s does not hinder the start', async (_, content) => {
    await (await start(data)).stop();
    const file = join(data, 'postgres', 'postmaster.pid');
    writeFileSync(file, content(), { mode: 0o600 });
    const { uid, gid } = statSync(join(data, 'postgres'));
    chownSync(file, uid, gid);
    const server = await start(data);
    expect(server.wasRunning).toBe(false);
    await server.stop();
    expect(existsSync(file)).toBe(false);
  });

  test('locks of dead processes and half-made files do not hinder the start', async () => {
    const fresh = join(scratch, 'half-made');
    const dead = spawn('true');
    await new Promise((resolve) => dead.once('exit', resolve));
    mkdirSync(join(fresh, 'postgres.unfinished-abc'), { recursive: true });
    lockAs(fresh, `${dead.pid}-1-a`);
    const servers = await Promise.all([start(fresh), start(fresh), start(fresh)]);
    expect(servers.filter((each) => !each.wasRunning)).toHaveLength(1);
    expect(readdirSync(fresh).filter((name) => /unfinished|lock/.test(name))).toEqual([]);
  });

  test('a lock whose number now belongs to another process is not believed', async () => {
    lockAs(data, `${process.pid}-1-a`);
    await expect(start(data)).resolves.toMatchObject({ wasRunning: false });
  });
});

describe('nothing is left running', () => {
  const data = join(scratch, 'leaving');

  test('after stop', async () => {
    const server = await start(data);
    const pid = serverPid(data);
    await server.stop();
    expect(isAlive(pid)).toBe(false);
    await until('last child gone', () => processesOn(data).length === 0);
  });

  test('after kill -9 of the process it was started to stop with', async () => {
    const child = startElsewhere(data, true);
    await firstLine(child);
    expect(isServer(data)).toBe(true);
    child.kill('SIGKILL');
    await until('server gone', () => processesOn(data).length === 0);
  });

  test('and a watched server is stopped without its watcher, too', async () => {
    const server = await start(data, {}, { stopWithParent: true });
    await server.stop();
    await until('all gone', () => processesOn(data).length === 0);
  });
});

describe('places', () => {
  test('passwords are readable by this user only and on no command line', async () => {
    const data = join(scratch, 'passwords');
    const server = await start(data);
    const file = join(data, 'postgres.passwords.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(file).uid).toBe(process.getuid?.());
    const { owner, service } = JSON.parse(readFileSync(file, 'utf8'));
    expect(server.ownerUrl).toContain(owner);
    expect(server.serviceUrl).toContain(service);
    expect(owner).not.toBe(service);
    const commandLine = readFileSync(`/proc/${serverPid(data)}/cmdline`, 'utf8');
    expect(commandLine).not.toContain(owner);
    const wrong = server.ownerUrl.replace(owner, service);
    await expect(connected(wrong)).rejects.toMatchObject({ code: '28P01' });
    const directory = readFileSync(join(data, 'postgres.socket'), 'utf8').trim();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  });

  test('the secret is made once, for its owner only, and is long', async () => {
    const data = join(scratch, 'secret');
    const path = join(data, 'secret');
    const server = await start(data);
    const made = await server.secret();
    expect(await server.secret()).toBe(made);
    expect(await (await start(data)).secret()).toBe(made);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toBe(`${made}\n`);
    expect(Buffer.from(made, 'base64url')).toHaveLength(32);
    writeFileSync(path, '');
    await expect(server.secret()).rejects.toThrow('is empty');
  });

  test('a data directory with a long path, closed to other users, works', async () => {
    const closed = mkdtempSync(join(scratch, 'closed-'));
    const data = join(closed, 'with a long name '.repeat(8).trim(), 'and, "more"');
    expect(existsSync(join(data, 'postgres'))).toBe(false);
    const server = await start(data);
    expect(existsSync(join(data, 'postgres'))).toBe(true);
    expect(await rows(server.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    const directory = readFileSync(join(data, 'postgres.socket'), 'utf8').trim();
    expect(Buffer.byteLength(join(directory, '.s.PGSQL.5432'))).toBeLessThanOrEqual(107);
    await server.stop();
    expect(existsSync(directory)).toBe(false);
    const again = await start(data);
    expect(again.ownerUrl).toBe(server.ownerUrl);
    expect(await rows(again.ownerUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('data of an older PostgreSQL is refused with the way out', async () => {
    const data = join(scratch, 'older');
    await (await start(data)).stop();
    writeFileSync(join(data, 'postgres', 'PG_VERSION'), '17\n');
    await expect(start(data)).rejects.toThrow(/PostgreSQL 17.*TALLYBOOK_POSTGRES_BIN.*pg_upgrade/);
  });

  test('a bin folder without PostgreSQL is refused by its name', async () => {
    const starting = startPrivateServer({
      dataDirectory: join(scratch, 'no-binaries'),
      binDirectory: '/nowhere/bin',
      log: () => undefined,
    });
    await expect(starting).rejects.toThrow(/TALLYBOOK_POSTGRES_BIN is \/nowhere\/bin/);
  });
});

async function start(
  dataDirectory: string,
  extra: Record<string, string> = {},
  more: { readonly stopWithParent?: boolean; readonly connectionsMin?: number } = {},
): Promise<PrivateServer> {
  const log = (_: Record<string, unknown>, message: string) => messages.push(message);
  const server = await startPrivateServer({
    dataDirectory,
    settings: { shared_buffers: '16MB', ...extra },
    ...more,
    log,
  });
  started.push(server);
  return server;
}

/** Starts it in a process of its own, which prints whether it joined, and stays. */
function startElsewhere(dataDirectory: string, stopWithParent = false): ChildProcess {
  const code = `
    const { startPrivateServer } = await import(${JSON.stringify(
      new URL('./server.ts', import.meta.url).href,
    )});
    const server = await startPrivateServer({
      dataDirectory: ${JSON.stringify(dataDirectory)},
      stopWithParent: ${stopWithParent},
      log: () => undefined,
    });
    console.log(server.wasRunning);
    process.stdin.on('end', async () => { await server.stop(); process.exit(0); }).resume();`;
  const flags = ['--import', 'tsx', '--input-type=module', '-e', code];
  const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (data) => resolve(String(data).trim()));
    child.once('exit', () => reject(new Error('it ended without a word')));
  });
}

function leave(child: ChildProcess): Promise<unknown> {
  const left = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  return left;
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function rows(url: string, sql: string): Promise<unknown[]> {
  const client = await connected(url);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function settings(server: PrivateServer): Promise<unknown> {
  const found = await rows(
    server.ownerUrl,
    'select json_object_agg(name, setting) as settings from pg_settings',
  );
  return Object(found[0]).settings;
}

function lockAs(data: string, holder: string): void {
  mkdirSync(join(data, 'postgres.lock'));
  writeFileSync(join(data, 'postgres.lock', holder), '');
}

function serverPid(data: string): number {
  return Number(readFileSync(join(data, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

function isServer(data: string): boolean {
  return existsSync(join(data, 'postgres', 'postmaster.pid')) && isAlive(serverPid(data));
}

/** A process that has ended but whose parent has not yet looked has no directory any more. */
function isAlive(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) !== '';
  } catch {
    return false;
  }
}

function processesOn(data: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === join(data, 'postgres');
    } catch {
      return false;
    }
  });
}

/** A living process of the user who owns the data: PostgreSQL alone would take it for itself. */
function bystander(): number {
  const { uid, gid } = statSync(join(scratch, 'remains', 'postgres'));
  const child = spawn('sleep', ['60'], process.getuid?.() === 0 ? { uid, gid } : {});
  children.push(child);
  return child.pid ?? 0;
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited too long: ${what}`);
    await sleep(20);
  }
}
