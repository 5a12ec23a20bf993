// What `tallybook import counts` promises, through real processes and a real service.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { created } from '../../test/kit/again.ts';
import { Exchange, recordsOf, type Shop } from '../../test/kit/exchange.ts';

let exchange: Exchange;

beforeAll(async () => {
  exchange = await Exchange.start();
});
afterAll(() => exchange.stop());

/** With a location and these products. */
async function stocked(skus: readonly string[]): Promise<{ shop: Shop; location: string }> {
  const shop = await exchange.shop();
  const { data } = await created(shop.api, '/locations', { name: 'Shop', code: 'S1' });
  for (const sku of skus) await created(shop.api, '/products', { name: sku, sku });
  return { shop, location: data.id };
}

const levelsOf = async ({ api }: Shop, location: string) =>
  (await recordsOf(api, `/inventory/levels?location_id=${location}`)).map(
    ({ quantity }) => quantity,
  );

describe.concurrent('import counts', () => {
  test('sets levels, and sends a refused count again without its refused lines', async () => {
    const { shop, location } = await stocked(['A', 'B', 'C']);
    await exchange.write('sheet.csv', 'sku,counted_quantity\nA,4\nB,1.5\nX,1\nC,7\n');
    const args = ['import', 'counts', 'sheet.csv', '--location', 'S1', '--reference', 'Shelf 4'];
    const dry = await exchange.run(shop, [...args, '--dry-run']);
    expect(dry.stdout).toMatch(/sku A: 0 → 4\n.*\nline 4: sku X: no product has this ID\n/);
    const done = await exchange.run(shop, args);
    expect([done.code, done.stdout]).toEqual([1, expect.stringContaining('2 changed')]);
    expect(await levelsOf(shop, location)).toEqual(['4', '7']);
    expect(await exchange.read('sheet.csv.refused.csv')).toMatch(
      /^sku,\w+,refused_because\nB,1\.5,"too_many_decimal_.*"\nX,1,no product has this ID\n$/,
    );
    const { body } = await shop.api.get('/inventory/counts');
    expect(body.data).toMatchObject([{ reference: 'Shelf 4', lines: [{}, {}] }]);
  });

  test('of the same sheet next week is another count', async () => {
    const { shop, location } = await stocked(['A']);
    await exchange.write('weekly.csv', 'sku,quantity\nA,4\n');
    const args = ['import', 'counts', 'weekly.csv', '--location', 'S1'];
    expect(await exchange.json(shop, args)).toMatchObject({ changed: 1 });
    const [{ product_id } = { product_id: '' }] = await recordsOf(
      shop.api,
      `/inventory/levels?location_id=${location}`,
    );
    const body = {
      from_location_id: location,
      reason: 'sale',
      lines: [{ product_id, quantity: '1' }],
    };
    await created(shop.api, '/inventory/transfers', body);
    expect((await exchange.run(shop, args)).code).toBe(2);
    expect(await exchange.json(shop, [...args, '--again'])).toMatchObject({ changed: 1 });
    expect(await levelsOf(shop, location)).toEqual(['4']);
  });

  test('refuses a sheet of another location, or without what it needs', async () => {
    const { shop } = await stocked(['A']);
    await exchange.write('other.csv', 'location_code,sku,counted_quantity\nS2,A,4\n');
    await exchange.write('empty.csv', 'name\nA\n');
    const run = async (file: string, location: string) =>
      (await exchange.run(shop, ['import', 'counts', file, '--location', location])).stderr;
    expect(await run('other.csv', 'S1')).toContain(
      'column 1 (location_code): is S2, and --location is S1',
    );
    expect(await run('empty.csv', 'S1')).toContain('the column counted_quantity is missing');
    expect(await run('other.csv', 'S2')).toContain('there is no location with the code S2');
  });
});
