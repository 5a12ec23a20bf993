// On Citus a cell is on one server, its owner, and moves to another while it is used. What is about
// a cell goes straight to its owner, which takes half the processor time of the way through the
// coordinator. A server from before a move refuses what it is asked about the cell, and who asked
// goes to the new owner.

import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import {
  begin,
  type Connection,
  commit,
  DatabaseFailure,
  type Reader,
  type Statement,
  type Writer,
} from '../core/statement.ts';
import {
  addressOf,
  findPlacement,
  hasLeft,
  listServers,
  type Placement,
  type ServerRow,
  showCell,
  urlAt,
} from './citus.ts';
import type { CellConnections, ServerConnections } from './server-connections.ts';

export class Owners {
  /** The coordinator. */
  readonly #home: ServerConnections;
  readonly #homeUrl: string;
  readonly #open: (url: string) => ServerConnections;
  /** By their addresses. */
  readonly #opened = new Map<string, ServerConnections>();
  readonly #ownerOf = new Map<string, ServerConnections>();
  /** Until the owner has the views of a cell. */
  readonly #showing = new Map<string, Promise<void>>();
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(home: ServerConnections, homeUrl: string, open: (url: string) => ServerConnections) {
    this.#home = home;
    this.#homeUrl = homeUrl;
    this.#open = open;
  }

  /** All that connections lead to. */
  get servers(): readonly ServerConnections[] {
    return [this.#home, ...this.#opened.values()];
  }

  usage(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const used = this.servers.map((server) => server.usage());
    const sum = (name: 'total' | 'idle' | 'waiting') =>
      used.reduce((total, one) => total + one[name], 0);
    return { total: sum('total'), idle: sum('idle'), waiting: sum('waiting') };
  }

  /** For tables that every server has: asks the coordinator, and the others while it is away. */
  get anywhere(): Reader {
    return {
      query: async <Row>(statement: Statement<Row>): Promise<Row[]> => {
        let reason: unknown;
        for (const server of this.servers) {
          try {
            return await server.inCell(firstCell).reserve.query(statement);
          } catch (error) {
            if (!isUnreachable(error)) throw error;
            reason ??= error;
          }
        }
        throw reason;
      },
    };
  }

  /** For what a server says of itself: the rows of all, or none. */
  get each(): Reader {
    return {
      query: async <Row>(statement: Statement<Row>): Promise<Row[]> => {
        const reader = (server: ServerConnections) => server.inCell(firstCell).reserve;
        const servers = (await reader(this.#home).query(listServers)).map((row) =>
          this.#serverAt(row),
        );
        const rows = await Promise.all(servers.map((server) => reader(server).query(statement)));
        return rows.flat();
      },
    };
  }

  /** What leads to a cell, wherever it is at the moment. */
  inCell(cell: string): CellConnections {
    const reader = (of: (connections: CellConnections) => Reader): Reader => ({
      query: <Row>(statement: Statement<Row>) => this.#read(cell, of, statement),
    });
    const writer = (of: (connections: CellConnections) => Writer): Writer => ({
      connect: () => this.#connect(cell, of),
    });
    return {
      readerOf: (merchant) => reader((own) => own.readerOf(merchant)),
      reader: reader((own) => own.reader),
      reserve: reader((own) => own.reserve),
      writer: writer((own) => own.writer),
      deliveries: {
        readerOf: (merchant) => reader((own) => own.deliveries.readerOf(merchant)),
        reader: reader((own) => own.deliveries.reader),
        writer: writer((own) => own.deliveries.writer),
      },
    };
  }

  async #read<Row>(
    cell: string,
    of: (connections: CellConnections) => Reader,
    statement: Statement<Row>,
  ): Promise<Row[]> {
    const owner = await this.#owner(cell);
    try {
      return await of(owner.inCell(cell)).query(statement);
    } catch (error) {
      // Nothing was changed by it, so it may be asked again of whoever has the cell now.
      const next = await this.#nextOwner(cell, owner, error);
      if (next === undefined) throw error;
      return of(next.inCell(cell)).query(statement);
    }
  }

  async #connect(cell: string, of: (connections: CellConnections) => Writer): Promise<Connection> {
    const owner = await this.#owner(cell);
    try {
      return this.#noticing(await of(owner.inCell(cell)).connect());
    } catch (error) {
      const next = await this.#nextOwner(cell, owner, error);
      if (next === undefined) throw error;
      return this.#noticing(await of(next.inCell(cell)).connect());
    }
  }

  /** Where the cell has left, nothing was saved, and whoever tries again finds its owner. */
  #noticing(connection: Connection): Connection {
    return {
      send: async (statements) => {
        try {
          return await connection.send(statements);
        } catch (error) {
          if (hasLeft(error)) await this.#ask();
          throw error;
        }
      },
      release: () => connection.release(),
      destroy: () => connection.destroy(),
    };
  }

  /** The coordinator, as far as nobody knows another. */
  async #owner(cell: string): Promise<ServerConnections> {
    const known = this.#ownerOf.get(cell);
    const isOld = performance.now() - this.#askedAt > limits.placementLookInterval;
    // Whoever comes while the first asks waits for the answer, too.
    if (known === undefined && (isOld || this.#asking !== undefined)) await this.#ask();
    else if (isOld) void this.#ask();
    await this.#showing.get(cell);
    return this.#ownerOf.get(cell) ?? this.#home;
  }

  /** Who has it now, when somebody else has, and this failure may come of that. */
  async #nextOwner(
    cell: string,
    owner: ServerConnections,
    failure: unknown,
  ): Promise<ServerConnections | undefined> {
    if (!isUnreachable(failure) && !hasLeft(failure)) return undefined;
    await this.#ask();
    await this.#showing.get(cell);
    const next = this.#ownerOf.get(cell) ?? this.#home;
    return next === owner ? undefined : next;
  }

  /** When the coordinator is away, what was known last goes on. */
  #ask(): Promise<void> {
    this.#askedAt = performance.now();
    this.#asking ??= this.#home
      .inCell(firstCell)
      .reserve.query(findPlacement)
      .then(
        (placements) => this.#note(placements),
        () => undefined,
      )
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }

  #note(placements: readonly Placement[]): void {
    for (const placement of placements) {
      const { cell } = placement;
      const server = this.#serverAt(placement);
      if (this.#ownerOf.get(cell) === server) continue;
      this.#ownerOf.set(cell, server);
      if (server === this.#home) continue;
      const showing = show(cell, server)
        .catch(() => {
          // It is reached through Citus, or not at all: the next look tries again.
          if (this.#ownerOf.get(cell) === server) this.#ownerOf.delete(cell);
        })
        .finally(() => {
          if (this.#showing.get(cell) === showing) this.#showing.delete(cell);
        });
      this.#showing.set(cell, showing);
    }
  }

  #serverAt(place: Pick<ServerRow, 'host' | 'port' | 'is_coordinator'>): ServerConnections {
    if (place.is_coordinator) return this.#home;
    const address = addressOf(place);
    let server = this.#opened.get(address);
    if (server === undefined) {
      server = this.#open(urlAt(this.#homeUrl, place));
      this.#opened.set(address, server);
    }
    return server;
  }
}

async function show(cell: string, owner: ServerConnections): Promise<void> {
  const connection = await owner.inCell(cell).writer.connect();
  try {
    await connection.send([begin, showCell(cell), commit]);
    connection.release();
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

const isUnreachable = (failure: unknown): boolean =>
  failure instanceof DatabaseFailure && ['away', 'lost'].includes(failure.kind);
