// The feed as an endless list of events: pages that follow each other by position, and a wait when
// there is nothing yet. It goes on after an outage, and stops when it may not read any more.

import { TallybookError } from './errors.ts';
import type { Event, EventPageMeta, EventsListQuery } from './operations.ts';
import type { CallOptions } from './options.ts';
import type { Page } from './result.ts';
import { sleep, waitBefore } from './transport.ts';

type Filters = Omit<EventsListQuery, 'type' | 'after_position' | 'cursor' | 'wait' | 'limit'>;

export interface SubscribeOptions extends Filters {
  /** Where to begin: the position that was stored last. Without it, at the first event. */
  readonly after?: string | undefined;
  /** The journal that was stored with it. A restore of a backup is noticed by it. */
  readonly journal?: string | undefined;
  /** Only events of these types. */
  readonly types?: EventsListQuery['type'];
  /** Ends the subscription: the loop throws its reason. */
  readonly signal?: AbortSignal | undefined;
}

type List = (
  query: EventsListQuery,
  options: CallOptions,
) => PromiseLike<Page<Event, EventPageMeta>>;

const waitSeconds = 8;

export class Subscription implements AsyncIterable<Event> {
  readonly #list: List;
  readonly #options: SubscribeOptions;
  #position: string;
  #journal: string | undefined;

  constructor(list: List, options: SubscribeOptions = {}) {
    this.#list = list;
    this.#options = options;
    this.#position = options.after ?? '0';
    this.#journal = options.journal;
  }

  /** In a loop that of its event: store it with `journal` once the event is handled. */
  get position(): string {
    return this.#position;
  }

  get journal(): string | undefined {
    return this.#journal;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, never, undefined> {
    const { after: _, journal: __, types: type, signal, ...filters } = this.#options;
    for (let failures = 0; ; ) {
      const place = { after_position: this.#position, journal: this.#journal };
      const query = { ...filters, type, ...place, wait: waitSeconds, limit: 200 };
      try {
        const { data, meta } = await this.#list(query, { signal });
        failures = 0;
        this.#journal = meta.journal;
        for (const event of data) {
          this.#position = event.position;
          yield event;
        }
        // Also what is not shown was passed.
        this.#position = meta.through_position;
      } catch (error) {
        if (!(error instanceof TallybookError) || !error.retryable) throw error;
        await sleep(waitBefore(failures, error.retryAfter), signal);
        failures += 1;
      }
    }
  }
}
