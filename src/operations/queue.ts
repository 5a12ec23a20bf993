// Which writes run next. They wait in one group per merchant and operation type. A batch begins
// with the oldest group, and groups of other merchants with its type fill it up, each as far as its
// share of writes and of lines goes. No merchant holds more than half of the workers. A merchant
// whose writes made a shared batch wait for a lock gets batches of its own until one succeeds.

import { limits } from '../core/limits.ts';
import { overloaded } from '../core/problem.ts';

interface Waiting<Item> {
  readonly item: Item;
  readonly lines: number;
}

/** So many writes, with so many lines. */
interface Load {
  readonly writes: number;
  readonly lines: number;
}

const nothing: Load = { writes: 0, lines: 0 };
const atMost: Load = { writes: limits.batchWritesMax, lines: limits.batchLinesMax };

interface Group<Item> {
  readonly name: string;
  readonly merchant: string;
  readonly type: string;
  readonly waiting: Waiting<Item>[];
  /** Of all that wait. */
  lines: number;
  /** When items were last taken from it; at first, when it began. */
  takenAt: number;
  /** Milliseconds per line taken, a moving average. */
  pace: number;
}

/** What may run as one transaction. */
export interface QueuedBatch<Item> {
  readonly items: readonly Item[];
  /** Must be called once it has run. */
  done(): void;
}

export class FairQueue<Item> {
  /** Groups in which writes wait, in the order in which they are served. */
  readonly #groups = new Map<string, Group<Item>>();
  readonly #running = new Map<string, number>();
  readonly #queuedBy = new Map<string, Load>();
  readonly #alone = new Set<string>();
  readonly #runningPerMerchantMax: number;
  readonly #now: () => number;
  #queued = 0;

  constructor(workers: number, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#runningPerMerchantMax = Math.max(1, Math.ceil(workers / 2));
  }

  get length(): number {
    return this.#queued;
  }

  /**
   * Adds an item at the end of its group.
   * @throws Problem service_unavailable when the group is longer than can be served in time.
   */
  add(merchant: string, type: string, item: Item, lines = 1): void {
    const { writes, lines: before } = this.#queuedBy.get(merchant) ?? nothing;
    const now = this.#now();
    if (
      this.#queued >= limits.queuedTotalMax ||
      writes >= limits.queuedPerMerchantMax ||
      before >= limits.queuedLinesPerMerchantMax ||
      (writes >= limits.queuedPerMerchantMin &&
        this.#waitIn(nameOf(merchant, type), now) > limits.queueWaitMax)
    ) {
      throw overloaded();
    }
    this.#wait(merchant, type, { item, lines });
  }

  /** Adds an item again whose batch of several merchants timed out: it runs without the others. */
  addAlone(merchant: string, type: string, item: Item, lines = 1): void {
    this.#alone.add(merchant);
    this.#wait(merchant, type, { item, lines });
  }

  /** A batch of the merchant has succeeded: it may share batches again. */
  endAlone(merchant: string): void {
    this.#alone.delete(merchant);
  }

  /** The next batch that may run now. */
  take(): QueuedBatch<Item> | undefined {
    const [first, ...others] = [...this.#groups.values()].filter(
      ({ merchant }) => (this.#running.get(merchant) ?? 0) < this.#runningPerMerchantMax,
    );
    if (first === undefined) return undefined;
    const sharers = this.#alone.has(first.merchant)
      ? []
      : others.filter(({ type, merchant }) => type === first.type && !this.#alone.has(merchant));
    const groups = [first, ...sharers];
    const taken: Waiting<Item>[] = [];
    const merchants = new Set<string>();
    // Each gets its share of the room that is left; what some do not need is for the others.
    for (const [index, group] of groups.slice(0, limits.batchWritesMax).entries()) {
      const share = shareOf(roomBeside(taken), groups.length - index);
      // Whoever is first is served, however long the write.
      const some = this.#takeFrom(group, share, index === 0);
      if (some.length > 0) merchants.add(group.merchant);
      taken.push(...some);
    }
    for (const group of groups) {
      const some = this.#takeFrom(group, roomBeside(taken), false);
      if (some.length > 0) merchants.add(group.merchant);
      taken.push(...some);
    }
    for (const merchant of merchants) adjust(this.#running, merchant, 1);
    const done = () => {
      for (const merchant of merchants) adjust(this.#running, merchant, -1);
    };
    return { items: taken.map(({ item }) => item), done };
  }

  /** As many as there is room for. What is left in the group is served after the other groups. */
  #takeFrom(group: Group<Item>, room: Load, isFirst: boolean): Waiting<Item>[] {
    const least = isFirst ? 1 : 0;
    let { lines } = nothing;
    const end = group.waiting.findIndex((one, index) => {
      lines += one.lines;
      return index >= least && (index >= room.writes || lines > room.lines);
    });
    const taken = group.waiting.splice(0, end < 0 ? group.waiting.length : end);
    if (taken.length === 0) return taken;
    const load = loadOf(taken);
    notePace(group, load.lines, this.#now());
    group.lines -= load.lines;
    this.#groups.delete(group.name);
    if (group.waiting.length > 0) this.#groups.set(group.name, group);
    this.#count(group.merchant, { writes: -load.writes, lines: -load.lines });
    return taken;
  }

  #wait(merchant: string, type: string, one: Waiting<Item>): void {
    const group = this.#groupOf(merchant, type, this.#now());
    group.waiting.push(one);
    group.lines += one.lines;
    this.#count(merchant, { writes: 1, lines: one.lines });
  }

  #count(merchant: string, by: Load): void {
    this.#queued += by.writes;
    const before = this.#queuedBy.get(merchant) ?? nothing;
    const after = { writes: before.writes + by.writes, lines: before.lines + by.lines };
    if (after.writes === 0) this.#queuedBy.delete(merchant);
    else this.#queuedBy.set(merchant, after);
  }

  /** How long a new item will wait (ms): by the group's pace, or by how long nothing was taken. */
  #waitIn(name: string, now: number): number {
    const group = this.#groups.get(name);
    if (group === undefined) return 0;
    const atOnce = this.#runningPerMerchantMax * limits.batchWritesMax;
    return group.lines * Math.max(group.pace, (now - group.takenAt) / atOnce);
  }

  #groupOf(merchant: string, type: string, now: number): Group<Item> {
    const name = nameOf(merchant, type);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, merchant, type, waiting: [], lines: 0, takenAt: now, pace: 0 };
      this.#groups.set(name, group);
    }
    return group;
  }
}

function nameOf(merchant: string, type: string): string {
  return `${merchant} ${type}`;
}

function loadOf(waiting: readonly Waiting<unknown>[]): Load {
  return {
    writes: waiting.length,
    lines: waiting.reduce((sum, { lines }) => sum + lines, 0),
  };
}

function roomBeside(taken: readonly Waiting<unknown>[]): Load {
  const { writes, lines } = loadOf(taken);
  return { writes: atMost.writes - writes, lines: atMost.lines - lines };
}

function shareOf({ writes, lines }: Load, sharers: number): Load {
  return { writes: Math.ceil(writes / sharers), lines: Math.ceil(lines / sharers) };
}

function notePace(group: Group<unknown>, taken: number, now: number): void {
  const pace = (now - group.takenAt) / taken;
  group.pace = group.pace === 0 ? pace : (group.pace + pace) / 2;
  group.takenAt = now;
}

function adjust(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
