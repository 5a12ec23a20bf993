// Whether one register could have given these answers, had each request been done in one instant
// between its start and its end. The search is that of Wing and Gong (1993) with Lowe's memory of
// states already seen (2017). The register is a level: a quantity, and a version that counts its
// changes.

interface Timed {
  readonly start: number;
  /** Infinity: never answered; it may have been done, at any time or not at all. */
  readonly end: number;
  /** To name it in a report. */
  readonly name: string;
}

export type Operation = Timed &
  (
    | { readonly kind: 'set'; readonly quantity: string; readonly version: number | undefined }
    /** Refused: the quantity was this already. */
    | { readonly kind: 'no-change'; readonly quantity: string }
    | { readonly kind: 'read'; readonly quantity: string; readonly version: number }
  );

interface State {
  readonly quantity: string;
  readonly version: number;
}

const empty: State = { quantity: '0', version: 0 };
const never: Timed = { start: 0, end: 0, name: '' };

/** Why there is no order; undefined: there is one. */
export type Refutation = { readonly stuck: Operation; readonly state: State } | undefined;

export function refute(operations: readonly Operation[]): Refutation {
  const search = new Search(operations);
  return search.run();
}

/** A start or an end, in a list from which what is placed is lifted, and put back. */
interface Entry {
  readonly operation: Operation;
  readonly number: number;
  /** Of a start: its end; undefined of an end. */
  readonly end: Entry | undefined;
  next: Entry | undefined;
  previous: Entry | undefined;
}

interface Placed {
  readonly entry: Entry;
  readonly before: State;
}

class Search {
  readonly #head: Entry;
  readonly #marks: readonly (readonly [number, number])[];
  readonly #seen = new Set<string>();
  readonly #placed: Placed[] = [];
  /** A name of the set of those placed: with 64 bits, two sets of one run share none. */
  #mark: [number, number] = [0, 0];
  #state = empty;
  #deepest: { count: number; stuck: Operation; state: State } | undefined;

  constructor(operations: readonly Operation[]) {
    this.#head = listOf(operations);
    let seed = 1;
    const word = () => {
      seed = (Math.imul(seed, 0x5bd1e995) + 0x3c6ef35f) | 0;
      return Math.imul(seed ^ (seed >>> 15), 0x27d4eb2f);
    };
    this.#marks = operations.map(() => [word(), word()]);
  }

  run(): Refutation {
    let entry = this.#head.next;
    while (this.#isUnfinished()) {
      // Behind an end nothing may be placed that is not yet: what ended was done before.
      if (entry === undefined || entry.end === undefined) {
        this.#note(entry);
        entry = this.#back();
        if (entry === undefined) return this.#deepest;
      } else {
        entry = this.#place(entry) ? this.#head.next : entry.next;
      }
    }
    return undefined;
  }

  /** Whether something is left that was answered. */
  #isUnfinished(): boolean {
    for (let entry = this.#head.next; entry !== undefined; entry = entry.next) {
      if (entry.end === undefined || entry.operation.end !== Infinity) return true;
    }
    return false;
  }

  #place(entry: Entry): boolean {
    const after = step(this.#state, entry.operation);
    if (after === undefined) return false;
    const [high = 0, low = 0] = this.#marks[entry.number] ?? [];
    const mark: [number, number] = [this.#mark[0] ^ high, this.#mark[1] ^ low];
    const name = `${mark[0]} ${mark[1]} ${after.version} ${after.quantity}`;
    if (this.#seen.has(name)) return false;
    this.#seen.add(name);
    this.#placed.push({ entry, before: this.#state });
    this.#state = after;
    this.#mark = mark;
    lift(entry);
    return true;
  }

  /** Takes the last one back. @returns what to try after it; undefined: nothing is left to try. */
  #back(): Entry | undefined {
    for (let last = this.#placed.pop(); last !== undefined; last = this.#placed.pop()) {
      const { entry, before } = last;
      putBack(entry);
      const [high = 0, low = 0] = this.#marks[entry.number] ?? [];
      this.#mark = [this.#mark[0] ^ high, this.#mark[1] ^ low];
      this.#state = before;
      if (entry.next !== undefined) return entry.next;
    }
    return undefined;
  }

  #note(entry: Entry | undefined): void {
    const count = this.#placed.length;
    if (entry === undefined || count < (this.#deepest?.count ?? 0)) return;
    this.#deepest = { count, stuck: entry.operation, state: this.#state };
  }
}

function step(state: State, operation: Operation): State | undefined {
  const { quantity } = operation;
  if (operation.kind === 'set') {
    const version = state.version + 1;
    const isNext = operation.version === undefined || operation.version === version;
    return isNext && quantity !== state.quantity ? { quantity, version } : undefined;
  }
  if (quantity !== state.quantity) return undefined;
  return operation.kind === 'no-change' || operation.version === state.version ? state : undefined;
}

/** By time; at the same instant starts come first, for then the two may overlap. */
function listOf(operations: readonly Operation[]): Entry {
  const entries = operations.flatMap((operation, number): Entry[] => {
    const loose = { operation, number, next: undefined, previous: undefined };
    const end: Entry = { ...loose, end: undefined };
    return operation.end === Infinity ? [{ ...loose, end }] : [{ ...loose, end }, end];
  });
  const timeOf = ({ operation, end }: Entry) =>
    end === undefined ? operation.end : operation.start;
  entries.sort((a, b) => timeOf(a) - timeOf(b) || Number(!a.end) - Number(!b.end));
  const loose = { number: -1, end: undefined, next: undefined, previous: undefined };
  const head: Entry = { operation: { kind: 'read', ...never, ...empty }, ...loose };
  let last = head;
  for (const entry of entries) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return head;
}

function lift(entry: Entry): void {
  unlink(entry);
  if (entry.operation.end !== Infinity && entry.end !== undefined) unlink(entry.end);
}

function putBack(entry: Entry): void {
  if (entry.operation.end !== Infinity && entry.end !== undefined) link(entry.end);
  link(entry);
}

function unlink(entry: Entry): void {
  if (entry.previous !== undefined) entry.previous.next = entry.next;
  if (entry.next !== undefined) entry.next.previous = entry.previous;
}

function link(entry: Entry): void {
  if (entry.previous !== undefined) entry.previous.next = entry;
  if (entry.next !== undefined) entry.next.previous = entry;
}
