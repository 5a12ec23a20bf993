// Delivery: what one process does to call the receivers of all merchants. It takes webhooks that
// something is to be sent to and that no other process has, and gives them up when they are idle.
// What is true when a call begins was read after its event was chosen. No connection to the
// database is held while a receiver is called.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { commitAll } from '../access/transact.ts';
import { limits } from '../core/limits.ts';
import type { Reader, Statement, Writer } from '../core/statement.ts';
import type { PauseReason } from './contract.ts';
import { Checks, type CheckTools } from './delivery-check.ts';
import type { Host } from './delivery-host.ts';
import { Runner } from './delivery-runner.ts';
import type { Slots } from './delivery-slots.ts';
import * as store from './delivery-store.ts';

export interface DeliveryTools extends CheckTools {
  readonly writer: Writer;
  /** What each server of the database says of itself. */
  readonly servers: Reader;
  /** Of all cells together. */
  readonly slots: Slots;
}

/** Who is told what becomes of it. */
export interface DeliveryWatcher {
  onCall?(outcome: string): void;
  onPause?(webhook: {
    readonly merchant: string;
    readonly webhook: string;
    readonly reason: PauseReason;
  }): void;
  onError?(
    error: unknown,
    webhook?: { readonly merchant?: string; readonly webhook?: string },
  ): void;
}

export interface DeliveryOptions extends DeliveryWatcher {
  /** Now, in milliseconds since 1970: what waits for another attempt waits by it. */
  readonly now?: () => number;
}

export class Delivery {
  readonly #tools: DeliveryTools;
  readonly #options: DeliveryOptions;
  readonly #holder = randomUUID();
  readonly #checks: Checks;
  /** By merchant and ID. */
  readonly #runners = new Map<string, Map<string, Runner>>();
  /** How many active webhooks merchants have, as of the last round. */
  #active: ReadonlyMap<string, number> = new Map();
  /** Merchants of which something was committed here: their webhooks are to be looked at. */
  readonly #noted = new Set<string>();
  /** Merchants of which there is nothing to take before the next round. */
  readonly #quiet = new Set<string>();
  #isLooking = false;
  readonly #slots: Slots;
  readonly #host: Host<Runner>;
  #rounds: Promise<void> | undefined;
  readonly #stopped = new AbortController();
  #saving: Promise<void> = Promise.resolve();

  constructor(tools: DeliveryTools, options: DeliveryOptions = {}) {
    this.#tools = tools;
    this.#options = options;
    this.#checks = new Checks(tools, options.now ?? Date.now);
    this.#slots = tools.slots;
    this.#host = {
      now: options.now ?? Date.now,
      check: (runner) => this.#checks.ask(runner),
      mayCall: (runner) => !this.#isStopped && this.#slots.mayTake(runner),
      begin: (runner) => {
        const free = this.#slots.take(runner);
        return (outcome) => {
          free();
          options.onCall?.(outcome.failure ?? 'succeeded');
        };
      },
      pause: (runner) => void this.#pause(runner),
      lose: (runner) => this.#drop(runner),
      fail: (runner, error) => this.#failed(error, runner),
    };
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  start(): void {
    this.#rounds ??= this.#goRound();
  }

