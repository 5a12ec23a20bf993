// What sends, loaded by the first call: most services have no webhooks.

import type { Destinations } from './address.ts';
import { receiverLookup } from './lookup.ts';
import type { WebhookSender } from './send.ts';

export class SenderOnDemand {
  readonly #destinations: Destinations;
  #sender: Promise<WebhookSender> | undefined;

  constructor(destinations: Destinations) {
    this.#destinations = destinations;
  }

  load(): Promise<WebhookSender> {
    this.#sender ??= import('./send.ts').then(
      (loaded) => new loaded.WebhookSender(this.#destinations, receiverLookup(this.#destinations)),
    );
    return this.#sender;
  }

  /** Ends the calls under way. */
  async close(): Promise<void> {
    await (await this.#sender)?.close();
  }
}
