// What passes between a client and PostgreSQL, cut into messages.

/** One message of PostgreSQL's protocol, version 3 (its manual, chapter 54). */
export interface Message {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts a stream into messages: a letter and a length each, but for a client's first. */
export class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(isFromClient: boolean) {
    this.#isFirst = isFromClient;
  }

  *take(bytes: Buffer): Generator<Message> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const offset = this.#isFirst ? 0 : 1;
      if (this.#rest.length < offset + 4) return;
      const end = offset + this.#rest.readUInt32BE(offset);
      if (this.#rest.length < end) return;
      const message = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      const type = this.#isFirst ? 'start-up' : String.fromCharCode(message[0] ?? 0);
      this.#isFirst = false;
      yield { type, bytes: message };
    }
  }
}

/** Bind: a portal, then the prepared statement, each ended by a zero. */
export function statementOf(bind: Buffer): string {
  const start = bind.indexOf(0, 5) + 1;
  return bind.toString('utf8', start, bind.indexOf(0, start));
}
