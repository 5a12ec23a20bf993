// Bodies larger than the usual. They are read only for callers who are known, and few at once: what
// waits is left in the network, and takes no memory here. Merchants take turns.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../core/limits.ts';
import { overloaded, type Problem } from '../core/problem.ts';
import { type CallerChecks, callerToken, refuseToken } from './authenticate.ts';
import { requireJsonAccepted } from './headers.ts';

interface Waiting {
  readonly merchant: string;
  start(): void;
}

export class LargeBodies {
  readonly #callers: CallerChecks;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #free: number;

  /** @param workers how many processes share the room for large bodies */
  constructor(callers: CallerChecks, workers: number) {
    this.#callers = callers;
    this.#free = Math.max(2, Math.ceil(limits.largeBodiesMax / workers));
  }

  /**
   * Resolves when the body of a request may be read, by a route that takes `most` bytes.
   * @throws Problem not_acceptable, 401 in its forms, or service_unavailable.
   */
  async admit(request: FastifyRequest, reply: FastifyReply, most: number): Promise<void> {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    const size = coding === undefined ? Number(length ?? 0) : most;
    // One that is too large for the route is refused without being read.
    if (size <= limits.bodyBytesMax || size > most) return;
    requireJsonAccepted(request.headers);
    const token = callerToken(request);
    const { authenticator, failures } = this.#callers;
    const found =
      token === undefined ? undefined : await authenticator.authenticate(token, undefined);
    if (found === undefined) return refuseToken(failures, request);
    request.caller = found.principal;
    await this.#hold(found.principal.merchant, reply);
  }

  /** Until the answer is sent, or its client has gone. */
  async #hold(merchant: string, { raw }: FastifyReply): Promise<void> {
    if (this.#mayStart(merchant)) this.#count(merchant, 1);
    else await this.#turnOf(merchant);
    const end = () => {
      this.#count(merchant, -1);
      this.#startOthers();
    };
    if (raw.destroyed) end();
    else raw.once('close', end);
  }

  /** The first gets half; what a second one takes leaves some for a third. */
  #mayStart(merchant: string): boolean {
    return (this.#held.get(merchant) ?? 0) < this.#free;
  }

  #turnOf(merchant: string): Promise<void> {
    if (this.#waiting.size >= limits.queuedPerMerchantMax) throw overloaded();
    return new Promise((resolve, reject: (late: Problem) => void) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(one);
        reject(overloaded());
      }, limits.largeBodyWaitMax);
      const start = () => {
        clearTimeout(timer);
        this.#waiting.delete(one);
        this.#count(merchant, 1);
        resolve();
      };
      const one = { merchant, start };
      this.#waiting.add(one);
    });
  }

  #startOthers(): void {
    for (const one of this.#waiting) if (this.#mayStart(one.merchant)) one.start();
  }

  #count(merchant: string, by: number): void {
    const held = (this.#held.get(merchant) ?? 0) + by;
    this.#free -= by;
    if (held === 0) this.#held.delete(merchant);
    else this.#held.set(merchant, held);
  }
}
