import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';

// Merchants whose commands run as one transaction.

interface Shop {
  readonly merchant: string;
  readonly location: string;
  readonly products: readonly string[];
  readonly api: Api;
}

let service: Environment;
let shops: readonly Shop[];

beforeAll(async () => {
  service = await startEnvironment();
  shops = await Promise.all(times(3, openShop));
});
afterAll(() => service.stop());

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

async function openShop(): Promise<Shop> {
  const merchant = await service.given.merchant();
  const location = await service.given.location(merchant);
  const products = await Promise.all(times(20, () => service.given.product(merchant)));
  const { token } = await service.given.credential(merchant);
  return { merchant, location, products, api: service.api.as(token) };
}

const path = '/inventory/adjustments';

function adjust(shop: Shop, product: string, target: number, more: object = {}): Promise<Answer> {
  const { location, api } = shop;
  const body = { product_id: product, location_id: location, target_quantity: `${target}` };
  return api.post(path, { ...body, reason: 'correction', ...more });
}

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

/** How many merchants the largest transaction of these had commands of. */
async function merchantsTogether(answers: readonly Answer[]): Promise<number> {
  const rows = await service.db.sql<{ merchants: number }>(
    `select count(distinct merchant_id)::int as merchants from operations
     where id = any ($1) group by xmin::text order by 1 desc`,
    [answers.map(({ body }) => body.meta.operation_id)],
  );
  return rows[0]?.merchants ?? 0;
}

async function locked<T>(product: string, body: () => Promise<T>): Promise<T> {
  const session = await service.db.session();
  await session.query('begin');
  await session.query('select 1 from inventory_levels where product_id = $1 for update', [product]);
  try {
    return await body();
  } finally {
    await session.query('rollback');
  }
}

describe('merchants that share a batch', () => {
  test('see nothing of each other, though they name each other’s products', async () => {
    const [mine, theirs] = shops as [Shop, Shop];
    // Again until it was so: which writes meet in a batch is a matter of moments.
    for (let base = 0, together = 0; together < 2; base += 100) {
      await Promise.all(theirs.products.map((product) => adjust(theirs, product, base + 50)));
      // Every product by its owner and by the other one, at the same moments.
      const asked = theirs.products.flatMap((product, n) => [
        adjust(theirs, product, base + 60 + n, { expected_quantity: `${base + 50}` }),
        adjust(mine, product, base + 70 + n),
      ]);
      const answers = await Promise.all(asked);
      expect(statuses(answers)).toEqual(times(40, (n) => (n % 2 === 0 ? 201 : 422)));
      for (const [n, { code, body }] of answers.entries()) {
        if (n % 2 === 1) expect(code).toBe('product_not_found');
        else expect(body.data.level.quantity).toBe(`${base + 60 + n / 2}`);
      }
      together = await merchantsTogether(answers);
    }
    const levels = await service.db.sql('select 1 from inventory_levels where merchant_id = $1', [
      mine.merchant,
    ]);
    expect(levels).toEqual([]);
  });

  test('use the same keys, SKUs and codes without meeting', async () => {
    // Again until it was so: which writes meet in a batch is a matter of moments.
    for (let round = 1, together = 0; together < 2; round += 1) {
      const key = newKey();
      const body = { name: 'Rye', sku: `RYE-${round}`, unit: { code: 'each', precision: 0 } };
      const answers = await Promise.all(
        times(10, () => shops.map(({ api }) => api.post('/products', body, { key }))).flat(),
      );
      expect(statuses(answers)).toEqual(times(30, () => 201));
      const ids = new Set(answers.map(({ body: { data } }) => data.id));
      expect(ids.size).toBe(3);
      together = await merchantsTogether(answers);
    }
  });

  test('lose nothing when the database refuses a row of one of them', async () => {
    await service.db.sql(`alter table inventory_movements
      add constraint refuse_poison check (note is distinct from 'poison') not valid`);
    const answers = await Promise.all(
      times(20, (n) =>
        shops.map((shop, who) =>
          adjust(shop, shop.products[n] ?? '', 100 + n, who === 0 && n === 9 ? poison : {}),
        ),
      ).flat(),
    );
    await service.db.sql('alter table inventory_movements drop constraint refuse_poison');
    expect(statuses(answers)).toEqual(times(60, (n) => (n === 27 ? 500 : 201)));
  });
});

const poison = { note: 'poison' };

describe('a merchant whose level stays locked', () => {
  test('delays those that share its batch for a moment, and then nobody', async () => {
    const [stuck, ...others] = shops as [Shop, Shop, Shop];
    const [product = ''] = stuck.products;
    const { answers, took, later } = await locked(product, async () => {
      const started = performance.now();
      const hung = times(3, (n) => adjust(stuck, product, 200 + n));
      const answers = await Promise.all(
        others.flatMap((shop) => shop.products.map((one, n) => adjust(shop, one, 300 + n))),
      );
      const took = performance.now() - started;
      const again = performance.now();
      const next = others.flatMap((shop) =>
        shop.products.map((one, n) => adjust(shop, one, 400 + n)),
      );
      expect(statuses(await Promise.all(next))).toEqual(times(40, () => 201));
      return { answers, took, later: { took: performance.now() - again, hung } };
    });
    expect(statuses(answers)).toEqual(times(40, () => 201));
    // Much less than the 2 s that a lock is waited for.
    expect(took).toBeLessThan(1_200);
    expect(later.took).toBeLessThan(1_000);
    for (const { status } of await Promise.all(later.hung)) expect([201, 503]).toContain(status);
    expect((await adjust(stuck, product, 500)).status).toBe(201);
  });
});
