// Who runs next. Writes wait in one group per merchant and operation type. A batch is of one type:
// the oldest group goes first, and groups of other merchants with the same type share its room, so
// merchants take turns. No merchant holds more than half of the workers. One that has kept others
// waiting gets batches of its own until one of them has gone well.

import { limits } from '../core/limits.ts';
import { Problem, retryLater } from '../core/problem.ts';

interface Group<Item> {
  readonly name: string;
  readonly merchant: string;
  readonly type: string;
  readonly waiting: Item[];
  /** When a batch last left it; at first, when it began. */
  movedAt: number;
  /** How long it takes to move up by one place (ms), a moving average. */
  pace: number;
}

/** What may run as one transaction. */
export interface QueuedBatch<Item> {
  readonly items: readonly Item[];
  /** Must be called once it has run. */
  done(): void;
}

export class FairQueue<Item> {
  /** Groups in which somebody waits, in the order of their turns. */
  readonly #groups = new Map<string, Group<Item>>();
  readonly #running = new Map<string, number>();
  readonly #queuedBy = new Map<string, number>();
  readonly #apart = new Set<string>();
  readonly #runningPerMerchantMax: number;
  #queued = 0;

  constructor(workers: number) {
    this.#runningPerMerchantMax = Math.max(1, Math.ceil(workers / 2));
  }

  get length(): number {
    return this.#queued;
  }

  /**
   * Lines an item up behind its like.
   * @throws Problem service_unavailable when the line is longer than can be served in time.
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

  /** Takes an item back into the line, once its batch has kept it waiting for another merchant. */
  addApart(merchant: string, type: string, item: Item): void {
    this.#apart.add(merchant);
    this.#groupOf(merchant, type, performance.now()).waiting.push(item);
    this.#count(merchant, 1);
  }

  /** The merchant's batches go well: it may share them again. */
  endApart(merchant: string): void {
    this.#apart.delete(merchant);
  }

  /** The next batch that may run now. */
  take(): QueuedBatch<Item> | undefined {
    const [first, ...others] = [...this.#groups.values()].filter(
      ({ merchant }) => (this.#running.get(merchant) ?? 0) < this.#runningPerMerchantMax,
    );
    if (first === undefined) return undefined;
    const sharers = this.#apart.has(first.merchant)
      ? []
      : others.filter(({ type, merchant }) => type === first.type && !this.#apart.has(merchant));
    const groups = [first, ...sharers];
    const items: Item[] = [];
    const merchants = new Set<string>();
    // Each gets its share of the room that is left; who has more to do gets what others leave.
    for (const [index, group] of groups.slice(0, limits.batchCommandsMax).entries()) {
      const room = limits.batchCommandsMax - items.length;
      const share = Math.ceil(room / (groups.length - index));
      items.push(...this.#takeFrom(group, share));
      merchants.add(group.merchant);
    }
    for (const group of groups) {
      items.push(...this.#takeFrom(group, limits.batchCommandsMax - items.length));
      if (items.length === limits.batchCommandsMax) break;
    }
    for (const merchant of merchants) adjust(this.#running, merchant, 1);
    const done = () => {
      for (const merchant of merchants) adjust(this.#running, merchant, -1);
    };
    return { items, done };
  }

  /** What is left goes to the end of the line. */
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

  /** How long the next in a group will wait, as it has moved, or as it has stood still since. */
  #waitIn(name: string, now: number): number {
    const group = this.#groups.get(name);
    if (group === undefined) return 0;
    const atOnce = this.#runningPerMerchantMax * limits.batchCommandsMax;
    return group.waiting.length * Math.max(group.pace, (now - group.movedAt) / atOnce);
  }

  #groupOf(merchant: string, type: string, now: number): Group<Item> {
    const name = nameOf(merchant, type);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, merchant, type, waiting: [], movedAt: now, pace: 0 };
      this.#groups.set(name, group);
    }
    return group;
  }
}

function nameOf(merchant: string, type: string): string {
  return `${merchant} ${type}`;
}

function notePace(group: Group<unknown>, moved: number): void {
  const now = performance.now();
  const pace = (now - group.movedAt) / moved;
  group.pace = group.pace === 0 ? pace : (group.pace + pace) / 2;
  group.movedAt = now;
}

/** 503: whoever is refused comes back later. */
export function overloaded(cause?: unknown): Problem {
  return new Problem('service_unavailable', { headers: retryLater(), cause });
}

function adjust(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
