// A process of a node: one thread, which receives requests, shares look-ups, forms batches and
// answers. Batches begin by the rules of operations/dispatch.ts, and hold what its queue gives out.

import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import { FairQueue } from '../operations/queue.ts';
import type { SimulatedClock } from './clock.ts';
import type { Deployment, ProcessConnections } from './deployment.ts';
import type { DatabaseServer } from './server.ts';
import { Places, type Processors, Thread } from './stations.ts';

type Then = () => void;

/** What a client asks for. */
export interface Asked {
  readonly kind: 'write' | 'read' | 'list';
  readonly merchant: number;
  answered(isServed: boolean): void;
}

/** Reads of the product and look-ups of tokens: so many queries of one kind run at once. */
const jointQueriesMax = 2;
const jointIdsMax = 256;

/** What waits at the same moment shares a query. */
class JointQueries {
  readonly #thread: Thread;
  readonly #send: (count: number, then: Then) => void;
  readonly #waiting: Then[] = [];
  #running = 0;
  #isScheduled = false;

  constructor(thread: Thread, send: (count: number, then: Then) => void) {
    this.#thread = thread;
    this.#send = send;
  }

  ask(then: Then): void {
    this.#waiting.push(then);
    this.#schedule();
  }

  /** After all that has arrived at the process so far. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= jointQueriesMax || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#thread.run(0, () => {
      this.#isScheduled = false;
      const shared = this.#waiting.splice(0, jointIdsMax);
      this.#running += 1;
      this.#send(shared.length, () => {
        this.#running -= 1;
        for (const then of shared) then();
        this.#schedule();
      });
      this.#schedule();
    });
  }
}

/** Connections of one process to one server. */
interface Connections {
  readonly server: DatabaseServer;
  readonly reserve: Places;
  readonly reads: Places;
  readonly writes: Places;
}

/** What a process has of one cell. */
interface CellOfProcess {
  readonly connections: Connections;
  readonly lookUps: JointQueries;
  readonly reads: Map<number, JointQueries>;
  readonly queue: FairQueue<Asked>;
  idleWorkers: number;
  begunAt: number;
  isPatient: boolean;
}

export class NodeProcess {
  readonly thread: Thread;
  readonly #clock: SimulatedClock;
  readonly #deployment: Deployment;
  readonly #servers: readonly DatabaseServer[];
  readonly #own: ProcessConnections;
  readonly #connections = new Map<DatabaseServer, Connections>();
  readonly #cells = new Map<number, CellOfProcess>();
  batches = 0;
  writesInBatches = 0;

  constructor(
    clock: SimulatedClock,
    deployment: Deployment,
    machine: Processors,
    servers: readonly DatabaseServer[],
    own: ProcessConnections,
  ) {
    this.#clock = clock;
    this.#deployment = deployment;
    this.#servers = servers;
    this.#own = own;
    this.thread = new Thread(clock, machine);
  }

  /** Of the connections to write by, to the servers that it has written to; the mean of them. */
  get writersUsedMs(): number {
    const all = [...this.#connections.values()].map(({ writes }) => writes.usedMs / writes.count);
    return all.reduce((sum, one) => sum + one, 0) / Math.max(1, all.length);
  }

  receive(asked: Asked): void {
    const { nodeRequest } = this.#deployment.costs;
    const cell = this.#cellOf(asked.merchant % this.#deployment.cells);
    // Half of a request is its receipt, and half its answer.
    this.thread.run(nodeRequest / 2, () =>
      cell.lookUps.ask(() => {
        if (asked.kind === 'write') this.#enqueue(cell, asked);
        else if (asked.kind === 'list') this.#list(cell, asked);
        else this.#read(cell, asked);
      }),
    );
  }

  deliver(then: Then): void {
    this.thread.run(this.#deployment.costs.nodeDelivery, then);
  }

  #list({ connections }: CellOfProcess, asked: Asked): void {
    const { nodeList, nodeRequest, databaseList } = this.#deployment.costs;
    const { reads, server } = connections;
    reads.take(() =>
      server.query(databaseList, () => {
        reads.leave();
        this.thread.run(nodeList + nodeRequest / 2, () => asked.answered(true));
      }),
    );
  }

  #read(cell: CellOfProcess, asked: Asked): void {
    let joint = cell.reads.get(asked.merchant);
    if (joint === undefined) {
      joint = this.#jointQueries(cell.connections.server, cell.connections.reads);
      cell.reads.set(asked.merchant, joint);
    }
    const { nodeRequest } = this.#deployment.costs;
    joint.ask(() => this.thread.run(nodeRequest / 2, () => asked.answered(true)));
  }

