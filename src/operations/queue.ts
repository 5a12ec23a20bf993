// Who runs next. Writes wait in one group per merchant and operation type; the oldest group goes
// first, its rest to the tail, so merchants take turns, and no merchant holds more than half of the
// workers. No timer: an idle service runs a write at once, a busy one batches what has waited.

import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';

interface Group<Item> {
  readonly name: string;
  readonly merchant: string;
  readonly waiting: Item[];
  isQueued: boolean;
  /** When a batch last left it; at first, when it began. */
  movedAt: number;
  /** How long it takes to move up by one place (ms), a moving average. */
  pace: number;
}

export class FairQueue<Item> {
  readonly #groups = new Map<string, Group<Item>>();
  readonly #order: Group<Item>[] = [];
  readonly #running = new Map<string, number>();
  readonly #queuedBy = new Map<string, number>();
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
    const name = `${merchant} ${type}`;
    const now = performance.now();
    if (
      this.#queued >= limits.queuedTotalMax ||
      queuedBy >= limits.queuedPerMerchantMax ||
      (queuedBy >= limits.queuedPerMerchantMin && this.#waitIn(name, now) > limits.queueWaitMax)
    ) {
      throw overloaded();
    }
    const group = this.#groupOf(name, merchant, now);
    group.waiting.push(item);
    this.#queuedBy.set(merchant, queuedBy + 1);
    this.#queued += 1;
    this.#enqueue(group);
  }

  /** The next batch that may run now. `done` must be called once it has. */
  take(): { readonly items: readonly Item[]; done(): void } | undefined {
    const index = this.#order.findIndex(
      (group) => (this.#running.get(group.merchant) ?? 0) < this.#runningPerMerchantMax,
    );
    const [group] = index < 0 ? [] : this.#order.splice(index, 1);
    if (group === undefined) return undefined;
    group.isQueued = false;
    const items = group.waiting.splice(0, limits.batchCommandsMax);
    notePace(group, items.length);
    this.#queued -= items.length;
    adjust(this.#queuedBy, group.merchant, -items.length);
    adjust(this.#running, group.merchant, 1);
    if (group.waiting.length > 0) this.#enqueue(group);
    else this.#groups.delete(group.name);
    return { items, done: () => adjust(this.#running, group.merchant, -1) };
  }

  /** How long the next in a group will wait, as it has moved, or as it has stood still since. */
  #waitIn(name: string, now: number): number {
    const group = this.#groups.get(name);
    if (group === undefined) return 0;
    const atOnce = this.#runningPerMerchantMax * limits.batchCommandsMax;
    return group.waiting.length * Math.max(group.pace, (now - group.movedAt) / atOnce);
  }

  #groupOf(name: string, merchant: string, now: number): Group<Item> {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, merchant, waiting: [], isQueued: false, movedAt: now, pace: 0 };
      this.#groups.set(name, group);
    }
    return group;
  }

  #enqueue(group: Group<Item>): void {
    if (group.isQueued) return;
    group.isQueued = true;
    this.#order.push(group);
  }
}

function notePace(group: Group<unknown>, moved: number): void {
  const now = performance.now();
  const pace = (now - group.movedAt) / moved;
  group.pace = group.pace === 0 ? pace : (group.pace + pace) / 2;
  group.movedAt = now;
}

/** 503 with a jittered Retry-After, so that the refused do not come back all at once. */
export function overloaded(cause?: unknown): Problem {
  const seconds = 1 + Math.floor(Math.random() * 3);
  return new Problem('service_unavailable', {
    headers: { 'Retry-After': String(seconds) },
    cause,
  });
}

function adjust(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
