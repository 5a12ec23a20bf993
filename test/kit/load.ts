// Clients that write and read while something happens to the database, and what must have come of
// it: nothing but successes and 503, each write once, and each key with its answer.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { served } from './again.ts';
import { type Answer, type Api, newKey } from './api.ts';
import type { TestDatabase } from './database.ts';
import { Given } from './given.ts';

/** A merchant with a caller, and products that are counted at one location. */
export interface Shop {
  readonly token: string;
  readonly location: string;
  readonly products: readonly string[];
}

/** @param cell the one that `db` looks at; otherwise that of all merchants of tests. */
export async function openShop(
  db: Pick<TestDatabase, 'sql'>,
  products = 4,
  cell?: string,
): Promise<Shop> {
  const given = new Given(db);
  const merchant = await given.merchant('Corner Shop', cell);
  const { token } = await given.credential(merchant);
  const location = await given.location(merchant);
  const made = Array.from({ length: products }, () => given.product(merchant));
  return { token, location, products: await Promise.all(made) };
}

const path = '/inventory/adjustments';

export const adjustment = ({ location, products }: Shop, n: number) => ({
  product_id: products[n % products.length],
  location_id: location,
  target_quantity: String(n + 1),
  reason: 'stock_count',
});

interface Sent {
  readonly n: number;
  readonly key: string;
  readonly answer: Answer;
  /** When it was answered, by `performance.now()`. */
  readonly at: number;
}

export class Load {
  readonly sent: Sent[] = [];
  readonly statuses = new Map<number, number>();
  readonly #shop: Shop;
  readonly #clients: Promise<void>[];
  #isOver = false;
  #next = 0;

  constructor(api: Api, shop: Shop, clients = 8) {
    this.#shop = shop;
    const caller = api.as(shop.token);
    this.#clients = Array.from({ length: clients }, () => this.#client(caller));
  }

  /** What was answered, and how often. */
  get answers(): string {
    return [...this.statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  }

  /** Resolves when so many more writes have been acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.sent.length + count;
    await expect.poll(() => this.sent.length, { interval: 20 }).toBeGreaterThanOrEqual(wanted);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #client(caller: Api): Promise<void> {
    while (!this.#isOver) {
      const n = this.#next++;
      const key = newKey();
      const body = adjustment(this.#shop, n);
      let answer = this.#counted(await caller.post(path, body, { key }));
      while (answer.status >= 500) {
        await sleep(50);
        answer = this.#counted(await caller.post(path, body, { key }));
      }
      this.sent.push({ n, key, answer, at: performance.now() });
      const levels = `/inventory/levels?location_id=${this.#shop.location}`;
      this.#counted(await caller.get(levels));
    }
  }

  #counted(answer: Answer): Answer {
    const { status, headers } = answer;
    if (status === 503) expect(headers.get('retry-after')).not.toBeNull();
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    return answer;
  }

  /** Call it when it has been stopped. Each `step`th key is sent again. */
  async expectWhole(db: Pick<TestDatabase, 'sql'>, api: Api, step = 10): Promise<void> {
    const { location, token } = this.#shop;
    const others = [...this.statuses.keys()].filter((one) => ![200, 201, 503].includes(one));
    expect(others).toEqual([]);
    const rows = await db.sql<{ id: string }>(
      'select operation_id as id from inventory_movements where location_id = $1',
      [location],
    );
    const acknowledged = this.sent.map(({ answer }) => answer.body.meta.operation_id);
    expect(rows.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
    for (const { n, key, answer } of this.sent.filter((_, i) => i % step === 0)) {
      const body = adjustment(this.#shop, n);
      const again = await served(() => api.as(token).post(path, body, { key }));
      expect(again).toMatchObject({ status: 201 });
      expect(again.body.meta.operation_id).toBe(answer.body.meta.operation_id);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
  }
}
