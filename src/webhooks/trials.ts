// Test events: each is sent once, by the node that has committed its request, after the answer.
// What became of it is among the deliveries. A node that dies in between sends nothing.

import type { Operation, Write } from '../contract/endpoint.ts';
import type { MerchantId } from '../core/principal.ts';
import { begin, commit, type Reads, requireCommitted, type Writer } from '../core/statement.ts';
import type { Destinations } from './address.ts';
import type { Attempt } from './contract.ts';
import { openSecrets, type WebhookTools } from './endpoints.ts';
import type { CallFailure } from './failures.ts';
import type { WebhookSecretSealer } from './secret.ts';
import type { SenderOnDemand } from './sender.ts';
import { signatureHeaders } from './signature.ts';
import { type CallRow, findCall, recordAttempt } from './store.ts';

interface TrialOptions extends Pick<WebhookTools, 'sealer' | 'destinations'> {
  readonly sender: SenderOnDemand;
  /** Of one merchant. */
  readonly atOnce: number;
  readonly writerOf: (merchant: MerchantId) => Writer;
  readonly readerOf: (merchant: MerchantId) => Reads;
}

export class WebhookTrials implements WebhookTools {
  readonly sealer: WebhookSecretSealer;
  readonly destinations: Destinations;
  readonly #options: TrialOptions;
  readonly #running = new Set<Promise<void>>();
  /** How many calls are under way, by merchant. */
  readonly #calls = new Map<MerchantId, number>();

  constructor(options: TrialOptions) {
    this.sealer = options.sealer;
    this.destinations = options.destinations;
    this.#options = options;
  }

  /** Sends in the background. */
  send(operation: Operation, write: Write): void {
    // Without a database nobody can be told: then there is no attempt to be seen.
    const sending = this.#send(operation, write).catch(() => undefined);
    this.#running.add(sending);
    void sending.finally(() => this.#running.delete(sending));
  }

  /** Ends the calls under way. */
  async close(): Promise<void> {
    await this.#options.sender.close();
    await Promise.all(this.#running);
  }

  async #send(operation: Operation, write: Write): Promise<void> {
    const { merchant, id } = write;
    const reads = this.#options.readerOf(merchant);
    const row = await reads.find((ids) => findCall(merchant, ids), id);
    if (row === undefined) return;
    const at = new Date();
    const eventId = operation.id.replace(/^op_/, 'evt_');
    const calls = (this.#calls.get(merchant) ?? 0) + 1;
    this.#calls.set(merchant, calls);
    const body = bodyOf(operation, write, row);
    const sending =
      calls > this.#options.atOnce
        ? nothingSent('too_many_tests')
        : this.#call(row, merchant, eventId, at, body);
    const outcome = await sending.finally(() => this.#done(merchant));
    const attempt = { event_id: eventId, position: null, ...outcome, at: at.toISOString() };
    await this.#record(merchant, id, attempt);
  }

  async #call(row: CallRow, merchant: MerchantId, id: string, at: Date, body: string) {
    const secrets = openSecrets(this.sealer, merchant, row);
    if (secrets === undefined) return nothingSent('secret_unreadable');
    const headers = signatureHeaders({ id, at, body, secrets });
    return (await this.#options.sender.load()).send({ url: row.url, headers, body });
  }

  #done(merchant: MerchantId): void {
    const left = (this.#calls.get(merchant) ?? 1) - 1;
    if (left > 0) this.#calls.set(merchant, left);
    else this.#calls.delete(merchant);
  }

  async #record(merchant: MerchantId, webhook: string, attempt: Attempt): Promise<void> {
    const connection = await this.#options.writerOf(merchant).connect();
    try {
      const results = await connection.send([
        begin,
        recordAttempt(merchant, webhook, attempt),
        commit,
      ]);
      requireCommitted(results.at(-1));
      connection.release();
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}

async function nothingSent(failure: CallFailure) {
  return { status: null, failure, milliseconds: 0 };
}

/** An event as the feed has them, but that it is at no place in the journal. */
function bodyOf({ id, created_at }: Operation, { actor, body }: Write, row: CallRow): string {
  const { note } = body as { readonly note: string | null };
  return JSON.stringify({
    id: id.replace(/^op_/, 'evt_'),
    position: null,
    type: 'webhook.test',
    occurred_at: created_at,
    operation_id: id,
    actor,
    resource: { type: 'webhook', id: row.id, version: row.version },
    location_ids: [],
    data: { note },
  });
}
