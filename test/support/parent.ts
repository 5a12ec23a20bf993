// Who started a process, as the system tells it.

import { readFileSync } from 'node:fs';

/** 0: the process has ended. */
export function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}
