// A page outside the API, as the server takes it.

import type { FastifyRequest } from 'fastify';

/** A page outside the API: documents, health and the console. */
export interface Site {
  readonly path: string;
  answer(request: FastifyRequest): Promise<{
    readonly status: number;
    readonly type: string;
    readonly body: string | Buffer;
    readonly policy?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }>;
}
