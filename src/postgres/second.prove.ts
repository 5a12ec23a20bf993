// One PostgreSQL on a data directory, never two, whatever starts on it: through the real command
// line, and with PostgreSQL started by hand.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type ServiceProcess, serveProcess } from '../../test/kit/process.ts';
import { parentOf } from '../../test/kit/usage.ts';
import { chooseAccount, runAs } from './account.ts';
import { findBinaries } from './binaries.ts';

const root = mkdtempSync(join(tmpdir(), 'tallybook-second-'));
const data = join(root, 'data');
const cluster = join(data, 'postgres');
const pidFile = join(cluster, 'postmaster.pid');
const services: ServiceProcess[] = [];
let thaw = () => {};

afterEach(async () => {
  thaw();
  await Promise.all(services.splice(0).map((service) => service.end()));
  for (const pid of postmasters()) process.kill(pid, 'SIGINT');
  await expect.poll(() => postmasters()).toEqual([]);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function serve(): Promise<ServiceProcess> {
  await chmod(root, 0o711);
  const service = await serveProcess(['--data', data]);
  services.push(service);
  return service;
}

/** Servers, not their children, that work in the directory. */
function postmasters(): number[] {
  const there = processes();
  // A child that ends meanwhile has no parent any more.
  return there.filter((pid) => ![0, ...there].includes(parentOf(pid)));
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter(worksThere);
}

function worksThere(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === cluster;
  } catch {
    return false;
  }
}

/** Until `thaw`. A worker of the server may end between the look and the signal. */
function freeze(): void {
  const frozen = processes().filter((pid) => signalled(pid, 'SIGSTOP'));
  thaw = () => {
    for (const pid of frozen.splice(0)) signalled(pid, 'SIGCONT');
  };
}

function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function isReady({ api }: ServiceProcess): Promise<boolean> {
  return (await fetch(`${api.origin}/readyz`)).status === 200;
}

test('services that start at once share one server, and the last one stops it', async () => {
  const all = await Promise.all([serve(), serve(), serve()]);
  expect(postmasters()).toHaveLength(1);
  const [first, second, third] = all;
  await first?.end();
  await second?.end('SIGKILL');
  expect(third !== undefined && (await isReady(third))).toBe(true);
  expect(postmasters()).toHaveLength(1);
  expect(await third?.end()).toBe(0);
  expect(postmasters()).toEqual([]);
});

test('a server started by hand on the directory is refused, the first unharmed', async () => {
  const service = await serve();
  const [pid] = postmasters();
  const account = chooseAccount(cluster);
  const { directory } = findBinaries(undefined, account);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const options = {
      ...runAs(account),
      cwd: cluster,
      stdio: ['ignore', 'ignore', 'pipe'] as const,
    };
    const args = [
      '-D',
      '.',
      '-c',
      `unix_socket_directories=${tmpdir()}`,
      '-c',
      'listen_addresses=',
    ];
    const server = spawn(join(directory, 'postgres'), args, {
      ...options,
      stdio: [...options.stdio],
    });
    let said = '';
    server.stderr?.on('data', (chunk) => {
      said += String(chunk);
    });
    const [code] = await once(server, 'close');
    expect([code, said]).toEqual([1, expect.stringContaining('postmaster.pid" already exists')]);
  }
  expect(postmasters()).toEqual([pid]);
  expect(await isReady(service)).toBe(true);
});

test('a start is refused while the server runs whose pid file somebody removed', async () => {
  const service = await serve();
  const running = postmasters();
  rmSync(pidFile);
  await expect(serve()).rejects.toThrow(/serve ended with 1: .*in use by another container/s);
  expect(postmasters()).toEqual(running);
  expect(await isReady(service)).toBe(true);
  expect(await service.end()).toBe(0);
  expect(postmasters()).toEqual([]);
});

test('what a loss of power leaves, a pid file of nobody, does not hinder a start', async () => {
  const service = await serve();
  const [pid = 0] = postmasters();
  await service.end('SIGKILL');
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => postmasters()).toEqual([]);
  expect(readFileSync(pidFile, 'utf8')).toMatch(new RegExp(`^${pid}\n`));
  const again = await serve();
  expect(await isReady(again)).toBe(true);
  expect(postmasters()).not.toContain(pid);
});

describe('beside a frozen server', () => {
  const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

  function tallybook(...args: string[]) {
    const child = spawn(process.execPath, [program, ...args, '--data', data], {
      env: { PATH: process.env.PATH, TALLYBOOK_LOG_LEVEL: 'debug' },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
    });
    return { child, ended: once(child, 'exit'), said: () => said };
  }

  test('a process that is joining it ends at the first signal', async () => {
    await serve();
    freeze();
    const { child, ended } = tallybook('merchant', 'list');
    const lock = join(data, 'postgres.lock');
    const holder = () => (existsSync(lock) ? readdirSync(lock)[0]?.split('-')[0] : '');
    await expect.poll(holder, { interval: 20 }).toBe(String(child.pid));
    const waiting = tallybook('merchant', 'list');
    const serving = tallybook('serve', '--port', '0');
    for (const { said } of [waiting, serving]) await expect.poll(said).toContain('which holds');
    const toldAt = performance.now();
    for (const one of [child, waiting.child, serving.child]) one.kill('SIGINT');
    const codes = [await ended, await waiting.ended, await serving.ended];
    const took = performance.now() - toldAt;
    thaw();
    expect(codes).toEqual([
      [130, null],
      [130, null],
      [0, null],
    ]);
    expect(took).toBeLessThan(3_000);
    expect(existsSync(lock)).toBe(false);
  });

  test('a command at work ends at the second signal', async () => {
    await serve();
    const { child, ended, said } = tallybook('backup', join(root, 'never'));
    const drafts = () => readdirSync(root).filter((name) => name.startsWith('never'));
    await expect.poll(said, { interval: 5 }).toContain('PostgreSQL is ready');
    freeze();
    child.kill('SIGINT');
    child.kill('SIGINT');
    await sleep(700);
    expect(child.exitCode).toBe(null);
    const toldAt = performance.now();
    child.kill('SIGINT');
    const code = await ended;
    const took = performance.now() - toldAt;
    thaw();
    expect(code).toEqual([130, null]);
    expect(took).toBeLessThan(1_000);
    expect(drafts()).toEqual([]);
  });
});

test('a frozen server keeps no process from ending', async () => {
  const service = await serve();
  freeze();
  const toldAt = performance.now();
  const code = await service.end();
  const took = performance.now() - toldAt;
  thaw();
  expect(code).toBe(0);
  expect(took).toBeLessThan(12_000);
  expect(service.log()).toContain('it is unknown whether others use it');
  const again = await serve();
  expect(await isReady(again)).toBe(true);
});
