// What keys are bound to. Look-ups that wait at the same moment share one query: a batch asks for
// all of its keys at once.

import type { Operation, Write } from '../contract/endpoint.ts';
import type { MerchantId } from '../core/principal.ts';
import { DatabaseFailure, type Reader } from '../core/statement.ts';
import { findOperations, keyOf, keyOfOperation } from './keys.ts';

type Found = ReadonlyMap<string, Operation>;

/** Look-ups that no query was sent for yet. */
interface Group {
  readonly writes: Write[];
  readonly found: Promise<Found>;
}

export class KeyLookUps {
  readonly #readerOf: (merchant: MerchantId) => Reader;
  readonly #groups = new Map<MerchantId, Group>();

  constructor(readerOf: (merchant: MerchantId) => Reader) {
    this.#readerOf = readerOf;
  }

  /** The operation that the key of a write is bound to. */
  async find(write: Write): Promise<Operation | undefined> {
    const group = this.#groupOf(write.merchant);
    group.writes.push(write);
    try {
      return (await group.found).get(keyOf(write));
    } catch (error) {
      // A damaged page must not keep the others from what they ask for.
      const isShared = group.writes.length > 1;
      if (!isShared || !(error instanceof DatabaseFailure) || error.kind !== 'damaged') throw error;
      return (await this.#ask([write])).get(keyOf(write));
    }
  }

  #groupOf(merchant: MerchantId): Group {
    const waiting = this.#groups.get(merchant);
    if (waiting !== undefined) return waiting;
    const writes: Write[] = [];
    // After all that runs at this moment.
    const sent = new Promise<void>((resolve) => process.nextTick(resolve));
    const found = sent.then(() => {
      this.#groups.delete(merchant);
      return this.#ask(writes);
    });
    const group = { writes, found };
    this.#groups.set(merchant, group);
    return group;
  }

  async #ask(writes: readonly Write[]): Promise<Found> {
    const [first] = writes;
    if (first === undefined) return new Map();
    const rows = await this.#readerOf(first.merchant).query(findOperations(writes));
    return new Map(rows.map((row) => [keyOfOperation(row), row]));
  }
}
