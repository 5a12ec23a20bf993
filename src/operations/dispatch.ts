// The write path: every write of the service goes through `perform`. It joins twins in flight,
// lines commands up for the workers, and turns what became of them into answers. A replay presents
// the current state of the resource, read after the batch has committed.

import type { AnyWriteEndpoint, Command } from '../core/endpoint.ts';
import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import { Problem, retryLater } from '../core/problem.ts';
import type { Reads, Writer } from '../core/statement.ts';
import {
  findKeys,
  type KeyIdentity,
  type KnownOperation,
  keyText,
  knownOperation,
} from './claim.ts';
import { FairQueue } from './queue.ts';
import { type Settlement, settleBatch, type TimedTicket } from './recover.ts';

/** A write as the edge hands it over: authorised, validated and normalised. */
export interface WriteRequest extends KeyIdentity {
  readonly endpoint: AnyWriteEndpoint;
  readonly command: Command;
  readonly fingerprint: Buffer;
  readonly locationId: string | undefined;
  readonly requestId: string;
  readonly deadline: number;
  /** What its key is bound to, when that is known already. */
  readonly known: KnownOperation | undefined;
}

/** The answer to a successful write. A refusal is thrown as a Problem that names its operation. */
export interface WriteAnswer {
  readonly operationId: string;
  readonly resourceId: string;
  readonly data: object;
  readonly replayed: boolean;
}

export interface DispatchOptions {
  readonly writer: Writer;
  readonly readerOf: (merchant: MerchantId) => Reads;
  readonly workers: number;
  onBatch?(type: string, commands: number, seconds: number): void;
}

interface Pending {
  readonly ticket: TimedTicket;
  settle(result: Settlement | Problem): void;
}

export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #queue: FairQueue<Pending>;
  /** First requests under way, by key. A twin waits here, so that no batch waits for its own. */
  readonly #flights = new Map<string, Promise<KnownOperation | undefined>>();
  #idleWorkers: number;
  /** When a batch last began. */
  #begunAt = 0;
  #patience: NodeJS.Timeout | undefined;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.workers);
    this.#idleWorkers = options.workers;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Performs a write once, or replays it.
   * @throws Problem: idempotency_key_reused, the rule's own refusal, or 5xx.
   */
  async perform(request: WriteRequest): Promise<WriteAnswer> {
    if (request.known !== undefined) return this.#replay(request, request.known);
    const key = keyText(request);
    for (let tries = 0; tries <= limits.batchRetriesMax; tries += 1) {
      const flight = this.#flights.get(key);
      if (flight !== undefined) {
        const known = await withinTwinWait(flight);
        if (known !== undefined) return this.#replay(request, known);
        continue;
      }
      const settlement = await this.#fly(key, request);
      if (settlement.kind === 'bound') return this.#first(request, settlement);
      return this.#replay(request, settlement.operation);
    }
    throw new Problem('operation_in_progress', { headers: retryLater() });
  }

  /** What a key is bound to. A twin in flight is waited for. */
  async lookUp(key: KeyIdentity): Promise<KnownOperation | undefined> {
    const flight = this.#flights.get(keyText(key));
    const inFlight = flight === undefined ? undefined : await withinTwinWait(flight);
    if (inFlight !== undefined) return inFlight;
    const [row] = await this.#options.readerOf(key.merchant).query(findKeys([key]));
    return row === undefined ? undefined : knownOperation(row);
  }

  async #fly(key: string, request: WriteRequest): Promise<Settlement> {
    const landed = this.#enqueue(request);
    const flight = landed.then(
      (settlement) => operationOf(request, settlement),
      () => undefined,
    );
    this.#flights.set(key, flight);
    try {
      return await landed;
    } finally {
      this.#flights.delete(key);
    }
  }

  #enqueue(request: WriteRequest): Promise<Settlement> {
    const ticket: TimedTicket = { ...request, operationId: request.command.operationId };
    return new Promise((resolve, reject) => {
      const settle = (result: Settlement | Problem) =>
        result instanceof Problem ? reject(result) : resolve(result);
      this.#queue.add(request.merchant, request.type, { ticket, settle });
      this.#startWorkers();
    });
  }

  /**
   * While a batch runs, another one starts only when it is worth its while: what comes meanwhile
   * makes it larger, and a large one costs less per command. One that is slow, because of a lock or
   * a disk, is not waited for.
   */
  #startWorkers(): void {
    while (this.#idleWorkers > 0 && this.#queue.length > 0) {
      const isIdle = this.#idleWorkers === this.#options.workers;
      const wait = this.#begunAt + limits.batchPatience - performance.now();
      if (!isIdle && wait > 0 && this.#queue.length < limits.batchCommandsWorthwhile) {
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

  async #run(pending: readonly Pending[]): Promise<void> {
    const byTicket = new Map(pending.map((one) => [one.ticket, one]));
    const started = performance.now();
    await settleBatch(this.#options.writer, [...byTicket.keys()], (ticket, result) => {
      const { merchant, type } = ticket;
      const one = byTicket.get(ticket);
      if (one === undefined) return;
      if (result === 'apart') return this.#queue.addApart(merchant, type, one);
      if (!(result instanceof Problem)) this.#queue.endApart(merchant);
      one.settle(result);
    });
    const type = pending[0]?.ticket.type ?? '';
    this.#options.onBatch?.(type, pending.length, (performance.now() - started) / 1000);
  }

  #first(request: WriteRequest, settlement: Settlement & { kind: 'bound' }): WriteAnswer {
    const { operationId } = request.command;
    const { outcome, row } = settlement;
    if (outcome.status === 'rejected') {
      const { code, details } = outcome;
      throw new Problem(code, { details, operationId });
    }
    const data = request.endpoint.present(row);
    return { operationId, resourceId: outcome.resourceId, data, replayed: false };
  }

  async #replay(request: WriteRequest, known: KnownOperation): Promise<WriteAnswer> {
    if (!known.fingerprint.equals(request.fingerprint)) throw keyReused(known);
    const operationId = known.id;
    // Our own operation ID means our own earlier commit, whose answer was lost on the way.
    const replayed = operationId !== request.command.operationId;
    if (known.outcome.status === 'rejected') {
      const { code, details } = known.outcome;
      throw new Problem(code, { details, operationId, replayed });
    }
    const { resourceId } = known.outcome;
    const { endpoint, merchant } = request;
    const reads = this.#options.readerOf(merchant);
    const row = await reads.find((ids) => endpoint.find(merchant, ids), resourceId);
    if (row === undefined) throw new Error(`${resourceId} of operation ${operationId} is gone`);
    try {
      return { operationId, resourceId, data: endpoint.present(row), replayed };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw new Problem(error.code, { details: error.details, operationId, replayed });
    }
  }
}

/** 409: the key is bound to another request. */
function keyReused(known: KnownOperation): Problem {
  return new Problem('idempotency_key_reused', {
    details: [
      {
        field: 'header.idempotency-key',
        code: 'idempotency_key_reused',
        message: 'was used before with a different request',
        operation_id: known.id,
      },
    ],
  });
}

function operationOf(request: WriteRequest, settlement: Settlement): KnownOperation {
  if (settlement.kind === 'known') return settlement.operation;
  const { fingerprint, command } = request;
  return { id: command.operationId, fingerprint, outcome: settlement.outcome };
}

async function withinTwinWait(
  flight: Promise<KnownOperation | undefined>,
): Promise<KnownOperation | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Problem('operation_in_progress', { headers: retryLater() })),
      limits.twinWait,
    );
  });
  try {
    return await Promise.race([flight, late]);
  } finally {
    clearTimeout(timer);
  }
}
