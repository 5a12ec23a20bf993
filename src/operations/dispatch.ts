// The write path: every write of the service goes through `perform`. It lets duplicate requests
// wait for the first, queues writes for the workers, and turns what became of them into answers. A
// replay presents the current state of the resource, read after the batch has committed.

import { hasPathId } from '../contract/contract.ts';
import type { Operation, Write } from '../contract/endpoint.ts';
import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import { Problem, retryLater } from '../core/problem.ts';
import type { Reads, Writer } from '../core/statement.ts';
import type { Performed } from './batch.ts';
import { keyOf } from './keys.ts';
import { KeyLookUps } from './look-ups.ts';
import { FairQueue } from './queue.ts';
import { settleBatch } from './recover.ts';

/** The answer to a successful write. A refusal is thrown as a Problem that names its operation. */
export interface WriteAnswer {
  readonly operationId: string;
  readonly resourceId: string;
  /** Whether it created the resource: 201, otherwise 200. */
  readonly created: boolean;
  readonly data: object;
  readonly replayed: boolean;
  /** In the journal of this ID; null when it changed nothing. */
  readonly position: number | null;
  readonly journal: string;
}

export interface DispatchOptions {
  readonly writer: Writer;
  /** For types that change the global tables as well. */
  readonly spanningWriter: Writer;
  readonly readerOf: (merchant: MerchantId) => Reads;
  readonly workers: number;
  onBatch?(type: string, writes: number, seconds: number): void;
  /** Told of each position that has committed. */
  onChange?(merchant: MerchantId, position: number): void;
}

/** What requests need of it. */
export type WritePath = Pick<
  Dispatcher,
  'perform' | 'findBound' | 'judgeFields' | 'judgeResource' | 'queued'
>;

interface Queued {
  readonly write: Write;
  settle(result: Performed | Problem): void;
}

