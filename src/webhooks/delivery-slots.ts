// How many calls may be under way. Those that take long, and those of receivers that failed last,
// share a number of their own, so that receivers which hang take nothing from the others.

import { limits } from '../core/limits.ts';
import type { Runner } from './delivery-runner.ts';

export class Slots {
  #quick = 0;
  #doubtful = 0;
  /** Runners that wait for a call to end, in the order in which they came. */
  readonly #waiting = { quick: new Set<Runner>(), doubtful: new Set<Runner>() };

  get taken(): number {
    return this.#quick + this.#doubtful;
  }

  mayTake(runner: Runner): boolean {
    const isDoubtful = runner.isDoubtful;
    const taken = isDoubtful ? this.#doubtful : this.#quick;
    const mayTake = taken < limits.webhookCallsOfAllMax;
    if (!mayTake) this.#waiting[isDoubtful ? 'doubtful' : 'quick'].add(runner);
    return mayTake;
  }

  /** Returns what frees it. */
  take(runner: Runner): () => void {
    let isDoubtful = runner.isDoubtful;
    this.#count(isDoubtful, 1);
    let isLong = false;
    const timer = setTimeout(() => {
      isLong = true;
      runner.long += 1;
      if (isDoubtful) return;
      isDoubtful = true;
      this.#count(false, -1);
      this.#count(true, 1);
    }, limits.webhookCallLong);
    return () => {
      clearTimeout(timer);
      if (isLong) runner.long -= 1;
      this.#count(isDoubtful, -1);
    };
  }

  forget(runner: Runner): void {
    for (const waiting of Object.values(this.#waiting)) waiting.delete(runner);
  }

  #count(isDoubtful: boolean, change: 1 | -1): void {
    if (isDoubtful) this.#doubtful += change;
    else this.#quick += change;
    if (change > 0) return;
    const waiting = this.#waiting[isDoubtful ? 'doubtful' : 'quick'];
    const [next] = waiting;
    if (next === undefined) return;
    waiting.delete(next);
    next.run();
  }
}
