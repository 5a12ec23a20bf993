// What must be true when a call begins: the webhook is active, is had by this process, and its
// credential may read what is sent. Read from the database for each call. Those that ask at the
// same moment share two queries, but only ones that are not sent yet: an older one could miss a
// revocation.

import type { MerchantId } from '../core/principal.ts';
import type { Reader, Reads } from '../core/statement.ts';
import type { Event, EventPages } from '../events/pages.ts';
import { reachOfWebhook } from '../events/reach.ts';
import type { CallCheck } from './delivery-host.ts';
import type { Runner } from './delivery-runner.ts';
import { type CheckRow, findChecks } from './delivery-store.ts';
import { openSecrets } from './endpoints.ts';
import { readReaches } from './reach.ts';
import type { WebhookSecretSealer } from './secret.ts';
import type { WebhookSender } from './send.ts';
import type { SenderOnDemand } from './sender.ts';
import { signatureHeaders } from './signature.ts';

export interface CheckTools {
  /** For what is asked of all merchants. */
  readonly reader: Reader;
  readonly readerOf: (merchant: MerchantId) => Reads;
  readonly pages: EventPages;
  readonly sealer: WebhookSecretSealer;
  readonly sender: SenderOnDemand;
}

/** As many as one query takes. */
const checksPerQuery = 256;
/** One that hangs does not hold up all. */
const queriesAtOnce = 2;

interface Asking {
  readonly runner: Runner;
  resolve(verdict: CallCheck): void;
  reject(error: unknown): void;
}

export class Checks {
  readonly #tools: CheckTools;
  readonly #now: () => number;
  readonly #asking: Asking[] = [];
  #running = 0;
  #isScheduled = false;

  constructor(tools: CheckTools, now: () => number) {
    this.#tools = tools;
    this.#now = now;
  }

  ask(runner: Runner): Promise<CallCheck> {
    return new Promise((resolve, reject) => {
      this.#asking.push({ runner, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running >= queriesAtOnce || this.#asking.length === 0) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      const batch = this.#asking.splice(0, checksPerQuery);
      this.#running += 1;
      void this.#judge(batch).finally(() => {
        this.#running -= 1;
        this.#schedule();
      });
      this.#schedule();
    });
  }

  async #judge(batch: readonly Asking[]): Promise<void> {
    try {
      const { reader } = this.#tools;
      const runners = batch.map(({ runner }) => runner);
      const [rows, principals, sender] = await Promise.all([
        reader.query(findChecks(runners)),
        readReaches(
          reader,
          runners.map(({ maker }) => maker),
        ),
        this.#tools.sender.load(),
      ]);
      const found = new Map(rows.map((row) => [`${row.merchant_id} ${row.id}`, row]));
      for (const [index, { runner, resolve }] of batch.entries()) {
        const row = found.get(`${runner.merchant} ${runner.id}`);
        if (row === undefined || row.epoch !== runner.epoch) resolve({ kind: 'lost' });
        else resolve(this.#verdict(row, principals[index], sender));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  #verdict(
    row: CheckRow,
    principal: Awaited<ReturnType<typeof readReaches>>[number],
    sender: WebhookSender,
  ): CallCheck {
    if (principal === undefined) return { kind: 'pause', reason: 'credential_ended' };
    const { merchant_id: merchant, url } = row;
    const secrets = openSecrets(this.#tools.sealer, merchant, row);
    if (secrets === undefined) return { kind: 'pause', reason: 'secret_unreadable' };
    const reach = reachOfWebhook(principal, row);
    const { pages, readerOf } = this.#tools;
    return {
      kind: 'go',
      reach: JSON.stringify(reach),
      call: (event: Event) => {
        const body = JSON.stringify(event);
        const at = new Date(this.#now());
        const headers = signatureHeaders({ id: event.id, at, body, secrets });
        return sender.send({ url, headers, body });
      },
      find: async (after, limit) =>
        pages.read(readerOf(merchant), merchant, { reach, after, limit }),
    };
  }
}