export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #queue: FairQueue<Queued>;
  readonly #lookUps: KeyLookUps;
  /** Writes in progress, by key. A duplicate waits here, so that no batch waits for its own. */
  readonly #inProgress = new Map<string, Promise<Operation | undefined>>();
  #idleWorkers: number;
  /** When a batch last began. */
  #begunAt = 0;
  #patience: NodeJS.Timeout | undefined;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.workers);
    this.#lookUps = new KeyLookUps(options.readerOf);
    this.#idleWorkers = options.workers;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Performs a write once, or replays it.
   * @param bound what its key is bound to, when that is known already.
   * @throws Problem: idempotency_key_reused, the rule's own refusal, or 5xx.
   */
  async perform(write: Write, bound?: Operation): Promise<WriteAnswer> {
    if (bound !== undefined) return this.#answer(write, { operation: bound });
    const key = keyOf(write);
    for (let tries = 0; tries <= limits.batchRetriesMax; tries += 1) {
      const first = this.#inProgress.get(key);
      if (first === undefined) return this.#answer(write, await this.#performFirst(key, write));
      const operation = await withinDuplicateWait(first);
      if (operation !== undefined) return this.#answer(write, { operation });
    }
    throw new Problem('operation_in_progress', { headers: retryLater() });
  }

  /** What the key of a write is bound to, as far as the database says it now. */
  findBound(write: Write): Promise<Operation | undefined> {
    return this.#lookUps.find(write);
  }

  /**
   * Faults in the fields: 422, unless the key is bound.
   * @throws Problem validation_failed
   */
  async judgeFields(write: Write): Promise<Operation | undefined> {
    const { faults } = write;
    if (faults.length === 0) return undefined;
    return this.#unlessBound(write, new Problem('validation_failed', { details: faults }));
  }

  /**
   * A resource in the path that cannot be written: 404 or 410, unless the key is bound. Rows are
   * never deleted, and belong to the same credential for ever, so this needs no lock.
   * @throws Problem not_found or resource_erased
   */
  async judgeResource(write: Write): Promise<Operation | undefined> {
    const { endpoint, merchant, id } = write;
    if (!hasPathId(endpoint.contract)) return undefined;
    const reads = this.#options.readerOf(merchant);
    const row = await reads.find((ids) => endpoint.find(merchant, ids), id);
    const isThere = row !== undefined && (endpoint.isFor?.(row, write) ?? true);
    if (!isThere) return this.#unlessBound(write, new Problem('not_found'));
    write.lines = endpoint.linesOf?.(row) ?? write.lines;
    try {
      endpoint.present(row);
      return undefined;
    } catch (error) {
      if (error instanceof Problem) return this.#unlessBound(write, error);
      throw error;
    }
  }

  /** What a key is bound to comes before a refusal, also when a write in progress binds it now. */
  async #unlessBound(write: Write, refusal: Problem): Promise<Operation> {
    const bound = await this.#lookUp(write);
    if (bound === undefined) throw refusal;
    return bound;
  }

  /** What a key is bound to. A write in progress with this key is waited for. */
  async #lookUp(write: Write): Promise<Operation | undefined> {
    const first = this.#inProgress.get(keyOf(write));
    const operation = first === undefined ? undefined : await withinDuplicateWait(first);
    if (operation !== undefined) return operation;
    return this.#lookUps.find(write);
  }

  async #performFirst(key: string, write: Write): Promise<Performed> {
    const performed = this.#enqueue(write);
    const operation = performed.then(
      (one) => one.operation,
      () => undefined,
    );
    this.#inProgress.set(key, operation);
    try {
      return await performed;
    } finally {
      this.#inProgress.delete(key);
    }
  }

  #enqueue(write: Write): Promise<Performed> {
    return new Promise((resolve, reject) => {
      const settle = (result: Performed | Problem) =>
        result instanceof Problem ? reject(result) : resolve(result);
      const { name } = write.endpoint.contract;
      this.#queue.add(write.merchant, name, { write, settle }, write.lines);
      this.#startWorkers();
    });
  }

  /**
   * While a batch runs, another one starts only when it is worth its while: what comes meanwhile
   * makes it larger, and a large one costs less per write. One that is slow, because of a lock or
   * a disk, is not waited for.
   */
  #startWorkers(): void {
    while (this.#idleWorkers > 0 && this.#queue.length > 0) {
      const isIdle = this.#idleWorkers === this.#options.workers;
      const wait = this.#begunAt + limits.batchPatience - performance.now();
      if (!isIdle && wait > 0 && this.#queue.length < limits.batchWritesWorthwhile) {
        this.#patience ??= setTimeout(() => {
          this.#patience = undefined;
          this.#startWorkers();
        }, wait);
        return;
      }
      const batch = this.#queue.take();
      if (batch === undefined) return;
      this.#begunAt = performance.now();
      this.#idleWorkers -= 1;
      void this.#run(batch.items).finally(() => {
        batch.done();
        this.#idleWorkers += 1;
        this.#startWorkers();
      });
    }
  }

  async #run(queued: readonly Queued[]): Promise<void> {
    const byWrite = new Map(queued.map((one) => [one.write, one]));
    const started = performance.now();
    // A batch is of one type.
    const isSpanning = queued[0]?.write.endpoint.beside !== undefined;
    const writer = this.#options[isSpanning ? 'spanningWriter' : 'writer'];
    await settleBatch(writer, [...byWrite.keys()], (write, result) => {
      const { merchant, endpoint } = write;
      const one = byWrite.get(write);
      if (one === undefined) return;
      if (result === 'alone') {
        return this.#queue.addAlone(merchant, endpoint.contract.name, one, write.lines);
      }
      if (!(result instanceof Problem)) {
        const { position } = result.operation;
        if (position !== null) this.#options.onChange?.(merchant, position);
        this.#queue.endAlone(merchant);
      }
      one.settle(result);
    });
    const type = queued[0]?.write.endpoint.contract.name ?? '';
    this.#options.onBatch?.(type, queued.length, (performance.now() - started) / 1000);
  }

  /** What the operation of a write's key says to it: the write's own, or the one it repeats. */
  async #answer(write: Write, { operation, row }: Performed): Promise<WriteAnswer> {
    if (!operation.fingerprint.equals(write.fingerprint)) throw keyReused(operation);
    const { id: operationId, resource_id: resourceId, created, position, journal } = operation;
    // Its own ID may also be that of an earlier commit of its own, whose answer was lost.
    const replayed = operationId !== write.operationId;
    if (replayed) await this.#requireReach(write);
    if (operation.error_code !== null) {
      const details = operation.error_details ?? [];
      throw new Problem(operation.error_code, { details, operationId, replayed });
    }
    if (resourceId === null) throw new Error(`operation ${operationId} names no resource`);
    const { endpoint, merchant } = write;
    if (!replayed) endpoint.committed?.(operation, write);
    const reads = this.#options.readerOf(merchant);
    const shown = row ?? (await reads.find((ids) => endpoint.find(merchant, ids), resourceId));
    if (shown === undefined) throw new Error(`${resourceId} of operation ${operationId} is gone`);
    try {
      const shared = endpoint.present(shown);
      const data = replayed ? shared : { ...shared, ...endpoint.reveal?.(write) };
      return { operationId, resourceId, created, data, replayed, position, journal };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw new Problem(error.code, { details: error.details, operationId, replayed });
    }
  }

  /**
   * A replay of what was done with a resource in the path, which the caller may have lost the sight
   * of since.
   * @throws Problem not_found
   */
  async #requireReach(write: Write): Promise<void> {
    const { endpoint, merchant, id } = write;
    if (endpoint.isFor === undefined || !hasPathId(endpoint.contract)) return;
    const reads = this.#options.readerOf(merchant);
    const row = await reads.find((ids) => endpoint.find(merchant, ids), id);
    if (row === undefined || !endpoint.isFor(row, write)) throw new Problem('not_found');
  }
}

/** 409: the key is bound to another request. */
function keyReused(bound: Operation): Problem {
  return new Problem('idempotency_key_reused', {
    details: [
      {
        field: 'header.idempotency-key',
        code: 'idempotency_key_reused',
        message: 'was used before with a different request',
        operation_id: bound.id,
      },
    ],
  });
}

async function withinDuplicateWait(
  first: Promise<Operation | undefined>,
): Promise<Operation | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Problem('operation_in_progress', { headers: retryLater() })),
      limits.duplicateWait,
    );
  });
  try {
    return await Promise.race([first, late]);
  } finally {
    clearTimeout(timer);
  }
}
