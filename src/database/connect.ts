// Connections to the database: to its server, and on Citus to every server that owns cells as well.

import { setTimeout as sleep } from 'node:timers/promises';
import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import type { Reader, Writer } from '../core/statement.ts';
import { atHome, listCells } from './cells.ts';
import { atCoordinator, atOwner } from './citus.ts';
import { Owners } from './owners.ts';
import { type Pooling, Sharing } from './pooler.ts';
import {
  type CellConnections,
  connectionsOf,
  type PoolsOptions,
  readConnections,
  ServerConnections,
} from './server-connections.ts';

/** What the service holds of its database. */
export interface Database extends CellConnections {
  /** For rate limits, which do not wait for other writes. */
  readonly leases: Writer;
  /**
   * For small transactions on the global tables, such as tokens and audit. No write waits for them.
   */
  readonly globalWriter: Writer;
  /** For writes of a cell that change the global tables as well: on Citus the coordinator's. */
  readonly spanningWriter: Writer;
  /** The same connections, for statements about merchants of this cell. */
  inCell(cell: string): Database;
  /** For what every server of a cluster has, whichever of them answers. */
  readonly anywhere: Reader;
  /** For what a server says of itself: the rows of each of a cluster, all of them or none. */
  readonly eachServer: Reader;
  /** The names of all cells, in one order. */
  cells(): Promise<readonly string[]>;
  /** Whether cells are on several servers: what is about one goes to the server that owns it. */
  isSpread(): boolean;
  /** Connections in use, idle and waited for, for the metrics. */
  usage(): { readonly total: number; readonly idle: number; readonly waiting: number };
  /** How many connections this may open. Only whoever delivers opens those of deliveries. */
  connectionsMax(delivers: boolean): number;
  /** Says what was found before the server. Without it, names are not used behind a pooler. */
  setPooling(pooling: Pooling): void;
  /** Says that the database is a Citus cluster, and the server its coordinator. */
  setSpread(): void;
  close(): Promise<void>;
}

export interface ConnectOptions extends PoolsOptions {
  /** What an operator should know of the way to the server, found out while it is used. */
  readonly onNotice?: (text: string) => void;
}

export function connectDatabase(options: ConnectOptions): Database {
  const sharing = new Sharing(options.onNotice ?? (() => undefined));
  let isSpread = false;
  const home = new ServerConnections(options, sharing, {
    ...atHome,
    holding: (cell) => (isSpread ? atCoordinator : atHome).holding(cell),
  });
  const owners = new Owners(
    home,
    options.url,
    (url) => new ServerConnections({ ...options, url }, sharing, atOwner),
  );
  const common: Omit<
    Database,
    keyof CellConnections | 'leases' | 'globalWriter' | 'spanningWriter' | 'inCell'
  > = {
    cells: async () => {
      const { reader } = home.inCell(firstCell);
      return (await reader.query(listCells)).map(({ name }) => name);
    },
    isSpread: () => isSpread,
    anywhere: owners.anywhere,
    eachServer: {
      query: (statement) =>
        (isSpread ? owners.each : home.inCell(firstCell).reserve).query(statement),
    },
    usage: () => owners.usage(),
    connectionsMax: (delivers) => {
      const { each, deliveries } = connectionsOf(options.reads ?? readConnections);
      return owners.servers.length * (each + (delivers ? deliveries : 0));
    },
    setPooling: (pooling) => sharing.set(pooling),
    setSpread: () => {
      isSpread = true;
    },
    close: async () => {
      // A connection to a server that does not answer never closes.
      const late = sleep(limits.closeTimeout, undefined, { ref: false });
      await Promise.race([Promise.all(owners.servers.map((server) => server.close())), late]);
    },
  };
  const inCell = (cell: string): Database =>
    viewOf(cell, isSpread ? owners.inCell(cell) : home.inCell(cell));
  // The global tables are at home, whoever owns the cell.
  const viewOf = (cell: string, connections: CellConnections): Database => ({
    ...common,
    ...connections,
    ...home.globalIn(cell),
    spanningWriter: home.inCell(cell).writer,
    inCell,
  });
  return viewOf(firstCell, home.inCell(firstCell));
}
