// Bytes on a socket, for what no HTTP client would send.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are examined member by member in tests.
  readonly json: any;
}

export interface RawExchange {
  readonly answers: readonly RawAnswer[];
  /** Whether the server closed the connection within the time given. */
  readonly closed: boolean;
  readonly milliseconds: number;
}

/**
 * Writes the parts one after the other and collects what comes back until the server closes the
 * connection or has been quiet for `quiet` milliseconds.
 */
export async function exchange(
  origin: string,
  parts: readonly (string | Buffer)[],
  { quiet = 150, patience = 25_000 } = {},
): Promise<RawExchange> {
  const started = performance.now();
  const connection = await RawConnection.open(origin);
  for (const part of parts) connection.send(part);
  const answers: RawAnswer[] = [];
  for (let wait = patience; ; wait = quiet) {
    const answer = await connection.next({ wait });
    if (answer === undefined) break;
    answers.push(answer);
  }
  const { closed } = connection;
  connection.end();
  return { answers, closed, milliseconds: performance.now() - started };
}

/** One connection, answer by answer. */
export class RawConnection {
  readonly socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #closed = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
    // It is followed by `close`.
    socket.on('error', () => undefined);
  }

  static async open(origin: string): Promise<RawConnection> {
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** Whether the server has closed it. */
  get closed(): boolean {
    return this.#closed;
  }

  /** A text goes out one byte for each character. */
  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Reads nothing before all is sent, as simple clients do. */
  async sendFirst(bytes: string): Promise<void> {
    this.socket.pause();
    await new Promise((resolve) => this.socket.write(Buffer.from(bytes, 'latin1'), resolve));
    this.socket.resume();
  }

  /** The next answer; undefined when the connection closes, or `wait` is over, without one. */
  async next({ wait = 25_000, isHead = false } = {}): Promise<RawAnswer | undefined> {
    const limit = performance.now() + wait;
    for (;;) {
      const found = readAnswer(this.#received, isHead || this.#closed);
      if (found !== undefined) {
        this.#received = found.rest;
        if (found.answer.status !== 100) return found.answer;
      } else if (this.#closed || !(await this.#woken(limit - performance.now()))) {
        return undefined;
      }
    }
  }

  /** Waits until the server has closed it. */
  async hungUp(): Promise<void> {
    if (!this.#closed) await once(this.socket, 'close');
  }

  end(): void {
    this.socket.destroy();
  }

  #woken(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/** @param isCut whether the body may be shorter than its declared length. */
function readAnswer(
  bytes: Buffer,
  isCut: boolean,
): { answer: RawAnswer; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(statusLine.split(' ')[1]);
  const length = status === 100 ? 0 : Number(headers['content-length'] ?? 0);
  const next = end + 4 + length;
  if (next > bytes.length && !isCut) return undefined;
  const text = bytes.toString('utf8', end + 4, next);
  return { answer: { status, headers, text, json: parsed(text) }, rest: bytes.subarray(next) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
