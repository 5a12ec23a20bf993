// How many connections there is room for. Each takes a file descriptor, of which the system gives a
// process so many: some stay free for the database and whatever else, or a crowd of idle clients
// would cut the service off from what it needs to answer anyone.

import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { limits } from '../../core/limits.ts';

/** Idle connections make room for new ones, once there is none left. */
export function makeRoom(server: Server): void {
  server.maxConnections = Math.min(
    limits.connectionsMax,
    Math.max(1, descriptorsMax() - limits.descriptorsReserved),
  );
  server.on('drop', () => server.closeIdleConnections());
}

/** Without a limit, or without a way to know it: no end. */
function descriptorsMax(): number {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files +([0-9]+)/m.exec(text) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
