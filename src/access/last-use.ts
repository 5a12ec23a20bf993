// When credentials were last used, to a quarter of an hour: the authenticator tells of a use only
// when the noted one is older, and what it tells is written in the background, many at once. No
// request waits for it, and losing a note loses nothing but that.

import type { Writer } from '../core/statement.ts';
import { noteUses } from './store.ts';
import { commitAll } from './transact.ts';

const notesPerWriteMax = 1_000;
const writeDelay = 1_000;

export class LastUses {
  readonly #writer: Writer;
  readonly #pending = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  note({ merchant_id, id }: { readonly merchant_id: string; readonly id: string }): void {
    this.#pending.set(id, merchant_id);
    this.#timer ??= setTimeout(() => void this.#write(), writeDelay);
  }

  /** Writes what is noted, and notes no more by itself. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#write();
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const notes = [...this.#pending].slice(0, notesPerWriteMax);
    if (notes.length === 0) return;
    for (const [id] of notes) this.#pending.delete(id);
    try {
      await commitAll(this.#writer, [noteUses(notes)]);
    } catch {
      // The next use of each will be noted instead.
    }
    if (this.#pending.size > 0) this.#timer ??= setTimeout(() => void this.#write(), writeDelay);
  }
}
