// Two dispatchers, as two nodes have them, on one small store, and callers of both: each call
// arrives when the schedule says. Its outcome is kept with the state of the store at that moment.

import { createHash } from 'node:crypto';
import type fc from 'fast-check';
import { vi } from 'vitest';
import type { Operation, Write } from '../../src/contract/endpoint.ts';
import { limits } from '../../src/core/limits.ts';
import type { MerchantId } from '../../src/core/principal.ts';
import { Problem } from '../../src/core/problem.ts';
import { DatabaseFailure } from '../../src/core/statement.ts';
import { Dispatcher, type WriteAnswer } from '../../src/operations/dispatch.ts';
import { keyOf, type Shown, writes } from './rows.ts';
import { type Fault, type NodeWriter, Store } from './store.ts';

export interface Asked {
  readonly node: number;
  readonly merchant: number;
  readonly type: 'inventory.adjust' | 'customers.create';
  readonly key: number;
  /** Calls with one key and variant are duplicates; another variant has another body. */
  readonly variant: number;
  /** Its key was looked up with its credential, as the pipeline does. */
  readonly looksFirst: boolean;
}

/** What a call returned, with the sequence of its register before and after it. */
export interface Outcome {
  readonly asked: Asked;
  readonly operationId: string;
  readonly result: WriteAnswer | Problem | DatabaseFailure;
  readonly span: readonly [before: number, after: number];
}

export const workers = limits.writeWorkers;

export class Simulation {
  readonly store: Store;
  readonly outcomes: Outcome[] = [];
  readonly writers: readonly NodeWriter[];
  readonly #nodes: readonly Dispatcher[];
  readonly #schedule: fc.Scheduler;
  #faults: readonly Fault[];
  #asked = 0;

  constructor(schedule: fc.Scheduler, faults: readonly Fault[]) {
    this.#schedule = schedule;
    this.#faults = faults;
    const step = (label: string) => schedule.schedule(Promise.resolve(), label);
    this.store = new Store({ step, fault: () => this.#nextFault() });
    this.writers = [this.store.writer(), this.store.writer()];
    this.#nodes = this.writers.map(
      (writer) =>
        new Dispatcher({
          ...{ writer, spanningWriter: writer, workers },
          readerOf: () => this.store.reads(),
        }),
    );
  }

  get queued(): number {
    return this.#nodes.reduce((sum, { queued }) => sum + queued, 0);
  }

  endFaults(): void {
    this.#faults = [];
  }

  async call(asked: Asked): Promise<void> {
    await this.#schedule.schedule(Promise.resolve(), 'a request arrives');
    await this.#perform(asked);
  }

  /** How many of a node's workers begin when there is work for more, and nothing gets done. */
  async fill(node: number): Promise<number> {
    const begun = () => this.writers[node]?.begun() ?? 0;
    const before = begun();
    const calls: Promise<void>[] = [];
    for (const merchant of [0, 1, 2]) {
      for (const type of ['inventory.adjust', 'customers.create'] as const) {
        calls.push(this.#perform({ node, merchant, type, key: 0, variant: 1, looksFirst: false }));
        await new Promise(setImmediate);
        vi.advanceTimersByTime(limits.batchPatience);
      }
    }
    const count = begun() - before;
    await this.all(calls);
    return count;
  }

  async #perform(asked: Asked): Promise<void> {
    this.#asked += 1;
    const operationId = `op_${this.#asked}`;
    const before = this.#sequenceOf(asked);
    const [write, bound] = await this.#writeOf(asked, operationId);
    const node = this.#nodes[asked.node];
    const result = await node?.perform(write, bound).catch((error: unknown) => {
      if (error instanceof Problem || error instanceof DatabaseFailure) return error;
      throw error;
    });
    if (result === undefined) throw new Error('there is no such node');
    this.outcomes.push({ asked, operationId, result, span: [before, this.#sequenceOf(asked)] });
  }

  /** Lets one thing after the other happen, until this has. @throws Error when nothing is left. */
  async until(isOver: () => boolean): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      if (isOver()) return;
      if (this.#schedule.count() > 0) await this.#schedule.waitNext(1);
      else if (vi.getTimerCount() > 0) vi.advanceTimersToNextTimer();
      else throw new Error('nothing is left to happen, and somebody still waits');
    }
  }

  async all(calls: readonly Promise<void>[]): Promise<void> {
    let open = calls.length;
    const done = Promise.all(
      calls.map((call) =>
        call.finally(() => {
          open -= 1;
        }),
      ),
    );
    // Thrown below, once all calls have ended.
    done.catch(() => undefined);
    await this.until(() => open === 0);
    await done;
  }

  /** Until nothing is running, on the server either. */
  rest(): Promise<void> {
    return this.until(() => this.#schedule.count() === 0 && vi.getTimerCount() === 0);
  }

  #nextFault(): Fault {
    const [fault = 'none', ...others] = this.#faults;
    this.#faults = others;
    return fault;
  }

  /** A write, and what its key is known to be bound to. */
  async #writeOf(asked: Asked, operationId: string): Promise<[Write, Operation | undefined]> {
    const { type, looksFirst } = asked;
    const endpoint = writes[type];
    if (endpoint === undefined) throw new Error(`there is no ${type}`);
    const bound = looksFirst ? this.store.rows.operations.get(storedKeyOf(asked)) : undefined;
    if (looksFirst) await this.#schedule.schedule(Promise.resolve(), `${operationId} looked up`);
    const actor = {
      credential_id: 'cred_1',
      name: 'till',
      kind: 'personal_access_token',
      application_id: null,
    } as const;
    const write: Write = {
      endpoint,
      merchant: merchantOf(asked),
      actor,
      id: '',
      body: bodyOf(asked),
      faults: [],
      scopes: new Set(),
      tokenScopes: null,
      granted: 'all',
      externalId: undefined,
      ifMatch: undefined,
      keyHash: hash(keyName(asked)),
      fingerprint: fingerprintOf(asked),
      operationId,
      locationId: undefined,
      toLocationId: undefined,
      lines: 1,
      requestId: `req of ${operationId}`,
      deadline: performance.now() + limits.requestDeadline,
    };
    return [write, bound];
  }

  #sequenceOf(asked: Asked): number {
    const { register } = bodyOf(asked);
    return this.store.rows.register({ merchant_id: merchantOf(asked), register }).sequence;
  }
}

const merchantOf = ({ merchant }: Asked) => `mer_${merchant}` as MerchantId;

/** Two registers, and three values for them, of which the first is what they begin with. */
function bodyOf({ key, variant }: Asked) {
  return { register: `r${key % 2}`, target: String((key + variant) % 3) };
}

const keyName = ({ key }: Asked) => `key ${key}`;

const hash = (text: string) => createHash('sha256').update(text).digest();

export const fingerprintOf = ({ key, variant }: Asked) => hash(`${key} ${variant}`);

export function storedKeyOf(asked: Asked): string {
  const { type } = asked;
  const merchant_id = merchantOf(asked);
  return keyOf({ merchant_id, credential_id: 'cred_1', type, key_hash: hash(keyName(asked)) });
}

export const shownBy = ({ data }: WriteAnswer) => data as Shown;
