// What processes have used so far, read from /proc. Where there is none, it is 0.

import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds of processor time, by programs and by the system on their behalf. */
export function processorMs(pid: number): number {
  return timesOf(String(pid))?.own ?? 0;
}

/** The same for a process with its children, those that have ended among them. */
export function familyProcessorMs(pid: number): number {
  for (;;) {
    const before = timesOf(String(pid));
    if (before === undefined) return 0;
    const children = childrenOf(pid).map(processorMs);
    // A child that ended in between would be counted twice, or not at all.
    const after = timesOf(String(pid));
    if (after?.ended === before.ended) {
      return children.reduce((sum, own) => sum + own, after.own + after.ended);
    }
  }
}

export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && timesOf(name)?.parent === pid)
    .map(Number);
}

/** Bytes of memory that are in use now. */
export const residentBytes = (pid: number) => memoryOf(pid, 'VmRSS');

/** The most that were in use at any time so far. */
export const peakBytes = (pid: number) => memoryOf(pid, 'VmHWM');

function memoryOf(pid: number, name: string): number {
  const line = new RegExp(`^${name}:\\s*([0-9]+) kB$`, 'm');
  return Number(line.exec(read(`/proc/${pid}/status`) ?? '')?.[1] ?? 0) * 1_024;
}

export function parentOf(pid: number): number {
  return timesOf(String(pid))?.parent ?? 0;
}

/** Linux counts in hundredths of a second wherever Node runs. */
const msPerTick = 10;

function timesOf(pid: string): { parent: number; own: number; ended: number } | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is a name in parentheses, which may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [userTicks = 0, systemTicks = 0, endedUser = 0, endedSystem = 0] = fields
    .slice(11, 15)
    .map(Number);
  return {
    parent: Number(fields[1]),
    own: (userTicks + systemTicks) * msPerTick,
    ended: (endedUser + endedSystem) * msPerTick,
  };
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
