// One request over HTTP, from the first byte to the last, with an end to patience: what has not
// been answered by then counts as lost, whatever became of it.

import { Agent, type IncomingHttpHeaders, request } from 'node:http';

const patienceMs = 5_000;

export interface Outgoing {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly key?: string | undefined;
  readonly body?: object | undefined;
}

export type Incoming =
  | { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  | { readonly status: 0; readonly lost: string };

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export function send({ port, method, path, token, key, body }: Outgoing): Promise<Incoming> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    const outgoing = request(
      { host: '127.0.0.1', port, method, path: `/api/v1${path}`, headers, agent },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', lost);
        answer.on('end', () => {
          clearTimeout(patience);
          const { statusCode: status = 0, headers } = answer;
          if (!answer.complete) lost(new Error('the answer is not whole'));
          else resolve({ status, headers, text: Buffer.concat(parts).toString() });
        });
      },
    );
    const lost = (error: Error) => {
      clearTimeout(patience);
      resolve({ status: 0, lost: error.message });
    };
    const patience = setTimeout(() => outgoing.destroy(new Error('no answer')), patienceMs);
    outgoing.on('error', lost);
    outgoing.end(text);
  });
}
