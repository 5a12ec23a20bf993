// The machine, and what processes have used of it so far, read from /proc. Elsewhere that is
// unknown, and left out.

import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryBytes: number;
  readonly node: string;
  readonly platform: string;
  readonly loadBefore: number;
}

export function machineNow(): Machine {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryBytes: totalmem(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    loadBefore: loadavg()[0] ?? 0,
  };
}

/** Milliseconds of processor time, by programs and by the system on their behalf. */
export function processorMs(pid: number): number | undefined {
  const times = timesOf(String(pid));
  return times === undefined ? undefined : times.own;
}

/** The same for a process with its children, those that have ended among them. */
export function familyProcessorMs(pid: number | undefined): number | undefined {
  for (;;) {
    const before = timesOf(String(pid));
    if (before === undefined) return undefined;
    const children = readdirSync('/proc')
      .filter((name) => /^[0-9]+$/.test(name))
      .map(timesOf)
      .filter((times) => times?.parent === pid)
      .map((times) => times?.own ?? 0);
    // A child that ended in between would be counted twice, or not at all.
    const after = timesOf(String(pid));
    if (after?.ended === before.ended) {
      return children.reduce((sum, own) => sum + own, after.own + after.ended);
    }
  }
}

/** Bytes of memory that are in use now. */
export function residentBytes(pid: number): number | undefined {
  return memoryOf(pid, 'VmRSS');
}

/** The most that were in use at any time so far. */
export function peakBytes(pid: number): number | undefined {
  return memoryOf(pid, 'VmHWM');
}

function memoryOf(pid: number, name: string): number | undefined {
  const line = new RegExp(`^${name}:\\s*([0-9]+) kB$`, 'm');
  const [, kilobytes] = line.exec(read(`/proc/${pid}/status`) ?? '') ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
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