  /** A position was committed by this process. */
  note(merchant: string, position: number): void {
    const active = this.#active.get(merchant);
    if (active === undefined) return;
    const runners = this.#runners.get(merchant);
    for (const runner of runners?.values() ?? []) runner.note(position);
    if ((runners?.size ?? 0) >= active || this.#quiet.has(merchant)) return;
    this.#noted.add(merchant);
    void this.#look();
  }

  /**
   * Begins no call from now on, gives those under way so long (ms), ends the others, and gives up
   * all webhooks: what was under way is sent again by whoever takes them.
   */
  async stop(patience: number): Promise<void> {
    this.#stopped.abort();
    for (const runner of this.#all()) runner.end({ isLost: false });
    const end = performance.now() + patience;
    while (this.#slots.taken > 0 && performance.now() < end) {
      await sleep(limits.webhookStopLook, undefined, { ref: false });
    }
    await this.#tools.sender.close();
    await this.#rounds;
    await this.#save([...this.#all()], true);
  }

  /** The state of all webhooks, on all nodes. */
  async standing(): Promise<store.Standing> {
    const [standing] = await this.#tools.reader.query(store.findStanding());
    if (standing === undefined) throw new Error('the database said nothing');
    return standing;
  }

  *#all(): Iterable<Runner> {
    for (const runners of this.#runners.values()) yield* runners.values();
  }

  /** In the background, until it is stopped. */
  async #goRound(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#round();
      } catch (error) {
        this.#failed(error);
      }
      await sleep(limits.webhookPollInterval, undefined, {
        signal: this.#stopped.signal,
        ref: false,
      }).catch(() => undefined);
    }
  }

  async #round(): Promise<void> {
    this.#quiet.clear();
    const { reader } = this.#tools;
    const active = await reader.query(store.countActive());
    this.#active = new Map(active.map((row) => [row.merchant_id, row.active]));
    if (active.length > 0) {
      await this.#take(
        await reader.query(store.findWork(this.#holder, new Date(this.#host.now()))),
      );
    }
    await this.#keep();
    // What waits for another attempt may be due.
    for (const runner of this.#all()) runner.run();
  }

  /** Looks at merchants of which something was committed: one look at a time. */
  async #look(): Promise<void> {
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    try {
      while (this.#noted.size > 0 && !this.#isStopped) {
        const merchants = [...this.#noted];
        this.#noted.clear();
        const now = new Date(this.#host.now());
        const rows = await this.#tools.reader.query(store.findWorkOf(this.#holder, now, merchants));
        const found = new Set<string>(rows.map((row) => row.merchant_id));
        for (const one of merchants) if (!found.has(one)) this.#quiet.add(one);
        await this.#take(rows);
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isLooking = false;
    }
  }

  /** Wakes those that are here, and claims the others. */
  async #take(rows: readonly store.WorkRow[]): Promise<void> {
    const wanted: store.WorkRow[] = [];
    for (const row of rows) {
      const runner = this.#runners.get(row.merchant_id)?.get(row.id);
      if (runner?.epoch === row.epoch) {
        runner.note(row.last);
        continue;
      }
      // Somebody has changed it, and it is free.
      if (runner !== undefined && runner.epoch < row.epoch) this.#drop(runner);
      if (runner === undefined || runner.epoch < row.epoch) wanted.push(row);
    }
    for (let from = 0; from < wanted.length; from += limits.webhooksPerClaim) {
      if (this.#isStopped) return;
      await this.#claim(wanted.slice(from, from + limits.webhooksPerClaim));
    }
  }

  async #claim(wanted: readonly store.WorkRow[]): Promise<void> {
    const sentAt = performance.now();
    const last = new Map(wanted.map((row) => [keyOf(row), row.last]));
    const [identity, claimed] = await commitAll(this.#tools.writer, [
      store.findIdentity,
      store.claim(this.#holder, wanted),
    ]);
    const [{ server = '' } = {}] = identity as { server?: string }[];
    const rows = claimed as store.ClaimRow[];
    const moved = await this.#movedHere(rows, server);
    for (const row of rows) {
      const runner = new Runner(this.#host, row, last.get(keyOf(row)) ?? 0, sentAt);
      const earlier = this.#runners.get(row.merchant_id)?.get(row.id);
      if (earlier !== undefined) this.#drop(earlier);
      const others = this.#runners.get(row.merchant_id);
      if (others === undefined) this.#runners.set(row.merchant_id, new Map([[row.id, runner]]));
      else others.set(row.id, runner);
      if (this.#isStopped) runner.end({ isLost: false });
      else if (row.saved_on !== server && !moved.includes(row)) runner.pause('copied');
      else runner.run();
    }
  }

  /**
   * On a cluster a cell that has moved is no copy: it is on another server of the same database.
   * @throws DatabaseFailure when a server does not say who it is: they are claimed again.
   */
  async #movedHere(
    rows: readonly store.ClaimRow[],
    server: string,
  ): Promise<readonly store.ClaimRow[]> {
    const foreign = rows.filter(({ saved_on }) => saved_on !== server);
    if (foreign.length === 0) return [];
    const servers = await this.#tools.servers.query(store.findIdentity);
    const moved = foreign.filter((row) => servers.some((one) => one.server === row.saved_on));
    if (moved.length > 0) await this.#commit([store.saveHere(moved, server)]);
    return moved;
  }

  /** Saves what is new, has for longer what is busy, and gives up what is idle. */
  async #keep(): Promise<void> {
    const now = performance.now();
    const toSave: Runner[] = [];
    for (const runner of [...this.#all()]) {
      const age = now - runner.savedAt;
      if (runner.pauseReason !== undefined) void this.#pause(runner);
      else if (runner.isUnsaved || (runner.isBusy && age > limits.webhookLeaseRenewal)) {
        toSave.push(runner);
      } else if (!runner.isBusy && age > limits.webhookLease) this.#drop(runner);
    }
    await this.#save(toSave, false);
  }

  /** One save after the other: a later one holds more. */
  #save(runners: readonly Runner[], isReleased: boolean): Promise<void> {
    const save = async () => {
      for (let from = 0; from < runners.length; from += limits.webhooksPerClaim) {
        await this.#saveSome(runners.slice(from, from + limits.webhooksPerClaim), isReleased);
      }
    };
    const saving = this.#saving.then(save);
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  async #saveSome(runners: readonly Runner[], isReleased: boolean): Promise<void> {
    const kept = runners.filter((runner) => this.#has(runner));
    if (kept.length === 0) return;
    const sentAt = performance.now();
    const parts = kept.map((runner) => ({ runner, ...runner.progress(isReleased) }));
    const [rows = []] = await this.#commit([store.saveProgress(parts.map(({ row }) => row))]);
    const saved = new Set((rows as { merchant_id: string; id: string }[]).map(keyOf));
    for (const part of parts) {
      if (saved.has(keyOf(part.row))) {
        part.saved();
        part.runner.savedAt = sentAt;
      } else this.#drop(part.runner);
    }
  }

  /** Again in the next round, should it fail. */
  async #pause(runner: Runner): Promise<void> {
    const { merchant, id, pauseReason: reason } = runner;
    if (reason === undefined || !this.#has(runner)) return;
    const pausing = this.#saving.then(async () => {
      if (!this.#has(runner)) return;
      const statement = store.pause(runner.progress(true).row, reason);
      const [, rows = []] = await this.#commit([store.lockWebhook(merchant, id), statement]);
      this.#drop(runner);
      if (rows.length > 0) this.#options.onPause?.({ merchant, webhook: id, reason });
    });
    this.#saving = pausing.catch((error: unknown) => this.#failed(error, runner));
    await this.#saving;
  }

  #commit(statements: readonly Statement[]): Promise<(readonly unknown[])[]> {
    return commitAll(this.#tools.writer, statements);
  }

  #has(runner: Runner): boolean {
    return this.#runners.get(runner.merchant)?.get(runner.id) === runner;
  }

  /** What it has not saved is somebody else's now, and is sent again. */
  #drop(runner: Runner): void {
    runner.end({ isLost: true });
    this.#slots.forget(runner);
    if (!this.#has(runner)) return;
    const runners = this.#runners.get(runner.merchant);
    runners?.delete(runner.id);
    if (runners?.size === 0) this.#runners.delete(runner.merchant);
  }

  #failed(error: unknown, runner?: Runner): void {
    const webhook = runner && { merchant: runner.merchant, webhook: runner.id };
    this.#options.onError?.(error, webhook);
  }
}

const keyOf = ({ merchant_id, id }: { readonly merchant_id: string; readonly id: string }) =>
  `${merchant_id} ${id}`;
