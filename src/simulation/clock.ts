// The time that is simulated, what is to happen in it, and numbers drawn by a seed: two runs with
// one seed are equal, because what happens at one time happens in the order in which it was asked.

type Action = () => void;

/** A heap of what is to happen. Times are in milliseconds. */
export class SimulatedClock {
  #now = 0;
  #asked = 0;
  readonly #times: number[] = [];
  readonly #orders: number[] = [];
  readonly #actions: Action[] = [];

  readonly now = (): number => this.#now;

  after(ms: number, action: Action): void {
    this.#asked += 1;
    this.#rise(this.#times.length, this.#now + ms, this.#asked, action);
  }

  /** Lets all happen that is due by then. */
  runUntil(end: number): void {
    for (let [next] = this.#times; next !== undefined && next <= end; [next] = this.#times) {
      this.#now = next;
      this.#take()();
    }
    this.#now = end;
  }

  #rise(from: number, time: number, order: number, action: Action): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!this.#isBefore(time, order, above)) break;
      this.#copy(above, place);
      place = above;
    }
    this.#put(place, time, order, action);
  }

  #take(): Action {
    const [first] = this.#actions;
    const time = this.#times.pop();
    const order = this.#orders.pop();
    const action = this.#actions.pop();
    if (first === undefined || time === undefined || order === undefined || action === undefined) {
      throw new Error('nothing is to happen');
    }
    const length = this.#times.length;
    if (length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= length) break;
      if (
        below + 1 < length &&
        this.#isBefore(this.#timeAt(below + 1), this.#orderAt(below + 1), below)
      ) {
        below += 1;
      }
      if (this.#isBefore(time, order, below)) break;
      this.#copy(below, place);
      place = below;
    }
    this.#put(place, time, order, action);
    return first;
  }

  #timeAt(place: number): number {
    return this.#times[place] ?? Number.POSITIVE_INFINITY;
  }

  #orderAt(place: number): number {
    return this.#orders[place] ?? 0;
  }

  #isBefore(time: number, order: number, place: number): boolean {
    const other = this.#timeAt(place);
    return time < other || (time === other && order < this.#orderAt(place));
  }

  #copy(from: number, to: number): void {
    const action = this.#actions[from];
    if (action !== undefined) this.#put(to, this.#timeAt(from), this.#orderAt(from), action);
  }

  #put(place: number, time: number, order: number, action: Action): void {
    this.#times[place] = time;
    this.#orders[place] = order;
    this.#actions[place] = action;
  }
}

/** Numbers drawn by a seed. */
export class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1: mulberry32, by T. Ettinger, in the public domain. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From 0 to `end`, without `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** The time to the next of what comes at random, so many in a millisecond. */
  untilNext(perMs: number): number {
    return -Math.log(1 - this.next()) / perMs;
  }
}
