// What is waited for: processors, a disk, a number of connections, locks. Each counts how long it
// was in use.

import type { SimulatedClock } from './clock.ts';

type Then = () => void;

/** First in, first out, without moving what waits. */
class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = Math.min(this.#head + 1, this.#items.length);
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/** Work takes turns of this length (ms), as an operating system deals them out. */
const turn = 1;

interface Job {
  left: number;
  readonly done: Then;
}

/** Processors of one machine. */
export class Processors {
  readonly #clock: SimulatedClock;
  readonly #waiting = new Fifo<Job>();
  readonly count: number;
  #idle: number;
  #busyMs = 0;

  constructor(clock: SimulatedClock, count: number) {
    this.#clock = clock;
    this.count = count;
    this.#idle = count;
  }

  /** Of all of them together. */
  get busyMs(): number {
    return this.#busyMs;
  }

  run(ms: number, done: Then): void {
    this.#waiting.push({ left: ms, done });
    this.#start();
  }

  #start(): void {
    while (this.#idle > 0) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      this.#idle -= 1;
      const part = Math.min(job.left, turn);
      this.#clock.after(part, () => {
        this.#idle += 1;
        this.#busyMs += part;
        job.left -= part;
        if (job.left > 0) this.#waiting.push(job);
        this.#start();
        if (job.left <= 0) job.done();
      });
    }
  }
}

/** One thread: it does one thing after the other, on the processors of its machine. */
export class Thread {
  readonly #clock: SimulatedClock;
  readonly #processors: Processors;
  readonly #waiting = new Fifo<Job>();
  #isBusy = false;
  #since = 0;
  #busyMs = 0;

  constructor(clock: SimulatedClock, processors: Processors) {
    this.#clock = clock;
    this.#processors = processors;
  }

  /** Its waits for a processor count: then it has no time for anything else either. */
  get busyMs(): number {
    return this.#busyMs;
  }

  run(ms: number, done: Then): void {
    this.#waiting.push({ left: ms, done });
    if (!this.#isBusy) this.#next();
  }

  #next(): void {
    let job = this.#waiting.shift();
    this.#isBusy = true;
    // What takes no time only waited for its turn.
    for (; job?.left === 0; job = this.#waiting.shift()) job.done();
    this.#isBusy = job !== undefined;
    if (job === undefined) return;
    this.#since = this.#clock.now();
    this.#processors.run(job.left, () => {
      this.#busyMs += this.#clock.now() - this.#since;
      job.done();
      this.#next();
    });
  }
}

/** One flush at a time; what is to be committed meanwhile shares the next one. */
export class Disk {
  readonly #clock: SimulatedClock;
  readonly #flushMs: number;
  #waiting: Then[] = [];
  #isBusy = false;
  #busyMs = 0;
  #flushes = 0;

  constructor(clock: SimulatedClock, flushMs: number) {
    this.#clock = clock;
    this.#flushMs = flushMs;
  }

  get busyMs(): number {
    return this.#busyMs;
  }

  get flushes(): number {
    return this.#flushes;
  }

  commit(done: Then): void {
    this.#waiting.push(done);
    if (!this.#isBusy) this.#flush();
  }

  #flush(): void {
    const shared = this.#waiting;
    this.#isBusy = shared.length > 0;
    if (!this.#isBusy) return;
    this.#waiting = [];
    this.#clock.after(this.#flushMs, () => {
      this.#flushes += 1;
      this.#busyMs += this.#flushMs;
      this.#flush();
      for (const done of shared) done();
    });
  }
}

/** So many at once, such as connections. */
export class Places {
  readonly #clock: SimulatedClock;
  readonly count: number;
  readonly #waiting = new Fifo<Then>();
  #free: number;
  #since = 0;
  #usedMs = 0;

  constructor(clock: SimulatedClock, count: number) {
    this.#clock = clock;
    this.count = count;
    this.#free = count;
  }

  /** The sum over all of them. */
  get usedMs(): number {
    this.#note();
    return this.#usedMs;
  }

  take(then: Then): void {
    if (this.#free === 0) {
      this.#waiting.push(then);
      return;
    }
    this.#note();
    this.#free -= 1;
    then();
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#note();
    this.#free += 1;
  }

  #note(): void {
    const now = this.#clock.now();
    this.#usedMs += (this.count - this.#free) * (now - this.#since);
    this.#since = now;
  }
}

interface Lock {
  readonly waiting: Fifo<Then>;
  readonly since: number;
}

/** One lock for each merchant: that of its journal. */
export class Locks {
  readonly #clock: SimulatedClock;
  readonly #held = new Map<number, Lock>();
  readonly #heldMs = new Map<number, number>();

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  /** How long a merchant's was held. */
  heldMs(merchant: number): number {
    const since = this.#held.get(merchant)?.since ?? this.#clock.now();
    return (this.#heldMs.get(merchant) ?? 0) + this.#clock.now() - since;
  }

  /** In one order, so that none waits in a circle. */
  takeAll(merchants: readonly number[], then: Then): void {
    const sorted = [...merchants].sort((a, b) => a - b);
    const takeFrom = (place: number): void => {
      const merchant = sorted[place];
      if (merchant === undefined) then();
      else this.#take(merchant, () => takeFrom(place + 1));
    };
    takeFrom(0);
  }

  leaveAll(merchants: readonly number[]): void {
    for (const merchant of merchants) this.#leave(merchant);
  }

  #take(merchant: number, then: Then): void {
    const lock = this.#held.get(merchant);
    if (lock !== undefined) {
      lock.waiting.push(then);
      return;
    }
    this.#held.set(merchant, { waiting: new Fifo(), since: this.#clock.now() });
    then();
  }

  #leave(merchant: number): void {
    const lock = this.#held.get(merchant);
    if (lock === undefined) throw new Error('nobody holds it');
    const next = lock.waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    const held = this.#clock.now() - lock.since;
    this.#heldMs.set(merchant, (this.#heldMs.get(merchant) ?? 0) + held);
    this.#held.delete(merchant);
  }
}
