// What `tallybook export` promises, through real processes and a real service: an export that is
// imported into an empty merchant makes it equal.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { created } from '../../test/kit/again.ts';
import { Exchange, recordsOf, type Shop } from '../../test/kit/exchange.ts';

let exchange: Exchange;
let shop: Shop;
let location: string;

beforeAll(async () => {
  exchange = await Exchange.start();
  shop = await exchange.shop();
  const make = async (path: string, form: object): Promise<string> =>
    (await created(shop.api, path, form)).data.id;
  const metadata = { '=k': '=v', __color: 'a,"b"; c' };
  location = await make('/locations', {
    name: '@Lager',
    code: '-1',
    timezone: 'Europe/Berlin',
    metadata,
  });
  const named = ['=1+1', "'=1", "''", '+49 & more', '-5 %', '@home', 'Grüße, "quoted"; 😀'];
  for (const [n, name] of named.entries()) {
    const own = n % 2 === 0 ? { external_id: `=gid/${n}` } : { barcode: '-0012', description: '' };
    const unit = { code: 'kg', precision: 3 };
    const price = { amount: '0.10', currency: 'EUR' };
    await make('/products', {
      name,
      sku: `-00${n}`,
      ...own,
      unit,
      price,
      low_stock_at: '0.125',
      metadata,
    });
  }
  const gone = await make('/products', { name: 'Gone', sku: 'GONE', inventory_tracked: false });
  await shop.api.patch(`/products/${gone}`, { status: 'archived' });
  const phone = '+4930123456';
  await make('/customers', {
    name: '-Ada',
    email: '=a@example.com',
    phone,
    note: "'x",
    external_id: '7',
  });
  await make('/customers', { name: 'Bob', email: 'bob@example.com' });
  const { body } = await shop.api.get('/products?limit=200');
  const lines = body.data
    .filter(({ sku }: { sku: string }) => sku !== 'GONE')
    .map(({ id }: { id: string }, n: number) => ({ product_id: id, counted_quantity: `${n}.005` }));
  await created(shop.api, '/inventory/counts', { location_id: location, lines, note: '=note' });
});
afterAll(() => exchange.stop());

/** Without versions: what was changed twice here is made once there. */
const settable = async ({ api }: Shop, path: string) => {
  const records = await recordsOf(api, path);
  return new Set(records.map(({ version: _, ...rest }) => rest));
};

describe.concurrent('an export', () => {
  test.each(['csv', 'ndjson'])('as %s makes an empty merchant equal', async (format) => {
    const other = await exchange.shop();
    for (const noun of ['locations', 'products', 'customers']) {
      const file = `${noun}-all.${format}`;
      await exchange.json(shop, ['export', noun, '--output', file]);
      const done = await exchange.json(other, ['import', noun, file, '--add']);
      expect(done).toMatchObject({ refused: 0, changed: 0, unchanged: 0 });
      const path = `/${noun}`;
      expect(await settable(other, path)).toEqual(await settable(shop, path));
    }
    const file = `levels-all.${format}`;
    await exchange.json(shop, ['export', 'levels', '--output', file]);
    const done = await exchange.json(other, ['import', 'counts', file, '--location', '-1']);
    expect(done).toMatchObject({ rows: 7, changed: 7, refused: 0 });
    const quantities = async ({ api }: Shop) => {
      const [{ id } = { id: '' }] = (await api.get('/locations')).body.data;
      const stock = await recordsOf(api, `/stock?location_id=${id}&sort=sku`);
      return stock.map(({ sku, quantity }) => [sku, quantity]);
    };
    expect(await quantities(other)).toEqual(await quantities(shop));
  });

  test('has numbers, telephone numbers and IDs exactly, and no formula in a text', async () => {
    const { stdout } = await exchange.run(shop, ['export', 'products']);
    expect(stdout).toContain(",'=1+1,,-000,,active,true,kg,3,0.10,EUR,0.125,=gid/0,");
    expect(stdout).toContain(",'+49 & more,',-003,-0012,");
    const customers = await exchange.run(shop, ['export', 'customers']);
    expect(customers.stdout).toContain(",'-Ada,'=a@example.com,+4930123456,7,'x,");
    const movements = await exchange.run(shop, ['export', 'movements', '--location', '-1']);
    expect(movements.stdout.split('\n')).toHaveLength(9);
    expect(movements.stdout).toContain(",'=note,");
    const events = await exchange.run(shop, ['export', 'events', '--format', 'ndjson']);
    expect(events.stdout.trimEnd().split('\n').at(-1)).toContain('"type":"inventory.counted"');
  });

  test('is of a moment where levels, movements or events have one', async () => {
    const early = ['--as-of', '2020-01-01T00:00:00Z'];
    for (const what of ['levels', 'movements', 'events']) {
      expect(
        (await exchange.run(shop, ['export', what, ...early])).stdout.split('\n'),
      ).toHaveLength(2);
    }
    const wrong = await exchange.run(shop, ['export', 'products', ...early]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--as-of')]);
  });
});