  #jointQueries(server: DatabaseServer, places: Places): JointQueries {
    const { nodeQuery, nodeShared, databaseLookUp, databaseShared } = this.#deployment.costs;
    return new JointQueries(this.thread, (count, then) =>
      this.thread.run(nodeQuery / 2 + (count - 1) * (nodeShared / 2), () =>
        places.take(() =>
          server.query(databaseLookUp + (count - 1) * databaseShared, () => {
            places.leave();
            this.thread.run(nodeQuery / 2 + (count - 1) * (nodeShared / 2), then);
          }),
        ),
      ),
    );
  }

  #enqueue(cell: CellOfProcess, asked: Asked): void {
    try {
      cell.queue.add(String(asked.merchant), 'inventory.adjust', asked);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { nodeRequest } = this.#deployment.costs;
      this.thread.run(nodeRequest / 2, () => asked.answered(false));
      return;
    }
    this.#startWorkers(cell);
  }

  /** As the dispatcher does it. */
  #startWorkers(cell: CellOfProcess): void {
    while (cell.idleWorkers > 0 && cell.queue.length > 0) {
      const isIdle = cell.idleWorkers === limits.writeWorkers;
      const wait = cell.begunAt + limits.batchPatience - this.#clock.now();
      if (!isIdle && wait > 0 && cell.queue.length < limits.batchWritesWorthwhile) {
        if (cell.isPatient) return;
        cell.isPatient = true;
        this.#clock.after(wait, () => {
          cell.isPatient = false;
          this.#startWorkers(cell);
        });
        return;
      }
      const batch = cell.queue.take();
      if (batch === undefined) return;
      cell.begunAt = this.#clock.now();
      cell.idleWorkers -= 1;
      this.#runBatch(cell.connections, batch.items, () => {
        batch.done();
        cell.idleWorkers += 1;
        this.#startWorkers(cell);
      });
    }
  }

  /** Two round trips: lock and load, then decide, lock the journals, save and commit. */
  #runBatch({ writes, server }: Connections, batch: readonly Asked[], done: Then): void {
    const { costs } = this.#deployment;
    const { length } = batch;
    this.batches += 1;
    this.writesInBatches += length;
    const step = (costs.nodeBatch + length * costs.nodeWrite) / 3;
    const database = costs.databaseBatch + length * costs.databaseWrite;
    const load = database * costs.databaseLoadShare;
    const merchants = [...new Set(batch.map(({ merchant }) => merchant))];
    const settle = () => {
      server.connections.leave();
      writes.leave();
      this.thread.run(step, () => {
        for (const { answered } of batch) {
          this.thread.run(costs.nodeRequest / 2, () => answered(true));
        }
        done();
      });
    };
    const decide = () =>
      this.thread.run(step, () => server.save(database - load, merchants, settle));
    writes.take(() =>
      this.thread.run(step, () => server.connections.take(() => server.answer(load, decide))),
    );
  }

  #cellOf(number: number): CellOfProcess {
    let cell = this.#cells.get(number);
    if (cell === undefined) {
      const connections = this.#connectionsTo(number % this.#servers.length);
      cell = {
        connections,
        lookUps: this.#jointQueries(connections.server, connections.reserve),
        reads: new Map(),
        queue: new FairQueue(limits.writeWorkers, this.#clock.now),
        idleWorkers: limits.writeWorkers,
        begunAt: Number.NEGATIVE_INFINITY,
        isPatient: false,
      };
      this.#cells.set(number, cell);
    }
    return cell;
  }

  #connectionsTo(number: number): Connections {
    const server = this.#servers[number];
    if (server === undefined) throw new Error('there is no such server');
    let connections = this.#connections.get(server);
    if (connections === undefined) {
      const places = (count: number) => new Places(this.#clock, count);
      const { reads } = this.#own;
      connections = {
        server,
        reserve: places(jointQueriesMax),
        reads: places(reads),
        writes: places(limits.writeWorkers),
      };
      this.#connections.set(server, connections);
    }
    return connections;
  }
}
