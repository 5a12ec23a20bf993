// Reservations on several nodes at once, whose clocks differ by an hour, with their sweeps: never
// more put aside than there is, each ends once, and a killed node leaves nothing half done.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { later, passed } from '../../test/kit/database-clock.ts';
import { extent } from '../../test/kit/extent.ts';
import { Given } from '../../test/kit/given.ts';
import { ledgerDifferences } from '../../test/kit/ledger.ts';
import { type ServiceProcess, startProcess } from '../../test/kit/process.ts';

let db: TestDatabase;
let given: Given;
let merchant: string;
let shop: string;
let token: string;
let nodes: readonly ServiceProcess[] = [];
let apis: readonly Api[] = [];

const clock = (name: string) => {
  const preload = new URL(`../../test/kit/clock-${name}.mjs`, import.meta.url);
  return { NODE_OPTIONS: `--import ${fileURLToPath(preload)}` };
};

beforeAll(async () => {
  db = await createTestDatabase();
  given = new Given(db);
  merchant = await given.merchant();
  shop = await given.location(merchant);
  ({ token } = await given.credential(merchant));
  await db.sql('update credentials set requests_per_minute = 0 where merchant_id = $1', [merchant]);
  await db.sql('update merchants set requests_per_minute = 0 where id = $1', [merchant]);
  nodes = await Promise.all([startProcess(db, clock('ahead')), startProcess(db, clock('behind'))]);
  apis = nodes.map(({ api }) => api.as(token));
});
afterAll(async () => {
  const [row] = await db.sql<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  expect(row).toEqual({ deadlocks: 0 });
  await Promise.all(nodes.map((node) => node.end()));
  await db?.drop();
});

const on = (n: number): Api => {
  const api = apis[n % apis.length];
  if (api === undefined) throw new Error('there are no nodes');
  return api;
};

/** Products with so much of each on hand. */
async function stocked(count: number, quantity: string): Promise<string[]> {
  const products: string[] = [];
  for (let from = 0; from < count; from += 100) {
    const some = await Promise.all(
      Array.from({ length: Math.min(100, count - from) }, () => given.product(merchant)),
    );
    const lines = some.map((product_id) => ({ product_id, quantity }));
    const body = { to_location_id: shop, reason: 'receipt', lines };
    expect((await write(on(0), '/inventory/transfers', body)).status).toBe(201);
    products.push(...some);
  }
  return products;
}

/** A busy machine may refuse for a moment: then the same again. */
const write = (api: Api, path: string, body: object, key = newKey()): Promise<Answer> =>
  served(() => api.post(path, body, { key }));

const bodyFor = (product_id: string) => ({
  location_id: shop,
  lines: [{ product_id, quantity: '1' }],
});
const reserve = (api: Api, product: string, members: object = {}, key = newKey()) =>
  write(api, '/inventory/reservations', { ...bodyFor(product), ...members }, key);
const bodyOf = (command: 'release' | 'fulfil') => (command === 'fulfil' ? { reason: 'sale' } : {});
const end = (api: Api, id: string, command: 'release' | 'fulfil', key = newKey()) =>
  write(api, `/inventory/reservations/${id}/${command}`, bodyOf(command), key);

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();

async function inTurns<T>(items: readonly T[], size: number, work: (one: T) => Promise<unknown>) {
  for (let from = 0; from < items.length; from += size) {
    await Promise.all(items.slice(from, from + size).map(work));
  }
}

