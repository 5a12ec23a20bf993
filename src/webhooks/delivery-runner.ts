// One webhook that this process has: which events it is sent next, what became of them, and how far
// it has come. All that must survive is one position and the events that wait for another attempt:
// whoever takes it over sends what was under way again. It talks to nothing but through its host.

import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Event } from '../events/pages.ts';
import type { Attempt, Failure, PauseReason } from './contract.ts';
import type { CallCheck, Host } from './delivery-host.ts';
import { waitAfter } from './delivery-schedule.ts';
import type { ClaimRow, Progress } from './delivery-store.ts';
import type { WebhookMaker } from './reach.ts';
import type { CallOutcome } from './send.ts';

interface UnderWay {
  readonly isRetry: boolean;
  /** How many new events began before it. */
  readonly number: number;
}

export class Runner {
  readonly merchant: MerchantId;
  readonly id: string;
  readonly maker: WebhookMaker;
  readonly epoch: number;
  /** The last position that was heard of. */
  #newest: number;
  /** Chosen up to here. */
  #through: number;
  /** Chosen, and not yet begun. */
  #queue: readonly Event[] = [];
  #queuedAt = 0;
  #reach: string | undefined;
  #verdict: Extract<CallCheck, { kind: 'go' }> | undefined;
  readonly #underWay = new Map<number, UnderWay>();
  #begun = 0;
  readonly #failures: Map<number, Failure>;
  #attempts: Attempt[] = [];
  #failingSince: string | null;
  #lastStatus: number | null;
  /** How many calls may be under way: more with each success, half with each failure. */
  #window: number = limits.webhookCallsAtFirst;
  #isRunning = false;
  #isAgain = false;
  #turnAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;
  #pause: PauseReason | undefined;
  #changes = 0;
  #savedChanges = 0;
  #savedFailures: string;
  /** By `performance.now()`, from before it was sent: the lease is not over before. */
  savedAt: number;
  /** Calls that take long. */
  long = 0;
  readonly #host: Host<Runner>;

  constructor(host: Host<Runner>, row: ClaimRow, last: number, savedAt: number) {
    this.#host = host;
    this.merchant = row.merchant_id;
    this.id = row.id;
    this.maker = {
      merchant: row.merchant_id,
      credential_id: row.credential_id,
      token_scopes: row.token_scopes,
    };
    this.epoch = row.epoch;
    this.#newest = last;
    this.#through = row.position;
    this.#failures = new Map(row.failures.map((one) => [Number(one.position), one]));
    this.#savedFailures = JSON.stringify(row.failures);
    this.#failingSince = row.failing_since;
    this.#lastStatus = row.last_status;
    this.savedAt = savedAt;
  }

  /** Whether it is likely to hold what it is given for long. */
  get isDoubtful(): boolean {
    return this.long > 0 || this.#failingSince !== null;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Why it is to be paused. */
  get pauseReason(): PauseReason | undefined {
    return this.#pause;
  }

  /** Whether something is being done, or to be saved: it must not be given up. */
  get isBusy(): boolean {
    return (
      this.#isRunning ||
      this.#underWay.size > 0 ||
      this.#queue.length > 0 ||
      this.isUnsaved ||
      this.#pause !== undefined
    );
  }

  get isUnsaved(): boolean {
    return this.#changes > this.#savedChanges;
  }

  /** Up to here everything was sent, or waits for another attempt. */
  get #position(): number {
    const [queued] = this.#queue;
    let position = queued === undefined ? this.#through : Number(queued.position) - 1;
    for (const [one, { isRetry }] of this.#underWay) {
      if (!isRetry && one <= position) position = one - 1;
    }
    return position;
  }

  /** Something was committed up to here. */
  note(last: number): void {
    this.#newest = Math.max(this.#newest, last);
    this.run();
  }

