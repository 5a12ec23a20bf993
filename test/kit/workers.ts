// The processes of a node with workers, as the system knows them.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceProcess } from './process.ts';
import { RawConnection } from './raw.ts';

/** Those that a main process has started to serve, and that are there now. */
export function workersOf(main: number | undefined): number[] {
  if (main === undefined) return [];
  return read(`/proc/${main}/task/${main}/children`)
    .split(' ')
    .filter((pid) => pid !== '' && read(`/proc/${pid}/cmdline`).includes('\0serve\0'))
    .map(Number);
}

export function isThere(pid: number): boolean {
  // What has ended, and nobody has asked for, has no command line.
  return read(`/proc/${pid}/cmdline`) !== '';
}

/** One connection to each worker. The main process deals them out in turn. */
export async function connectionToEach({ api, child }: ServiceProcess): Promise<RawConnection[]> {
  const workers = workersOf(child.pid);
  const found = new Map<number, RawConnection>();
  while (found.size < workers.length) {
    const connection = await RawConnection.open(api.origin);
    connection.send('GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n');
    await connection.next();
    const { localPort = 0 } = connection.socket;
    const holder = workers.find((pid) => holds(pid, localPort));
    if (holder === undefined) throw new Error(`no worker holds the connection of ${localPort}`);
    if (found.has(holder)) connection.end();
    else found.set(holder, connection);
  }
  return [...found.values()];
}

/** Whether a process has the other end of a connection from this port. */
function holds(pid: number, port: number): boolean {
  const from = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = read('/proc/net/tcp').split('\n');
  const fields = lines.map((line) => line.trim().split(/ +/));
  const inodes = fields.filter(([, , remote]) => remote?.endsWith(from)).map((one) => one[9]);
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? [];
    return inode !== undefined && inodes.includes(inode);
  });
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

/** Resolves once it is so. @throws Error after 100 seconds: a worker may start slowly */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 100_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