describe('on two nodes', () => {
  test('of three who want the last one, one gets it', { timeout: 300_000 }, async () => {
    await inTurns(await stocked(extent(60, 300), '1'), 10, async (product) => {
      const answers = await Promise.all([0, 1, 2].map((n) => reserve(on(n), product)));
      expect(statuses(answers)).toEqual([201, 422, 422]);
    });
    expect(await ledgerDifferences(db)).toEqual([]);
  });

  test('a sale and a reservation never take the same one', { timeout: 120_000 }, async () => {
    await inTurns(await stocked(30, '1'), 10, async (product) => {
      const lines = [{ product_id: product, quantity: '1' }];
      const sale = { from_location_id: shop, reason: 'sale', lines };
      const answers = await Promise.all([
        reserve(on(0), product),
        write(on(1), '/inventory/transfers', sale),
        reserve(on(1), product),
        write(on(0), '/inventory/transfers', sale),
      ]);
      expect(statuses(answers)).toEqual([201, 422, 422, 422]);
    });
  });

  test('of release, fulfil and the sweep exactly one ends it', { timeout: 120_000 }, async () => {
    const products = await stocked(30, '5');
    const expires_at = await later(db, 4_000);
    const made = await Promise.all(products.map((one, n) => reserve(on(n), one, { expires_at })));
    expect(new Set(statuses(made))).toEqual(new Set([201]));
    const ids = made.map(({ body }) => body.data.id as string);
    await passed(db, expires_at.replace(/\.\d+Z/, '.000Z'));
    const rivals = await Promise.all(
      ids.flatMap((id, n) => [end(on(n), id, 'release'), end(on(n + 1), id, 'fulfil')]),
    );
    await passed(db, await later(db, 2_500));
    const rows = await db.sql<{ status: string; ended: number }>(
      `select r.status, (select count(*)::int from operations o where o.merchant_id = r.merchant_id
         and o.resource_id = r.id and o.type <> 'inventory.reserve') as ended
       from inventory_reservations r where r.id = any ($1)`,
      [ids],
    );
    expect(rows.map(({ ended }) => ended)).toEqual(ids.map(() => 1));
    const byCallers = rows.filter(({ status }) => status !== 'expired').length;
    expect(rivals.filter(({ status }) => status === 200)).toHaveLength(byCallers);
    expect(rows.map(({ status }) => status)).not.toContain('active');
    expect(await ledgerDifferences(db)).toEqual([]);
  });

  test('a reservation ends at its moment, whatever the clocks of the nodes say', async () => {
    const [flour = ''] = await stocked(1, '1');
    const expires_at = await later(db, 1_500);
    const answer = await reserve(on(0), flour, { expires_at });
    for (const api of apis) {
      const path = `/inventory/reservations/${answer.body.data.id}`;
      expect((await api.get(path)).body.data.status).toBe('active');
      expect((await reserve(api, flour)).code).toBe('insufficient_quantity');
    }
    await passed(db, expires_at);
    expect((await reserve(on(1), flour)).status).toBe(201);
    const [salt = ''] = await stocked(1, '2');
    for (const api of apis) {
      const near = { expires_at: await later(db, 60_000) };
      expect((await reserve(api, salt, near)).status).toBe(201);
      expect((await reserve(api, salt, { expires_at: await later(db, -60_000) })).status).toBe(422);
    }
  });
});

test('a node that is killed leaves all of a write or nothing', { timeout: 120_000 }, async () => {
  const products = await stocked(20, '50');
  const killed = await startProcess(db);
  const api = killed.api.as(token);
  const asked = products.flatMap((product) => [1, 2].map(() => ({ product, key: newKey() })));
  const before = await Promise.all(asked.map(({ product, key }) => reserve(api, product, {}, key)));
  const ends = before.map(({ body }, n) => {
    const command = n % 2 === 0 ? ('release' as const) : ('fulfil' as const);
    return { id: body.data.id as string, command, key: newKey() };
  });
  const more = products.map((product) => ({ product, key: newKey() }));
  const cut = [
    ...ends.map(({ id, command, key }) =>
      api.post(`/inventory/reservations/${id}/${command}`, bodyOf(command), { key }),
    ),
    ...more.map(({ product, key }) =>
      api.post('/inventory/reservations', bodyFor(product), { key }),
    ),
  ];
  const settled = Promise.allSettled(cut);
  await Promise.race(cut);
  await killed.end('SIGKILL');
  await settled;
  const again = await Promise.all([
    ...ends.map(({ id, command, key }) => end(on(0), id, command, key)),
    ...more.map(({ product, key }) => reserve(on(1), product, {}, key)),
  ]);
  expect(new Set(statuses(again))).toEqual(new Set([200, 201]));
  const rows = await db.sql(
    `select product_id, quantity::int as quantity from inventory_reserved
     where product_id = any ($1) and quantity <> 1`,
    [products],
  );
  expect(rows).toEqual([]);
  expect(await ledgerDifferences(db)).toEqual([]);
});
