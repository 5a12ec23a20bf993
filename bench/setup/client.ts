// Single requests to the service, one after the other on one connection, as the preparation and the
// walk through pages need them.

import { Agent, request } from 'node:http';
import type { FilledRequest } from '../load/template.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** From the request's first byte to the answer's last. */
  readonly milliseconds: number;
}

type Question = Pick<FilledRequest, 'method' | 'path' | 'headers' | 'body'>;

export class Client {
  readonly #origin: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(origin: string) {
    this.#origin = origin;
  }

  ask({ method, path, headers, body }: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const startedAt = performance.now();
      const options = { method, headers: { ...headers }, agent: this.#agent };
      const message = request(this.#origin + path, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const milliseconds = performance.now() - startedAt;
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, text, milliseconds });
        });
      });
      message.on('error', reject);
      message.end(body);
    });
  }

  /** @throws Error unless it was answered with 2xx. */
  async askWell(question: Question): Promise<Answer> {
    const answer = await this.ask(question);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw new Error(`${question.method} ${question.path}: ${answer.status} ${answer.text}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}
