// Where a server's log of requests goes: a file on the same disk as everything else, as in service.
// It is emptied after every measurement, and what is not a request's line is kept.

import { appendFileSync, closeSync, openSync, readFileSync, truncateSync } from 'node:fs';

export class RequestLog {
  readonly descriptor: number;
  readonly #path: string;
  #isOpen = true;

  constructor(path: string) {
    appendFileSync(path, '');
    this.#path = path;
    // Appending, so that what comes after it was emptied begins at its beginning.
    this.descriptor = openSync(path, 'a');
  }

  /** Warnings and failures since it was last read, and whatever else is no request's line. */
  rest(): string {
    const lines = readFileSync(this.#path, 'utf8').split('\n');
    truncateSync(this.#path);
    const kept = lines.filter((line) => line !== '' && !/^\{"level":[123]0,/.test(line));
    return kept.join('\n').slice(-4_000);
  }

  close(): void {
    if (this.#isOpen) closeSync(this.descriptor);
    this.#isOpen = false;
  }
}
