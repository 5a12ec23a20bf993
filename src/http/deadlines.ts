// Nobody waits longer than the deadline, whatever the work does. All requests have the same time,
// so their deadlines come in the order in which they began, and one timer serves all that wait.

import { Problem } from '../core/problem.ts';

interface Waiting {
  /** By `performance.now()`. */
  readonly deadline: number;
  reject(problem: Problem): void;
}

export class Deadlines {
  /** In the order of their deadlines. */
  readonly #waiting = new Set<Waiting>();
  #alarm: NodeJS.Timeout | undefined;

  /** What the work comes to, or at the deadline a `timeout`. The work may still finish. */
  keep<Result>(deadline: number, work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { deadline, reject };
      this.#waiting.add(waiting);
      this.#watch();
      work.then(
        (result) => {
          this.#waiting.delete(waiting);
          resolve(result);
        },
        (error: unknown) => {
          this.#waiting.delete(waiting);
          reject(error);
        },
      );
    });
  }

  /** Goes off for the oldest that waits now; if that is done by then, for the oldest of then. */
  #watch(): void {
    const [oldest] = this.#waiting;
    if (this.#alarm !== undefined || oldest === undefined) return;
    this.#alarm = setTimeout(() => {
      this.#alarm = undefined;
      this.#refuseLate();
      this.#watch();
    }, oldest.deadline - performance.now());
    this.#alarm.unref();
  }

  #refuseLate(): void {
    const now = performance.now();
    for (const waiting of this.#waiting) {
      if (waiting.deadline > now) return;
      this.#waiting.delete(waiting);
      waiting.reject(new Problem('timeout', { headers: { 'Retry-After': '1' } }));
    }
  }
}
