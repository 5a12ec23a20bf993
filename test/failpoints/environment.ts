// Writes under faults: nodes that reach the database through a proxy of their own, and what must
// hold of a write whatever happened to it: its key settles on one effect and one operation.

import { expect, vi } from 'vitest';
import { hashKey } from '../../src/operations/fingerprint.ts';
import { asked, served } from '../kit/again.ts';
import { type Answer, type Api, newKey } from '../kit/api.ts';
import type { TestDatabase } from '../kit/database.ts';
import { startNode } from '../kit/environment.ts';
import { ExchangeProxy, opening } from '../kit/exchanges.ts';
import { WriteEnvironment } from '../kit/write-environment.ts';
import { adjustment, type Write } from './kinds.ts';

export interface FaultyNode {
  readonly api: Api;
  readonly proxy: ExchangeProxy;
  stop(): Promise<void>;
}

export class FaultEnvironment extends WriteEnvironment {
  #started: Promise<unknown> = Promise.resolve();

  static override async start(own?: TestDatabase): Promise<FaultEnvironment> {
    return new FaultEnvironment(await WriteEnvironment.started(own));
  }

  /** The same at another merchant: what is stuck holds the journal of its own merchant. */
  async elsewhere(): Promise<FaultEnvironment> {
    return new FaultEnvironment(await this.startedElsewhere());
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
    const started = await asked(
      async () => {
        const node = await this.#start();
        const isReady = await isConnected(node.proxy);
        // On a busy machine it has given up, and asks again when it needs it.
        if (!isReady) await node.stop();
        return { node, isReady };
      },
      ({ isReady }) => (isReady ? undefined : 'a node without its first connection'),
    );
    return started.node;
  }

  async #start(): Promise<FaultyNode> {
    const proxy = new ExchangeProxy(this.db.serviceUrl);
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

  /** The first request says which cells there are, and the second in which of them the token is. */
  async learn({ api, proxy }: FaultyNode): Promise<void> {
    for (let asks = 0; asks < 2; asks += 1) {
      expect((await served(() => api.get('/credential'))).status).toBe(200);
    }
    proxy.reset();
  }

  /** A write of something that nobody has written before. */
  async newWrite(kind = adjustment): Promise<Write> {
    const content = await kind.content(this);
    return { kind, key: newKey(), ...content };
  }

  send(api: Api, { kind, path, body, key }: Write): Promise<Answer> {
    return api.send(kind.method, path, JSON.stringify(body), { key });
  }

  /** How often the write has been done, and how many operations have its key. */
  async effects({ kind, subject, key }: Write): Promise<{ done: number; operations: number }> {
    const [row] = await this.db.sql<{ done: number; operations: number }>(
      `select (${kind.effects}) as done,
         (select count(*)::int from operations where key_hash = $2) as operations`,
      [subject, hashKey(key)],
    );
    return row ?? { done: -1, operations: -1 };
  }

  /** What a replay shows: what only the first answer has is null then, and was of use. */
  async #shownAgain({ kind: { once } }: Write, answer: Answer): Promise<unknown> {
    const { data } = answer.body;
    if (once === undefined) return data;
    if (isReplay(answer)) expect(data[once]).toBeNull();
    else {
      const caller = await served(() => this.api.as(data[once]).get('/credential'));
      expect(caller.body.data?.id).toBe(data.id);
    }
    return { ...data, [once]: null };
  }

  /**
   * Sends the write twice more to a node without faults: both answers are the same, and the same as
   * `first` if that was a success. It is done once.
   */
  async mustSettle(write: Write, what: string, first?: Answer): Promise<Answer> {
    const { status } = write.kind;
    const settled = await served(() => this.send(this.api, write));
    expect([what, settled.status]).toEqual([what, status]);
    const again = await served(() => this.send(this.api, write));
    expect([what, again.status, isReplay(again)]).toEqual([what, status, true]);
    for (const one of first?.status === status ? [first, settled] : [settled]) {
      expect([what, one.body.meta.operation_id]).toEqual([what, again.body.meta.operation_id]);
      expect([what, await this.#shownAgain(write, one)]).toEqual([what, again.body.data]);
    }
    expect([what, await this.effects(write)]).toEqual([what, { done: 1, operations: 1 }]);
    return settled;
  }
}

async function isConnected(proxy: ExchangeProxy): Promise<boolean> {
  const isOpen = () => proxy.seen.length === opening.length && proxy.unanswered === 0;
  const hasOpened = vi.waitUntil(isOpen, { interval: 2, timeout: 3_000 }).then(() => true);
  return (await hasOpened.catch(() => false)) && proxy.connections === 1;
}

export const away = '503 service_unavailable';

/**
 * On a machine that is busy with other work a connection may not open in time, which is 503
 * whatever else happens. Then the same is tried again, with a write of its own.
 */
export const unlessBusy = <Sent extends { readonly answer: Answer }>(
  expected: string | ((sent: Sent) => string),
  send: () => Promise<Sent>,
): Promise<Sent> =>
  asked(send, (sent) => {
    const wanted = typeof expected === 'string' ? expected : expected(sent);
    const summary = summaryOf(sent.answer);
    if (summary === wanted || summary !== away) return undefined;
    return `${summary} in place of ${wanted}`;
  });

export const isReplay = (answer: Answer): boolean =>
  answer.headers.get('idempotent-replayed') === 'true';

/** The status, and what the error is called. */
export const summaryOf = ({ status, code }: Answer): string =>
  code === undefined ? `${status}` : `${status} ${code}`;
