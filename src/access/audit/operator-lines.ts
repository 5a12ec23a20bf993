// The lines of actions on the ordinary write path. Such a line is committed before its action, so
// that no action is without its line. (An action that is one transaction has its line in that
// transaction: `transact`.)

import type { Writer } from '../../core/statement.ts';
import { commitAll } from '../transact.ts';
import { operatorEntry } from './operator-entry.ts';
import { type AuditEntry, appendAudit, type TimedEntry } from './store.ts';

const linesPerWriteMax = 1_000;

interface WaitingLine {
  readonly entry: TimedEntry;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Commits lines before their actions. Lines that wait at the same moment share one transaction,
 * because hundreds of single ones would queue behind the lock of the chain.
 */
export class OperatorLines {
  readonly #writer: Writer;
  readonly #waiting: WaitingLine[] = [];
  #isWriting = false;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /**
   * Resolves when the line is committed.
   * @throws DatabaseFailure; then the action must not happen.
   */
  record(entry: AuditEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry: operatorEntry(entry), resolve, reject });
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

  async #append(lines: readonly WaitingLine[]): Promise<void> {
    try {
      await commitAll(this.#writer, [appendAudit(lines.map(({ entry }) => entry))]);
      for (const { resolve } of lines) resolve();
    } catch (error) {
      for (const { reject } of lines) reject(error);
    }
  }
}