  /** Begins what may be begun. */
  run(): void {
    this.#isAgain = true;
    if (this.#isRunning || this.#isEnded) return;
    this.#isRunning = true;
    void this.#run().finally(() => {
      this.#isRunning = false;
    });
  }

  /** Begins nothing any more. What is under way is no longer heard of when `isLost`. */
  end({ isLost }: { isLost: boolean }): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    if (!isLost) return;
    this.#pause = undefined;
    this.#underWay.clear();
    this.#queue = [];
    this.#savedChanges = this.#changes;
  }

  pause(reason: PauseReason): void {
    if (this.#isEnded || this.#pause !== undefined) return;
    this.#pause = reason;
    this.#host.pause(this);
  }

  /** What is to be saved, and what notes that it was. */
  progress(isReleased = false): { readonly row: Progress; saved(): void } {
    const changes = this.#changes;
    const attempts = this.#attempts.slice();
    const failures = this.failures;
    const text = JSON.stringify(failures);
    const row = {
      merchant_id: this.merchant,
      id: this.id,
      epoch: this.epoch,
      position: this.#position,
      failures: text === this.#savedFailures ? null : failures,
      attempts,
      failing_since: this.#failingSince,
      last_status: this.#lastStatus,
      is_released: isReleased,
    };
    const saved = () => {
      this.#savedChanges = Math.max(this.#savedChanges, changes);
      this.#savedFailures = text;
      const known = new Set(attempts);
      this.#attempts = this.#attempts.filter((one) => !known.has(one));
    };
    return { row, saved };
  }

  get failures(): Failure[] {
    return [...this.#failures.values()].sort((a, b) => Number(a.position) - Number(b.position));
  }

  async #run(): Promise<void> {
    try {
      while (this.#isAgain && !this.#isIdle()) {
        this.#isAgain = false;
        await this.#turn();
      }
    } catch (error) {
      this.#host.fail(this, error);
    }
  }

  #isIdle(): boolean {
    return this.#isEnded || this.#pause !== undefined;
  }

  async #turn(): Promise<void> {
    const due = this.#due();
    const isNew = this.#mayBeginNew() && (this.#queue.length > 0 || this.#newest > this.#through);
    if ((due.length === 0 && !isNew) || this.#free() <= 0) return;
    if (this.#isTooSoon() || !this.#host.mayCall(this)) return;
    this.#turnAt = performance.now();
    const verdict = this.#verdict ?? (await this.#check());
    if (verdict === undefined) return;
    if (due.length > 0) await this.#retry(verdict, due.slice(0, this.#free()));
    else await this.#beginNew(verdict);
    this.#isAgain = true;
  }

  /**
   * Each turn asks the database. So calls that end one after the other are followed by several
   * together.
   */
  #isTooSoon(): boolean {
    if (this.#underWay.size === 0 || this.#free() >= this.#window / 4) return false;
    const wait = this.#turnAt + limits.webhookTurnInterval - performance.now();
    if (wait <= 0) return false;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.run();
    }, wait);
    return true;
  }

  /** How many calls may begin. */
  #free(): number {
    return this.#window - this.#underWay.size;
  }

  /**
   * What is to be tried again. While as many wait as may, only the first of them is: one attempt
   * for each wait, until one succeeds.
   */
  #due(): number[] {
    const now = this.#host.now();
    const waiting = this.failures;
    const isFull = waiting.length >= limits.webhookFailuresMax;
    return (isFull ? waiting.slice(0, 1) : waiting)
      .filter(({ next_at: next }) => next === null || Date.parse(next) <= now)
      .map(({ position }) => Number(position))
      .filter((position) => !this.#underWay.has(position));
  }

  /** Whether each call may fail, and what is sent twice after a crash stays little. */
  #mayBeginNew(): boolean {
    let isNew = 0;
    let oldest = this.#begun;
    for (const { isRetry, number } of this.#underWay.values()) {
      if (isRetry) continue;
      isNew += 1;
      oldest = Math.min(oldest, number);
    }
    return (
      this.#failures.size + isNew < limits.webhookFailuresMax &&
      this.#begun - oldest < limits.webhookEventsAhead
    );
  }

  /** Undefined: nothing is to be done. */
  async #check(): Promise<Extract<CallCheck, { kind: 'go' }> | undefined> {
    const verdict = await this.#host.check(this);
    if (this.#isIdle()) return undefined;
    if (verdict.kind === 'go') {
      if (this.#reach !== undefined && this.#reach !== verdict.reach) this.#unchoose();
      this.#reach = verdict.reach;
      this.#verdict = verdict;
      return verdict;
    }
    if (verdict.kind === 'pause') this.pause(verdict.reason);
    else this.#host.lose(this);
    return undefined;
  }

  /** What is chosen, but not begun, is read again. */
  #unchoose(): void {
    const [first] = this.#queue;
    if (first !== undefined) this.#through = Number(first.position) - 1;
    this.#queue = [];
  }

  async #beginNew(found: Extract<CallCheck, { kind: 'go' }>): Promise<void> {
    // What a record is when its event is read may be another thing now: it may be erased.
    if (performance.now() - this.#queuedAt > limits.webhookEventAge) this.#unchoose();
    if (this.#queue.length === 0) {
      const queuedAt = performance.now();
      const page = await found.find(this.#through, limits.webhookEventsChosen);
      if (this.#isIdle()) return;
      this.#queuedAt = queuedAt;
      this.#queue = page.events;
      const isFurther = page.through > this.#through;
      if (isFurther) this.#changes += 1;
      // Should what was heard of not be there, it is not looked for again and again.
      this.#newest = isFurther ? Math.max(this.#newest, page.last) : page.last;
      this.#through = page.through;
      if (this.#queue.length === 0) return;
    }
    const { reach } = found;
    const verdict = await this.#check();
    // Otherwise they were read by what was allowed before.
    if (verdict?.reach !== reach) return;
    while (this.#free() > 0 && this.#mayBeginNew() && this.#queue.length > 0) {
      if (!this.#host.mayCall(this)) return;
      const [event, ...rest] = this.#queue;
      if (event === undefined) return;
      this.#queue = rest;
      this.#call(verdict, event, false);
    }
  }

  async #retry(
    found: Extract<CallCheck, { kind: 'go' }>,
    positions: readonly number[],
  ): Promise<void> {
    const pages = await Promise.all(positions.map((position) => found.find(position - 1, 1)));
    const { reach } = found;
    const verdict = await this.#check();
    if (verdict?.reach !== reach) return;
    for (const [index, position] of positions.entries()) {
      const event = pages[index]?.events.find((one) => Number(one.position) === position);
      if (event === undefined) {
        // It may not be read any more.
        this.#failures.delete(position);
        this.#changes += 1;
      } else {
        if (!this.#host.mayCall(this)) return;
        this.#call(verdict, event, true);
      }
    }
  }

  #call(verdict: Extract<CallCheck, { kind: 'go' }>, event: Event, isRetry: boolean): void {
    const position = Number(event.position);
    this.#underWay.set(position, { isRetry, number: this.#begun });
    if (!isRetry) this.#begun += 1;
    const at = this.#host.now();
    const ended = this.#host.begin(this);
    void verdict.call(event).then((outcome) => {
      ended(outcome);
      this.#settle(event, outcome, at);
    });
  }

  #settle(event: Event, outcome: CallOutcome, at: number): void {
    const position = Number(event.position);
    // One that this process has ended itself stays under way: it is sent again.
    if (!this.#underWay.has(position) || outcome.failure === 'stopped') return;
    this.#underWay.delete(position);
    this.#changes += 1;
    const { status, failure, milliseconds } = outcome;
    const time = new Date(at).toISOString();
    const what = { event_id: event.id, position: event.position, status, failure, at: time };
    this.#attempts = [...this.#attempts, { ...what, milliseconds }].slice(
      -limits.webhookAttemptsKept,
    );
    this.#lastStatus = status;
    if (failure === null) {
      this.#failures.delete(position);
      this.#failingSince = null;
      this.#window = Math.min(this.#window + 1, limits.webhookCallsMax);
    } else {
      const tries = (this.#failures.get(position)?.tries ?? 0) + 1;
      const wait = waitAfter(tries);
      const next = wait === undefined ? null : new Date(this.#host.now() + wait).toISOString();
      this.#failures.set(position, { ...what, tries, next_at: next });
      this.#failingSince ??= time;
      this.#window = Math.max(1, Math.floor(this.#window / 2));
      if (status === 410) this.pause('receiver_gone');
      else if (wait === undefined) this.pause('retries_ended');
    }
    this.run();
  }
}
