// The client: the operations of the interface over one transport.

import { operationsOver } from './call.ts';
import { type ClientCredentials, tokensOf } from './client-credentials.ts';
import type { Operations } from './operations.ts';
import type { ClientOptions } from './options.ts';
import { Outbox, type OutboxOptions } from './outbox.ts';
import type { OutboxStore } from './outbox-store.ts';
import { type SubscribeOptions, Subscription } from './subscription.ts';
import { Transport } from './transport.ts';

interface Feed {
  readonly events: {
    /** All events in order, and those to come. */
    subscribe(options?: SubscribeOptions): Subscription;
  };
}

/** The operations come from a list: TypeScript cannot see that a class has them. */
const WithOperations = class {
  constructor(transport: Transport) {
    const operations = operationsOver(transport);
    const { list } = operations.events;
    const subscribe = (options?: SubscribeOptions) => new Subscription(list, options);
    Object.assign(this, operations, { events: { ...operations.events, subscribe } });
  }
} as new (
  transport: Transport,
) => Operations & Feed;

export class Tallybook extends WithOperations {
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    super(transport);
    this.#transport = transport;
  }

  /** As an application that acts for itself: tokens are made and replaced as needed. */
  static withClientCredentials(credentials: ClientCredentials): Tallybook {
    const { baseUrl, budgetMs } = credentials;
    return new Tallybook({ baseUrl, budgetMs, token: tokensOf(credentials) });
  }

  /**
   * A durable queue of writes, which begins to send what the store has.
   * @throws TypeError on a page that a cookie speaks for: it may become another person's.
   */
  outbox(store: OutboxStore, options?: OutboxOptions): Outbox {
    if (!this.#transport.hasToken) throw new TypeError('An outbox needs a token.');
    return new Outbox(this.#transport, store, options);
  }
}
