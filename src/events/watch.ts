// Those who wait for events. All of a node that wait for one merchant share one look at what has
// been committed since: at once after a commit of this node, or when the last look is old enough.
// Commits of other nodes are found by one statement for all merchants that somebody waits for. No
// connection to the database is held meanwhile, and whoever is not concerned costs none.

import type { Happening } from '../contract/endpoint.ts';
import type { Page } from '../contract/page.ts';
import { limits } from '../core/limits.ts';
import type { Reader } from '../core/statement.ts';
import { type HappeningRow, readHappenings, readLastPositions } from './store.ts';

/**
 * What ends a wait, the later the stronger: the caller is to be judged again, something happened,
 * there is no more time, nobody is there any more.
 */
const reasons = ['judge', 'news', 'over', 'gone'] as const;
type Reason = (typeof reasons)[number];

/** One request that may wait. */
export interface Follower<Item> {
  readonly merchant: string;
  /** By `performance.now()`. */
  readonly until: number;
  /** Reads a page: behind its own start, or where the one before it ended. */
  read(after: string | undefined): Promise<Page<Item>>;
  /** Reads the credential again. @throws Problem when it may not go on. */
  judge(): Promise<void>;
  mayShow(happening: Happening): boolean;
  /** Calls back when the client has hung up. Returns what ends that. */
  onHangUp(callback: () => void): () => void;
}

