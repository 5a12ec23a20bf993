// A shop to write to, nodes that reach its database through a proxy of their own, and what must
// hold of a write whatever happened to it: its key settles on one effect and one operation.

import { expect, vi } from 'vitest';
import { connectDatabase } from '../../src/database/connect.ts';
import { verifyLedger } from '../../src/inventory/verify.ts';
import { hashKey } from '../../src/operations/fingerprint.ts';
import { type Answer, type Api, newKey } from '../support/api.ts';
import type { TestDatabase } from '../support/database.ts';
import { ExchangeProxy } from '../support/exchanges.ts';
import { startNode, startService, type TestService } from '../support/service.ts';
import { withoutLimits } from '../support/whole.ts';
import { adjustment, type Write } from './kinds.ts';

export interface FaultyNode {
  readonly api: Api;
  readonly proxy: ExchangeProxy;
  stop(): Promise<void>;
}

export class Stand {
  readonly service: TestService;
  readonly token: string;
  /** A node that no fault reaches. */
  readonly api: Api;
  readonly #merchant: string;
  readonly #location: string;
  #started: Promise<unknown> = Promise.resolve();

  private constructor(service: TestService, token: string, merchant: string, location: string) {
    this.service = service;
    this.token = token;
    this.api = service.api.as(token);
    this.#merchant = merchant;
    this.#location = location;
  }

  /** On a database of its own server, where it is given one. */
  static async open(own?: TestDatabase): Promise<Stand> {
    const service = await startService(undefined, own);
    await withoutLimits(service.db);
    const merchant = await service.given.merchant();
    const location = await service.given.location(merchant);
    const { token } = await service.given.credential(merchant);
    // No note of its use is due while the tests last: it would be one more exchange.
    await service.db.sql('update credentials set last_used_at = now()');
    return new Stand(service, token, merchant, location);
  }

  close(): Promise<void> {
    return this.service.stop();
  }

  /**
   * A node behind a proxy of its own. None of its connections is open yet but that of the rate
   * limits, which no request waits for. One starts after the other: all at once, on a busy machine,
   * they would not get their connections in time.
   */
  node(): Promise<FaultyNode> {
    const next = this.#started.then(() => this.#node());
    this.#started = next.catch(() => undefined);
    return next;
  }

  async #node(): Promise<FaultyNode> {
    for (;;) {
      const node = await this.#start();
      if (await isConnected(node.proxy)) return node;
      // On a busy machine it has given up, and asks again when it needs it.
      await node.stop();
    }
  }

  async #start(): Promise<FaultyNode> {
    const proxy = new ExchangeProxy(this.service.db.serviceUrl);
    const { api, stop } = await startNode(await proxy.listen());
    return {
      api: api.as(this.token),
      proxy,
      stop: async () => {
        proxy.onExchange = () => undefined;
        // A connection that has fallen silent would be waited for.
        proxy.cut();
        await stop();
        await proxy.close();
      },
    };
  }

  /** A write of something that nobody has written before. */
  async newWrite(kind = adjustment): Promise<Write> {
    const content = await kind.content({
      given: this.service.given,
      merchant: this.#merchant,
      location: this.#location,
    });
    return { kind, key: newKey(), ...content };
  }

  send(api: Api, { kind, path, body, key }: Write): Promise<Answer> {
    return api.send(kind.method, path, JSON.stringify(body), { key });
  }

  /** How often the write has been done, and how many operations have its key. */
  async effects({ kind, subject, key }: Write): Promise<{ done: number; operations: number }> {
    const [row] = await this.service.db.sql<{ done: number; operations: number }>(
      `select (${kind.effects}) as done,
         (select count(*)::int from operations where key_hash = $2) as operations`,
      [subject, hashKey(key)],
    );
    return row ?? { done: -1, operations: -1 };
  }

  /**
   * Sends the write again, by a way without faults, and once more: it is answered the same both
   * times, as `first` was if that was a success, and done once.
   */
  async mustSettle(write: Write, what: string, first?: Answer): Promise<Answer> {
    const { status } = write.kind;
    const settled = await this.send(this.api, write);
    expect([what, settled.status]).toEqual([what, status]);
    const again = await this.send(this.api, write);
    expect([what, again.status, isReplay(again)]).toEqual([what, status, true]);
    for (const one of first?.status === status ? [first, settled] : [settled]) {
      expect([what, one.body.meta.operation_id]).toEqual([what, again.body.meta.operation_id]);
      expect([what, one.body.data]).toEqual([what, again.body.data]);
    }
    expect([what, await this.effects(write)]).toEqual([what, { done: 1, operations: 1 }]);
    return settled;
  }

  /** The whole ledger adds up, no key has two operations, none is pending, nothing deadlocked. */
  async verify(): Promise<void> {
    const { db } = this.service;
    const database = connectDatabase({ url: db.serviceUrl, writers: 1 });
    const { differences } = await verifyLedger(database.writer);
    await database.close();
    expect(differences).toEqual([]);
    const [counts] = await db.sql(
      `select count(*) filter (where status = 'claimed')::int as pending,
         (count(*) - count(distinct (merchant_id, credential_id, type, key_hash)))::int as doubled,
         (select deadlocks::int from pg_stat_database where datname = current_database())
           as deadlocks
       from operations`,
    );
    expect(counts).toEqual({ pending: 0, doubled: 0, deadlocks: 0 });
  }
}

async function isConnected(proxy: ExchangeProxy): Promise<boolean> {
  const isOpen = () => proxy.seen.length === 1 && proxy.unanswered === 0;
  const hasOpened = vi.waitUntil(isOpen, { interval: 2, timeout: 3_000 }).then(() => true);
  return (await hasOpened.catch(() => false)) && proxy.connections === 1;
}

export const isReplay = (answer: Answer): boolean =>
  answer.headers.get('idempotent-replayed') === 'true';

/** The status, and what the error is called. */
export const summaryOf = ({ status, code }: Answer): string =>
  code === undefined ? `${status}` : `${status} ${code}`;
