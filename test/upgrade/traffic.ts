// Clients that write while nodes of two versions run side by side: each key is sent until there is
// a definitive answer, then again elsewhere, and every answer is held against the first.

import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Given } from '../kit/given.ts';
import { type Reply, Sender } from '../kit/sender.ts';

/** A node that requests may be sent to. */
export class Node {
  readonly name: string;
  readonly #sender: Sender;
  isUp = true;

  constructor(name: string, origin: string) {
    this.name = name;
    this.#sender = new Sender(origin, 32);
  }

  async send(request: Request, body = request.body): Promise<Reply> {
    const { method, path, token, key } = request;
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    return this.#sender.send(method, `/api/v1${path}`, headers, body);
  }

  close(): void {
    this.isUp = false;
    this.#sender.close();
  }
}

export interface Request {
  readonly key: string;
  readonly merchant: string;
  readonly token: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: string;
}

/** What a key was bound to, by its first definitive answer. */
export interface Bound extends Request {
  readonly operation: string;
  readonly status: number;
}

interface Shop {
  readonly merchant: string;
  readonly tokens: readonly string[];
  readonly products: readonly string[];
  readonly locations: readonly string[];
}

export async function openShops(given: Given, count: number): Promise<Shop[]> {
  const many = (length: number, make: () => Promise<string>) =>
    Promise.all(Array.from({ length }, make));
  return Promise.all(
    Array.from({ length: count }, async () => {
      const merchant = await given.merchant();
      return {
        merchant,
        tokens: await many(4, async () => (await given.credential(merchant)).token),
        products: await many(25, () => given.product(merchant)),
        locations: await many(2, () => given.location(merchant)),
      };
    }),
  );
}

export class Traffic {
  readonly bound = new Map<string, Bound>();
  /** What must not be: a conflict, another operation or another status for one key. */
  readonly faults: string[] = [];
  answers = 0;
  /** Attempts without a definitive answer, by status; 0: the connection broke. */
  readonly retried = new Map<number, number>();
  /** Milliseconds until a definitive answer, since `slowest` was last set to 0. */
  slowest = 0;
  readonly #shops: readonly Shop[];

  constructor(shops: readonly Shop[]) {
    this.#shops = shops;
  }

  /** Mostly adjustments, to few quantities of few products: many change nothing and are refused. */
  request(): Request {
    const shop = one(this.#shops);
    const dice = randomInt(20);
    const base = { key: randomUUID(), merchant: shop.merchant, token: one(shop.tokens) };
    if (dice < 2) {
      const body = JSON.stringify({ name: `Oil ${base.key}`, sku: `S-${randomInt(500)}` });
      return { ...base, method: 'POST', path: '/products', body };
    }
    if (dice === 2) {
      const body = JSON.stringify({ name: 'Ada', email: `${base.key}@example.com` });
      return { ...base, method: 'POST', path: '/customers', body };
    }
    if (dice === 3) {
      const body = JSON.stringify({ description: `Sack ${randomInt(10)}` });
      return { ...base, method: 'PATCH', path: `/products/${one(shop.products)}`, body };
    }
    const body = JSON.stringify({
      product_id: one(shop.products),
      location_id: one(shop.locations),
      target_quantity: String(randomInt(12)),
      reason: 'stock_count',
    });
    return { ...base, method: 'POST', path: '/inventory/adjustments', body };
  }

  /** Sends one request to nodes in turn until one gives a definitive answer. */
  async insist(request: Request, nodes: readonly Node[]): Promise<void> {
    const started = performance.now();
    for (let attempt = 0; attempt < 400; attempt += 1) {
      const node = nodes[attempt % nodes.length];
      if (node?.isUp === true && (await this.#attempt(request, node))) {
        this.slowest = Math.max(this.slowest, performance.now() - started);
        return;
      }
      await sleep(10 + randomInt(40));
    }
    this.faults.push(`${request.key}: no definitive answer`);
  }

  /** Sends the request of a bound key with another body. */
  async conflict(bound: Bound, node: Node): Promise<number> {
    return (await node.send(bound, JSON.stringify({ name: 'Something else' }))).status;
  }

  /** Writes at one node and retries at another, for as long as told. */
  async run(workers: number, nodes: () => readonly Node[], goesOn: () => boolean): Promise<void> {
    const work = async () => {
      while (goesOn()) {
        const request = this.request();
        await this.insist(request, shuffled(nodes()));
        await this.insist(request, shuffled(nodes()));
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
  }

  async #attempt(request: Request, node: Node): Promise<boolean> {
    const reply = await node.send(request).catch(() => undefined);
    const status = reply?.status ?? 0;
    if (reply === undefined || status >= 500 || status === 429) {
      this.retried.set(status, (this.retried.get(status) ?? 0) + 1);
      return false;
    }
    this.answers += 1;
    const { meta } = JSON.parse(reply.text) as { meta: { operation_id?: string } };
    const operation = meta.operation_id ?? '';
    const known = this.bound.get(request.key);
    if (known === undefined && operation !== '' && status !== 409) {
      this.bound.set(request.key, { ...request, operation, status });
    } else if (known?.operation !== operation || known.status !== status) {
      const before = `${known?.status} ${known?.operation}`;
      this.faults.push(`${request.key} at ${node.name}: ${status} ${operation}, was ${before}`);
    }
    return true;
  }
}

function one<T>(list: readonly T[]): T {
  const chosen = list[randomInt(list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}

function shuffled<T>(list: readonly T[]): T[] {
  const start = randomInt(Math.max(1, list.length));
  return [...list.slice(start), ...list.slice(0, start)];
}
