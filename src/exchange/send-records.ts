// Rows that are records. What has an ID of the caller's own is an upsert, which needs nothing to
// be known. Anything else is looked up first, and then created or changed; what was found is
// kept, so that a row which is sent again after a crash does not find what it made itself.

import type { Batch, BatchesSubmitBody, BatchResult } from '@tallybook/client';

import type { JsonObject } from '../contract/json.ts';
import type { Chunk, Item } from './chunks.ts';
import { findAll, finderOf } from './find.ts';
import type { RecordNoun } from './nouns.ts';
import { textAt } from './rows.ts';
import { type Plan, type RowOutcome, reasonOf, type Sender, type Sending } from './sender.ts';

type Operation = BatchesSubmitBody['operations'][number];

export class RecordSender implements Sender {
  readonly #connection: Sending;
  readonly #noun: RecordNoun;
  /** The members that records are found by, the first first. */
  readonly #finders: readonly string[];
  readonly #run: string;

  constructor(connection: Sending, noun: RecordNoun, finders: readonly string[], run: string) {
    this.#connection = connection;
    this.#noun = noun;
    this.#finders = finders;
    this.#run = run;
  }

  async plan({ items }: Chunk): Promise<Plan | undefined> {
    const isKnown = items.every((item) => {
      const finder = finderOf(this.#finders, item);
      return finder === 'external_id' || finder === undefined;
    });
    if (isKnown) return undefined;
    const { tb, signal } = this.#connection;
    const found = await findAll(tb, this.#noun.name, this.#finders, items, signal);
    return { ids: found.map((one) => one?.id ?? null) };
  }

  async send({ first, items }: Chunk, plan: Plan | undefined): Promise<RowOutcome[]> {
    const operations = items.map((item, place) =>
      this.#operationOf(item, plan?.ids[place] ?? null),
    );
    const results = await this.#submit(`${this.#run}-from-${first}`, operations);
    const outcomes = results.map(outcomeOf);
    await this.#setStates(first, items, operations, results, outcomes);
    return outcomes;
  }

  #operationOf({ row, body }: Item, id: string | null): Operation {
    const { name } = this.#noun;
    const key = { idempotency_key: `${this.#run}-row-${row.index}` };
    if (finderOf(this.#finders, { row, body }) === 'external_id') {
      const { external_id, ...rest } = body;
      return { type: `${name}.upsert`, ...key, external_id: String(external_id), body: rest };
    }
    if (id !== null) return { type: `${name}.update`, ...key, id, body };
    return { type: `${name}.create`, ...key, body: this.#withoutStates(body) };
  }

  /** A create gives these members their first value. */
  #withoutStates(body: JsonObject): JsonObject {
    const settable = this.#noun.resource.createBody.properties;
    return Object.fromEntries(Object.entries(body).filter(([name]) => name in settable));
  }

  /** What was created is not what the row says yet, when that is archived or inactive. */
  async #setStates(
    first: number,
    items: readonly Item[],
    operations: readonly Operation[],
    results: readonly BatchResult[],
    outcomes: RowOutcome[],
  ): Promise<void> {
    const { name, resource } = this.#noun;
    const changes = items.flatMap(({ row, body }, place) => {
      const status = textAt(body, 'status');
      const isCreated =
        operations[place]?.type.endsWith('.create') && results[place]?.status === 201;
      if (!isCreated || status === undefined || status === resource.blank.status) return [];
      const id = String(Object(results[place]?.data).id);
      const idempotency_key = `${this.#run}-row-${row.index}-status`;
      return [
        {
          place,
          operation: { type: `${name}.update`, idempotency_key, id, body: { status } } as const,
        },
      ];
    });
    if (changes.length === 0) return;
    const key = `${this.#run}-from-${first}-status`;
    const answers = await this.#submit(
      key,
      changes.map(({ operation }) => operation),
    );
    for (const [index, { place }] of changes.entries()) {
      const outcome = outcomeOf(answers[index] as BatchResult);
      if (outcome.kind === 'refused') outcomes[place] = outcome;
    }
  }

  /** The same list again does what is not done yet. */
  async #submit(key: string, operations: readonly Operation[]): Promise<BatchResult[]> {
    const { tb, signal } = this.#connection;
    for (let tries = 0; ; tries += 1) {
      const options = { idempotencyKey: key, signal };
      const { data }: { readonly data: Batch } = await tb.batches.submit({ operations }, options);
      const later = data.results.filter(({ error }) => error?.retryable === true);
      const [one] = later;
      if (one === undefined) return data.results;
      if (tries === triesMax)
        throw new Error(`a row could not be sent: ${reasonOf(one.error ?? {})}`);
      const waits = later.map(({ meta }) => meta.retry_after ?? 1);
      await pause(1_000 * Math.max(...waits), signal);
    }
  }
}

/** A service that is overloaded for so many times is not by itself well again soon. */
const triesMax = 60;

/** @throws Error when every other row would be refused for the same reason. */
function outcomeOf({ status, error = {}, meta }: BatchResult): RowOutcome {
  if (status < 300) {
    if (status === 201) return { kind: 'created' };
    return { kind: meta.position === undefined ? 'unchanged' : 'changed' };
  }
  const ofAll = status === 401 || (status === 403 && error.code !== 'location_not_granted');
  if (ofAll) throw new Error(reasonOf(error));
  return { kind: 'refused', reason: reasonOf(error) };
}

/** In a browser, too. @throws the reason of the signal. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
  signal.throwIfAborted();
}
