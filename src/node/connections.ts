// What a node takes of the connections to its database, as its start says it. Behind a pooler the
// connections end there, and how many it lets in only its own console tells.

import type { Logger } from 'pino';
import type { Store } from '../database/open.ts';
import { findRoom, roomFor } from '../database/room.ts';

/**
 * @returns how many connections each worker reads by.
 * @throws UsageError when the server cannot hold the workers.
 */
export async function shareConnections(
  { database, pooling }: Pick<Store, 'database' | 'pooling'>,
  workers: number,
  log: Logger,
): Promise<number> {
  const wanted = roomFor(workers);
  if (pooling !== 'none') {
    log.info(
      { workers, needed: wanted.needed },
      'connections to the pooler: its max_client_conn must be enough for those of all nodes',
    );
    return wanted.reads;
  }
  const { reads, ...room } = await findRoom(database.reserve, workers);
  const found = { workers, needed: room.needed, available: room.available, nodes: room.nodes };
  if (room.nodes === 0) {
    log.warn(found, 'few connections to the database: requests that need more are answered 503');
  } else if (reads < wanted.reads) {
    log.warn(found, 'few connections to the database: workers read by fewer than they could use');
  } else log.info(found, 'connections to the database');
  return reads;
}
