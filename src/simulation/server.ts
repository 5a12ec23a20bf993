// A PostgreSQL server: its processors, its disk, its connections, and the locks of the journals
// that it holds.

import type { Draws, SimulatedClock } from './clock.ts';
import type { Deployment } from './deployment.ts';
import { Disk, Locks, Places, Processors } from './stations.ts';

/** As PostgreSQL keeps for superusers. */
const reservedConnections = 3;

/**
 * So much of a cost differs from time to time, the mean staying as measured. Without it all would
 * be in step, and p99 equal to p50; with a half it is 1.5 times p50 and more, as measured.
 */
const variation = 0.5;

export class DatabaseServer {
  readonly processors: Processors;
  readonly disk: Disk;
  /** What runs at once, whatever is before the server to share them. */
  readonly connections: Places;
  readonly journals: Locks;
  readonly #clock: SimulatedClock;
  readonly #deployment: Deployment;
  readonly #draws: Draws;

  constructor(
    clock: SimulatedClock,
    draws: Draws,
    deployment: Deployment,
    processors?: Processors,
  ) {
    const { databaseCores, connectionsMax, costs } = deployment;
    this.#clock = clock;
    this.#draws = draws;
    this.#deployment = deployment;
    this.processors = processors ?? new Processors(clock, databaseCores);
    this.disk = new Disk(clock, costs.flush);
    this.connections = new Places(clock, connectionsMax - reservedConnections);
    this.journals = new Locks(clock);
  }

  /** From the node to the server, or back. */
  travel(then: () => void): void {
    this.#clock.after(this.#deployment.latency / 2, then);
  }

  /** The answer to something that takes so much processor time. */
  answer(ms: number, then: () => void): void {
    this.travel(() => this.processors.run(this.#varied(ms), () => this.travel(then)));
  }

  /** A query by itself. */
  query(ms: number, then: () => void): void {
    this.connections.take(() =>
      this.answer(ms, () => {
        this.connections.leave();
        then();
      }),
    );
  }

  /** The last round trip of a batch: lock the journals, save, commit, answer. */
  save(ms: number, merchants: readonly number[], then: () => void): void {
    const { standby, costs } = this.#deployment;
    const committed = () => {
      this.journals.leaveAll(merchants);
      this.travel(then);
    };
    // The standby writes what it is sent at once; many commits wait for it together.
    const confirmed = () =>
      standby === undefined ? committed() : this.#clock.after(standby + costs.flush, committed);
    this.travel(() =>
      this.journals.takeAll(merchants, () =>
        this.processors.run(this.#varied(ms), () => this.disk.commit(confirmed)),
      ),
    );
  }

  #varied(ms: number): number {
    return ms * (1 - variation + variation * this.#draws.untilNext(1));
  }
}
