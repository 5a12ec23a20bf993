// Bytes on a socket, for what no HTTP client would send.

import { connect } from 'node:net';

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
export function exchange(
  origin: string,
  parts: readonly (string | Buffer)[],
  { quiet = 150, patience = 25_000 } = {},
): Promise<RawExchange> {
  const { hostname, port } = new URL(origin);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    let timer: NodeJS.Timeout | undefined;
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      clearTimeout(limit);
      socket.destroy();
      const answers = parseAnswers(Buffer.concat(chunks));
      resolve({ answers, closed, milliseconds: performance.now() - started });
    };
    const limit = setTimeout(() => finish(false), patience);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      clearTimeout(timer);
      timer = setTimeout(() => finish(false), quiet);
    });
    socket.on('close', () => finish(true));
    socket.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') finish(true);
      else reject(error);
    });
    socket.on('connect', () => {
      for (const part of parts) socket.write(part);
    });
  });
}

function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return answers;
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const status = Number(statusLine.split(' ')[1]);
    const length = status === 100 ? 0 : Number(headers['content-length'] ?? 0);
    const text = rest.subarray(end + 4, end + 4 + length).toString('utf8');
    if (status !== 100) answers.push({ status, headers, text, json: parsed(text) });
    rest = rest.subarray(end + 4 + length);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
