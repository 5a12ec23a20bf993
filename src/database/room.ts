// Whether a server has room for the connections of a node: what its processes open is known before
// they serve, and a server that cannot hold it is said then, not at the first busy hour.

import { UsageError } from '../config.ts';
import type { Reader, Statement } from '../core/statement.ts';
import { connectionsOf, readConnections } from './server-connections.ts';

/** Connections of a node. */
export interface Room {
  /** To read by, of each worker. */
  readonly reads: number;
  /** Of all workers, and of one more while one is replaced. */
  readonly needed: number;
}

/** A worker reads by so many at least. */
const readsMin = 2;

/** How many processes of a node serve, at most. One process alone has none beside it. */
const servingAtOnce = (workers: number) => (workers === 1 ? 1 : workers + 1);
/** To watch a private server; and of a main process, to look at a database when it starts. */
const besideServing = (workers: number) => (workers === 1 ? 1 : 2);

/** What so many workers open: together they read by as many as one process would. */
export function roomFor(
  workers: number,
  readsMax = Number.POSITIVE_INFINITY,
  readsOfOne = readConnections,
): Room {
  const shared = Math.max(2 * readsMin, Math.ceil(readsOfOne / workers));
  const reads = Math.max(readsMin, Math.min(shared, readsMax));
  return { reads, needed: servingAtOnce(workers) * connectionsOf(reads).each + once(workers) };
}

/** What is opened once, however many workers there are. */
const once = (workers: number) => connectionsOf(0).deliveries + besideServing(workers);

/** What is taken of the server's connections by one node, and how many nodes it has room for. */
export interface RoomFound extends Room {
  readonly available: number;
  /** 0 only for a process alone. */
  readonly nodes: number;
}

/**
 * As much room as the server has: fewer connections to read by when it has little. A process alone
 * takes what there is, and fails where there is no more.
 * @throws UsageError when not even the fewest fit that workers need.
 */
export async function findRoom(reader: Reader, workers: number): Promise<RoomFound> {
  const [{ available } = { available: 0 }] = await reader.query(findAvailable);
  if (workers === 1) {
    const room = roomFor(1);
    return { ...room, available, nodes: Math.floor(available / room.needed) };
  }
  const others = servingAtOnce(workers) * connectionsOf(0).each + once(workers);
  const room = roomFor(workers, Math.floor((available - others) / servingAtOnce(workers)));
  if (room.needed > available) {
    throw new UsageError(
      `${workers} workers need ${room.needed} connections to the database, and it has ` +
        `${available} for them: use fewer with --workers or TALLYBOOK_WORKERS, or raise ` +
        'max_connections of the server',
    );
  }
  // Nodes are replaced one at a time.
  const spare = connectionsOf(room.reads).each;
  const nodes = Math.floor((available - spare) / (room.needed - spare));
  return { ...room, available, nodes };
}

/** The least of what the server, the database and the role allow. */
const findAvailable: Statement<{ available: number }> = {
  name: 'find_available_connections',
  text: `select least(
      current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
      (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
      (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)) as available`,
  values: [],
};
