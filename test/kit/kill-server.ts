// A server of PostgreSQL that ends as when its machine loses power.

import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Its first process and all that this has begun, at once. */
export async function killServer(pid: number): Promise<void> {
  const victims = [pid, ...childrenOf(pid)];
  for (const victim of victims) end(victim);
  while (victims.some((victim) => existsSync(`/proc/${victim}`))) await sleep(5);
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    // It has gone.
    return [];
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone by itself.
  }
}
