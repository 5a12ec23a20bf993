// When credentials were last used, to a quarter of an hour: the authenticator reports a use
// only when the noted one is older. Uses are written in the background, many at once. No request
// waits for that, and a lost note loses nothing else.

import type { Writer } from '../core/statement.ts';
import type { NoteUse } from './authenticator.ts';
import { extendSessions, noteUses } from './store.ts';
import { commitAll } from './transact.ts';

const notesPerWriteMax = 1_000;
const writeDelay = 1_000;

export class LastUses {
  readonly #writer: Writer;
  readonly #pending = new Map<string, string>();
  readonly #sessions = new Map<string, Buffer>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<boolean> | undefined;
  #isClosed = false;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  note({ merchant_id, id, session }: Parameters<NoteUse>[0]): void {
    if (this.#isClosed) return;
    this.#pending.set(id, merchant_id);
    if (session !== undefined) this.#sessions.set(session.toString('hex'), session);
    this.#schedule();
  }

  /** Writes all that is noted, and notes no more. When the database fails, the rest is lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    let isWritten = (await this.#writing) ?? true;
    while (isWritten && this.#pending.size > 0) isWritten = await this.#write();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#writing !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        if (this.#pending.size > 0 && !this.#isClosed) this.#schedule();
      });
    }, writeDelay);
  }

  /** Whether it succeeded. If not, the next use of each credential will be noted instead. */
  async #write(): Promise<boolean> {
    const notes = [...this.#pending].slice(0, notesPerWriteMax);
    for (const [id] of notes) this.#pending.delete(id);
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    const extending = sessions.length === 0 ? [] : [extendSessions(sessions)];
    try {
      await commitAll(this.#writer, [noteUses(notes), ...extending]);
      return true;
    } catch {
      return false;
    }
  }
}
