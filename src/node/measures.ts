// The metrics of a node with workers: their sum. What an ended worker has counted stays in it, as
// far as it was read or the worker could still say it, so that no counter goes down.

import { AggregatorRegistry, type Registry } from 'prom-client';

/** The metrics of one process, as they pass to another. */
export type Measures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export class Measurements {
  /** The counters of workers that have ended, one after the other. */
  #past: Promise<Measures> = Promise.resolve([]);

  add(ended: Measures): void {
    const counters = ended.filter(({ type }) => isCounted(String(type)));
    this.#past = this.#past.then((past) => sumOf([past, counters]).getMetricsAsJSON());
  }

  /**
   * @param read asks the processes that are there. Who ends meanwhile counts among them, not among
   *   those that have ended.
   */
  async sum(read: () => Promise<readonly Measures[]>): Promise<Registry> {
    const [past, present] = await Promise.all([this.#past, read()]);
    return sumOf([...present, past]);
  }
}

const sumOf = (all: readonly Measures[]): Registry => AggregatorRegistry.aggregate([...all]);

const isCounted = (type: string) => type === 'counter' || type === 'histogram';
