// Lines of deeds whose effect has a transaction of its own, such as a write on the ordinary write
// path: the line is committed first, so that there is no effect without its line. Lines that wait
// at the same moment share one transaction; hundreds of writes at once would otherwise queue up
// behind the lock of the chain.

import type { Writer } from '../../core/statement.ts';
import { commitAll } from '../transact.ts';
import { type Deed, deedEntry } from './deed.ts';
import { appendAudit, type TimedEntry } from './store.ts';

const linesPerWriteMax = 1_000;

interface Waiting {
  readonly entry: TimedEntry;
  resolve(): void;
  reject(error: unknown): void;
}

export class Deeds {
  readonly #writer: Writer;
  readonly #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** Resolves when the line is there. @throws DatabaseFailure; the deed must not be done then. */
  record(deed: Deed): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry: deedEntry(deed), resolve, reject });
      this.#write();
    });
  }

  #write(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    void this.#append(this.#waiting.splice(0, linesPerWriteMax)).finally(() => {
      this.#isWriting = false;
      this.#write();
    });
  }

  async #append(batch: readonly Waiting[]): Promise<void> {
    try {
      await commitAll(this.#writer, [appendAudit(batch.map(({ entry }) => entry))]);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