class Waiter {
  readonly mayShow: (happening: Happening) => boolean;
  /** Judged up to here; Infinity before its first page. */
  through = Number.POSITIVE_INFINITY;
  #reason: Reason | undefined;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(mayShow: (happening: Happening) => boolean) {
    this.mayShow = mayShow;
  }

  /** What is said while nobody listens is kept, the strongest of it. */
  say(reason: Reason): void {
    const isStronger = reasons.indexOf(reason) > reasons.indexOf(this.#reason ?? 'judge');
    if (this.#reason === undefined || isStronger) this.#reason = reason;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#failure = error;
    this.say('gone');
  }

  async next(): Promise<Reason> {
    if (this.#reason === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    if (this.#failure !== undefined) throw this.#failure;
    const reason = this.#reason ?? 'judge';
    // There is no more time for what comes next either.
    if (reason === 'judge' || reason === 'news') this.#reason = undefined;
    return reason;
  }
}

/** A merchant that somebody waits for. */
interface Watched {
  readonly merchant: string;
  readonly waiters: Set<Waiter>;
  /** The last position that was heard of. */
  newest: number;
  /** Up to where looks have judged; undefined before the first page of the first of them. */
  known: number | undefined;
  lookedAt: number;
  isLooking: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class Watch {
  readonly #readerOf: (merchant: string) => Reader;
  readonly #reader: Reader;
  readonly #watched = new Map<string, Watched>();
  #poll: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param reader for what is asked for all merchants. */
  constructor(readerOf: (merchant: string) => Reader, reader: Reader) {
    this.#readerOf = readerOf;
    this.#reader = reader;
  }

  /** How many requests wait: those that have found nothing. */
  get waiting(): number {
    const waiters = [...this.#watched.values()].flatMap((watched) => [...watched.waiters]);
    return waiters.filter(({ through }) => through < Number.POSITIVE_INFINITY).length;
  }

  /** A position was committed, by this node or another. */
  note(merchant: string, position: number): void {
    const watched = this.#watched.get(merchant);
    if (watched === undefined || position <= watched.newest) return;
    watched.newest = position;
    this.#schedule(watched);
  }

  /** Nobody waits any more, from now on. */
  end(): void {
    this.#isOver = true;
    for (const { waiters } of this.#watched.values()) for (const one of waiters) one.say('over');
  }

  /** The first page that shows something, or ends before the end of the list, or the last. */
  async follow<Item>(follower: Follower<Item>): Promise<Page<Item>> {
    const waiter = new Waiter((happening) => follower.mayShow(happening));
    const watched = this.#enter(follower.merchant, waiter);
    const over = () => waiter.say('over');
    const timer = setTimeout(over, follower.until - performance.now());
    const settle = follower.onHangUp(() => waiter.say('gone'));
    if (this.#isOver) over();
    try {
      let page = await follower.read(undefined);
      for (let reason: Reason = 'news'; reason !== 'over' && page.end && isEmpty(page); ) {
        if (reason === 'news') this.#await(watched, waiter, page.end.position);
        reason = await waiter.next();
        if (reason === 'gone') return page;
        await follower.judge();
        if (reason !== 'judge') page = await follower.read(page.end.key);
      }
      return page;
    } finally {
      clearTimeout(timer);
      settle();
      this.#leave(watched, waiter);
    }
  }

  /** Before its first page is read: what is committed meanwhile is heard of. */
  #enter(merchant: string, waiter: Waiter): Watched {
    let watched = this.#watched.get(merchant);
    if (watched === undefined) {
      watched = {
        ...{ merchant, waiters: new Set<Waiter>(), newest: 0, known: undefined },
        ...{ lookedAt: Number.NEGATIVE_INFINITY, isLooking: false, timer: undefined },
      };
      this.#watched.set(merchant, watched);
    }
    watched.waiters.add(waiter);
    this.#schedulePoll();
    return watched;
  }

  #leave(watched: Watched, waiter: Waiter): void {
    watched.waiters.delete(waiter);
    if (watched.waiters.size > 0) return;
    clearTimeout(watched.timer);
    this.#watched.delete(watched.merchant);
    if (this.#watched.size > 0) return;
    clearTimeout(this.#poll);
    this.#poll = undefined;
  }

  /** Its page has judged all up to here. Looks that passed by before its first page knew it not. */
  #await(watched: Watched, waiter: Waiter, through: number): void {
    const isFirst = waiter.through === Number.POSITIVE_INFINITY;
    waiter.through = isFirst ? through : Math.max(waiter.through, through);
    watched.known ??= through;
    if (isFirst && through < watched.known) waiter.say('news');
    this.#schedule(watched);
  }

  #schedule(watched: Watched): void {
    const { newest, known, lookedAt, isLooking, timer } = watched;
    if (known === undefined || newest <= known || isLooking || timer !== undefined) return;
    const wait = lookedAt + limits.eventLookInterval - performance.now();
    if (wait <= 0) void this.#look(watched, known);
    else {
      watched.timer = setTimeout(() => {
        watched.timer = undefined;
        this.#schedule(watched);
      }, wait);
    }
  }

  async #look(watched: Watched, known: number): Promise<void> {
    watched.isLooking = true;
    watched.lookedAt = performance.now();
    try {
      const rows = await this.#readerOf(watched.merchant).query(
        readHappenings(watched.merchant, known),
      );
      const happenings = happeningsOf(rows);
      watched.known = happenings.at(-1)?.position ?? known;
      // What was heard of can be seen. Should it not be, it is not looked for again and again.
      if (happenings.length === 0) watched.newest = known;
      for (const waiter of watched.waiters) judge(waiter, happenings, watched.known);
    } catch (error) {
      for (const waiter of watched.waiters) waiter.fail(error);
    }
    watched.isLooking = false;
    if (watched.waiters.size > 0) this.#schedule(watched);
  }

  #schedulePoll(): void {
    this.#poll ??= setTimeout(() => {
      void this.#askAll().finally(() => {
        this.#poll = undefined;
        if (this.#watched.size > 0) this.#schedulePoll();
      });
    }, limits.eventPollInterval);
  }

  async #askAll(): Promise<void> {
    const merchants = [...this.#watched.keys()];
    try {
      const ends = await this.#reader.query(readLastPositions(merchants));
      for (const { merchant_id, last } of ends) this.note(merchant_id, last);
    } catch {
      // The database is away: whoever waits is told so when his credential is read.
    }
    for (const { waiters } of this.#watched.values()) for (const one of waiters) one.say('judge');
  }
}

const isEmpty = ({ items, next }: Page<unknown>) => items.length === 0 && next === undefined;

function judge(waiter: Waiter, happenings: readonly Happening[], known: number): void {
  const isConcerned = happenings.some(
    (one) => one.position > waiter.through && waiter.mayShow(one),
  );
  if (isConcerned) waiter.say('news');
  if (waiter.through < known) waiter.through = known;
}

function happeningsOf(rows: readonly HappeningRow[]): Happening[] {
  const byPosition = new Map<number, Happening & { places: Happening['places'][number][] }>();
  for (const { position, type, created, resource_id, ...row } of rows) {
    const { location_id, product_id, is_low } = row;
    const one = byPosition.get(position) ?? {
      position,
      type,
      created,
      resourceId: resource_id,
      places: [],
    };
    byPosition.set(position, one);
    if (location_id !== null) {
      one.places.push({ location_id, product_id, is_low: is_low === true });
    }
  }
  return [...byPosition.values()];
}
