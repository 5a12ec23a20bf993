// Which writes run next. They wait in one group per merchant and operation type. A batch is of one
// type: it begins with the oldest group, and groups of other merchants with the same type fill it
// up, so that merchants are served alternately. No merchant holds more than half of the workers. A
// merchant whose writes made a shared batch wait for a lock gets batches of its own until one of
// them succeeds.

import { limits } from '../core/limits.ts';
import { overloaded } from '../core/problem.ts';

interface Group<Item> {
  readonly name: string;
  readonly merchant: string;
  readonly type: string;
  readonly waiting: Item[];
  /** When items were last taken from it; at first, when it began. */
  takenAt: number;
  /** Milliseconds per item taken, a moving average. */
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
  readonly #queuedBy = new Map<string, number>();
  readonly #alone = new Set<string>();
  readonly #runningPerMerchantMax: number;
  #queued = 0;

  constructor(workers: number) {
    this.#runningPerMerchantMax = Math.max(1, Math.ceil(workers / 2));
  }

  get length(): number {
    return this.#queued;
  }

  /**
   * Adds an item at the end of its group.
   * @throws Problem service_unavailable when the group is longer than can be served in time.
   */
  add(merchant: string, type: string, item: Item): void {
    const queuedBy = this.#queuedBy.get(merchant) ?? 0;
    const now = performance.now();
    if (
      this.#queued >= limits.queuedTotalMax ||
      queuedBy >= limits.queuedPerMerchantMax ||
      (queuedBy >= limits.queuedPerMerchantMin &&
        this.#waitIn(nameOf(merchant, type), now) > limits.queueWaitMax)
    ) {
      throw overloaded();
    }
    this.#groupOf(merchant, type, now).waiting.push(item);
    this.#count(merchant, 1);
  }

  /** Adds an item again whose batch of several merchants timed out: it runs without the others. */
  addAlone(merchant: string, type: string, item: Item): void {
    this.#alone.add(merchant);
    this.#groupOf(merchant, type, performance.now()).waiting.push(item);
    this.#count(merchant, 1);
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
    const items: Item[] = [];
    const merchants = new Set<string>();
    // Each gets its share of the room that is left; what some do not need is for the others.
    for (const [index, group] of groups.slice(0, limits.batchWritesMax).entries()) {
      const room = limits.batchWritesMax - items.length;
      const share = Math.ceil(room / (groups.length - index));
      items.push(...this.#takeFrom(group, share));
      merchants.add(group.merchant);
    }
    for (const group of groups) {
      items.push(...this.#takeFrom(group, limits.batchWritesMax - items.length));
      if (items.length === limits.batchWritesMax) break;
    }
    for (const merchant of merchants) adjust(this.#running, merchant, 1);
    const done = () => {
      for (const merchant of merchants) adjust(this.#running, merchant, -1);
    };
    return { items, done };
  }

  /** What is left in the group is served after the other groups. */
  #takeFrom(group: Group<Item>, most: number): Item[] {
    const items = group.waiting.splice(0, most);
    if (items.length === 0) return items;
    notePace(group, items.length);
    this.#groups.delete(group.name);
    if (group.waiting.length > 0) this.#groups.set(group.name, group);
    this.#count(group.merchant, -items.length);
    return items;
  }

  #count(merchant: string, by: number): void {
    this.#queued += by;
    adjust(this.#queuedBy, merchant, by);
  }

  /** How long a new item will wait (ms): by the group's pace, or by how long nothing was taken. */
  #waitIn(name: string, now: number): number {
    const group = this.#groups.get(name);
    if (group === undefined) return 0;
    const atOnce = this.#runningPerMerchantMax * limits.batchWritesMax;
    return group.waiting.length * Math.max(group.pace, (now - group.takenAt) / atOnce);
  }

  #groupOf(merchant: string, type: string, now: number): Group<Item> {
    const name = nameOf(merchant, type);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, merchant, type, waiting: [], takenAt: now, pace: 0 };
      this.#groups.set(name, group);
    }
    return group;
  }
}

function nameOf(merchant: string, type: string): string {
  return `${merchant} ${type}`;
}

function notePace(group: Group<unknown>, taken: number): void {
  const now = performance.now();
  const pace = (now - group.takenAt) / taken;
  group.pace = group.pace === 0 ? pace : (group.pace + pace) / 2;
  group.takenAt = now;
}

function adjust(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
