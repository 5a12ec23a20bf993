// Tills that sell the same product at the same moment, on two nodes: each time it runs out is told
// once, by the sale that has taken it there.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Api, newKey } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';

let service: Environment;
let node: Awaited<ReturnType<typeof startNode>>;
let shop: string;
let apis: readonly [Api, Api];

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  node = await startNode(service.db.serviceUrl);
  const merchant = await service.given.merchant();
  shop = await service.given.location(merchant);
  const { token } = await service.given.credential(merchant);
  apis = [service.api.as(token), node.api.as(token)];
});
afterAll(async () => {
  expect(await ledgerDifferences(service.db)).toEqual([]);
  await node.stop();
  await service.stop();
});

async function write(n: number, path: string, body: object) {
  const key = newKey();
  const api = apis[n % 2] ?? apis[0];
  const answer = await served(() => api.post(path, body, { key }));
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

const move = (n: number, members: object, product_id: string, quantity: string) =>
  write(n, '/inventory/transfers', { ...members, lines: [{ product_id, quantity }] });

interface Low {
  readonly available_quantity: string;
  readonly low_stock_at: string;
}

/** What the events of a product say runs out, in their order. */
async function lowsOf(product: string, query = ''): Promise<(readonly Low[] | undefined)[]> {
  const found: (readonly Low[] | undefined)[] = [];
  for (let cursor = ''; ; ) {
    const page = await apis[0].get(`/events?product_id=${product}${query}&limit=200${cursor}`);
    found.push(...page.body.data.map((one: { data: { low_stock?: Low[] } }) => one.data.low_stock));
    if (page.body.meta.next_cursor === undefined) return found;
    cursor = `&cursor=${page.body.meta.next_cursor}`;
  }
}

test('16 tills that sell one product tell each time it runs out once, at its line', async () => {
  const made = await write(0, '/products', { name: 'Milk', low_stock_at: '20' });
  const { id } = made.data;
  const rounds = extent(5, 40);
  let n = 0;
  for (let round = 0; round < rounds; round += 1) {
    await move(0, { to_location_id: shop, reason: 'receipt' }, id, '40');
    const till = async () => {
      for (let sale = 0; sale < 2; sale += 1) {
        n += 1;
        await move(n, { from_location_id: shop, reason: 'sale' }, id, '1');
      }
    };
    await Promise.all(Array.from({ length: 16 }, till));
    await move(0, { from_location_id: shop, reason: 'loss' }, id, '8');
  }
  const expected = [
    { product_id: id, location_id: shop, available_quantity: '20', low_stock_at: '20' },
  ];
  const lows = await lowsOf(id, '&low_stock=true');
  expect(lows).toEqual(Array.from({ length: rounds }, () => expected));
  const all = await lowsOf(id);
  expect(all.filter((one) => one !== undefined)).toEqual(lows);
});

test('sales, orders, returns and damage at once tell what the journal says of them', async () => {
  const made = await write(0, '/products', { name: 'Bread', low_stock_at: '60' });
  const { id } = made.data;
  const line = { product_id: id, quantity: '1' };
  await move(0, { to_location_id: shop, reason: 'receipt' }, id, '61');
  const kinds = [
    (n: number) => move(n, { from_location_id: shop, reason: 'sale' }, id, '1'),
    (n: number) => write(n, '/inventory/reservations', { location_id: shop, lines: [line] }),
    (n: number) => move(n, { to_location_id: shop, reason: 'return' }, id, '4'),
    (n: number) => move(n, { from_location_id: shop, reason: 'damage' }, id, '2'),
  ];
  const till = async (at: number) => {
    for (let turn = 0; turn < extent(8, 40); turn += 1) await kinds[(at + turn) % 4]?.(at);
  };
  await Promise.all(Array.from({ length: 12 }, (_, at) => till(at)));
  // As much came as went, so 61 are available again.
  await move(0, { from_location_id: shop, reason: 'sale' }, id, '1');
  // The journal says what was available before and after each.
  const events: { type: string; data: Shown }[] = [];
  for (let cursor = ''; ; ) {
    const page = await apis[0].get(`/events?product_id=${id}&limit=200${cursor}`);
    events.push(...page.body.data);
    if (page.body.meta.next_cursor === undefined) break;
    cursor = `&cursor=${page.body.meta.next_cursor}`;
  }
  let available = 0;
  let crossings = 0;
  for (const { data } of events.filter(({ type }) => type.startsWith('inventory.'))) {
    const before = available;
    for (const { quantity_delta } of data.movements) available += Number(quantity_delta);
    for (const { quantity } of data.reservation_lines ?? []) available -= Number(quantity);
    const isTold = before > 60 && available <= 60;
    const expected = isTold ? [{ available_quantity: String(available), low_stock_at: '60' }] : [];
    expect(data.low_stock ?? []).toMatchObject(expected);
    if (isTold) crossings += 1;
  }
  expect(crossings).toBeGreaterThan(0);
});

interface Shown {
  readonly movements: readonly { readonly quantity_delta: string }[];
  readonly reservation_lines?: readonly { readonly quantity: string }[];
  readonly low_stock?: readonly Low[];
}
