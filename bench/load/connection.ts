// One HTTP connection that keeps one request under way. It reads of an answer only what a judge of
// it needs, because on a small machine every cycle of the load generator is taken from the service.

import { connect, type Socket } from 'node:net';

export interface ConnectionEvents {
  /** The next message to send; undefined: no more. */
  next(): string | undefined;
  answered(status: number, text: string | undefined): void;
  /** The connection broke with a request under way, or could not be made. */
  broke(reason: string): void;
}

export class Connection {
  readonly #origin: { readonly host: string; readonly port: number };
  readonly #events: ConnectionEvents;
  #socket: Socket | undefined;
  #isBusy = false;
  #isOver = false;
  #closes = false;
  /** What came of an answer whose head is not complete yet. */
  #head: Buffer | undefined;
  #status = 0;
  /** Bytes of the body that are still to come. */
  #missing = 0;
  #text: string | undefined;

  constructor(origin: { host: string; port: number }, events: ConnectionEvents) {
    this.#origin = origin;
    this.#events = events;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  async open(): Promise<void> {
    const socket = connect({ ...this.#origin, noDelay: true });
    this.#socket = socket;
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#lose(socket));
    if (this.#isOver) socket.destroy();
  }

  /** Sends the next message, if there is one. */
  send(): void {
    const message = this.#events.next();
    if (message === undefined) return;
    this.#isBusy = true;
    this.#socket?.write(message, 'latin1');
  }

  close(): void {
    this.#isBusy = false;
    this.#isOver = true;
    this.#socket?.destroy();
  }

  #receive(chunk: Buffer): void {
    if (this.#missing > 0) {
      this.#missing -= chunk.length;
    } else {
      const bytes = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) {
        this.#head = bytes;
        return;
      }
      this.#head = undefined;
      this.#judge(bytes, end);
    }
    if (this.#missing === 0) this.#finish();
    if (this.#missing < 0) this.#fail('an answer longer than it said');
  }

  #judge(bytes: Buffer, end: number): void {
    const head = bytes.toString('latin1', 0, end);
    const length = /\r\ncontent-length: *([0-9]+)/i.exec(head)?.[1];
    const isReplay = /\r\nidempotent-replayed:/i.test(head);
    this.#status = length === undefined ? 0 : Number(head.slice(9, 12));
    this.#missing = end + 4 + Number(length ?? 0) - bytes.length;
    this.#closes = /\r\nconnection: *close/i.test(head);
    const isGood = this.#status >= 200 && this.#status < 300 && !isReplay;
    this.#text = isGood ? undefined : bytes.toString('utf8', 0, 1_000);
  }

  #finish(): void {
    this.#isBusy = false;
    this.#events.answered(this.#status, this.#text);
    // The service ends a connection after some thousand requests, and says so.
    if (this.#closes) this.#reopen();
    else this.send();
  }

  #fail(reason: string): void {
    this.#isBusy = false;
    this.#events.broke(reason);
    this.#reopen();
  }

  #lose(socket: Socket): void {
    if (socket === this.#socket && this.#isBusy) this.#fail('the connection was closed');
  }

  #reopen(): void {
    this.#closes = false;
    this.#head = undefined;
    this.#missing = 0;
    const old = this.#socket;
    this.#socket = undefined;
    old?.destroy();
    this.open().then(
      () => this.send(),
      (error: unknown) => this.#events.broke(String(error)),
    );
  }
}
