// A shop's stock program tells each night what it has: 2,000 products by its own IDs, and 5,000
// levels at three locations. It keeps no map of IDs, and stays within the limits of requests.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { limits } from '../core/limits.ts';

const productCount = 2_000;
const stockedAt = [2_000, 2_000, 1_000];

let service: Environment;
let api: Api;
let shops: string[];

beforeAll(async () => {
  service = await startEnvironment();
  const merchant = await service.given.merchant();
  shops = [];
  for (const _ of stockedAt) shops.push(await service.given.location(merchant));
  api = service.api.as((await service.given.credential(merchant)).token);
});
afterAll(() => service.stop());

interface Night {
  readonly requests: number;
  /** By external ID. */
  readonly products: ReadonlyMap<string, { readonly id: string; readonly version: number }>;
}

/** The quantity of product `n` at each location. */
type QuantityOf = (n: number, shop: number) => string;

async function sync(nameOf: (n: number) => string, quantityOf: QuantityOf): Promise<Night> {
  let requests = 0;
  const asked = async (answer: Promise<Answer>): Promise<Answer> => {
    requests += 1;
    const { status, body } = await answer;
    expect([200, 201], JSON.stringify(body).slice(0, 500)).toContain(status);
    return answer;
  };
  const numbers = Array.from({ length: productCount }, (_, index) => index);
  const products = new Map<string, { id: string; version: number }>();
  for (const some of slices(numbers, limits.batchItemsMax)) {
    const operations = some.map((n) => ({
      type: 'products.upsert',
      idempotency_key: newKey(),
      external_id: `item/${n}`,
      body: { name: nameOf(n), sku: `SKU-${n}` },
    }));
    const { body } = await asked(api.post('/batches', { operations }));
    for (const { data } of body.data.results) products.set(data.external_id, data);
  }
  for (const [shop, location_id] of shops.entries()) {
    const known = await levelsAt(location_id, asked);
    const lines = numbers.slice(0, stockedAt[shop]).flatMap((n) => {
      const product_id = products.get(`item/${n}`)?.id ?? '';
      const counted_quantity = quantityOf(n, shop);
      return (known.get(product_id) ?? '0') === counted_quantity
        ? []
        : [{ product_id, counted_quantity }];
    });
    for (const some of slices(lines, limits.countLinesMax)) {
      await asked(api.post('/inventory/counts', { location_id, lines: some }));
    }
  }
  return { requests, products };
}

async function levelsAt(location: string, asked: (answer: Promise<Answer>) => Promise<Answer>) {
  const known = new Map<string, string>();
  let cursor = '';
  do {
    const path = `/inventory/levels?location_id=${location}&limit=200${cursor}`;
    const { body } = await asked(api.get(path));
    for (const level of body.data) known.set(level.product_id, level.quantity);
    const next: string | undefined = body.meta.next_cursor;
    cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== '');
  return known;
}

function slices<Item>(items: readonly Item[], size: number): Item[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index * size);
  return starts.map((start) => items.slice(start, start + size));
}

/** The end of the journal. */
async function journalNow() {
  const { body } = await api.get(`/inventory/levels?location_id=${shops[0]}&as_of=now&limit=1`);
  return { position: Number(body.meta.as_of_position), journal: body.meta.journal };
}

const stockOf: QuantityOf = (n, shop) => String(n % 7 === 0 ? 0 : n + shop);

describe('a sync of 2,000 products and 5,000 levels', { timeout: 120_000 }, () => {
  let first: Night;

  test('takes few requests, and makes what the program has', async () => {
    first = await sync((n) => `Item ${n}`, stockOf);
    expect(first.requests).toBeLessThanOrEqual(40);
    expect(first.products.size).toBe(productCount);
    const asItIs = (answer: Promise<Answer>) => answer;
    for (const [shop, location] of shops.entries()) {
      const levels = await levelsAt(location, asItIs);
      for (let n = 0; n < (stockedAt[shop] ?? 0); n += 1) {
        const quantity = levels.get(first.products.get(`item/${n}`)?.id ?? '') ?? '0';
        expect(quantity, `item/${n}`).toBe(stockOf(n, shop));
      }
    }
  });

  test('changes no record, no level and no position where nothing has changed', async () => {
    const before = await journalNow();
    const second = await sync((n) => `Item ${n}`, stockOf);
    expect(second.requests).toBeLessThanOrEqual(40);
    expect(second.products).toEqual(first.products);
    expect(await journalNow()).toEqual(before);
  });

  test('records nothing but what has changed', async () => {
    const { position, journal } = await journalNow();
    const sold: QuantityOf = (n, shop) => (n === 8 && shop === 1 ? '3' : stockOf(n, shop));
    await sync((n) => (n === 5 ? 'Item 5, mended' : `Item ${n}`), sold);
    const { data } = (await api.get(`/events?after_position=${position}&journal=${journal}`)).body;
    expect(data.map(({ type }: { type: string }) => type)).toEqual([
      'product.updated',
      'inventory.counted',
    ]);
    expect(data[1].data.movements).toMatchObject([{ quantity_after: '3' }]);
  });
});
