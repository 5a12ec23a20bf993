// Lists in and out, in a browser.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, type Shop } from '../kit/console.ts';

let here: Console;

beforeAll(async () => {
  here = await Console.start();
});
afterAll(() => here.stop());

async function enter(own?: Shop) {
  const shop = own ?? (await here.shop());
  await shop.location();
  const tab = await shop.enter();
  await tab.page.goto(`${here.service.api.origin}/console/exchange`);
  return { shop, ...tab };
}

const list = [
  'Name,Article number,Price,Currency,Remarks',
  'Oat flakes,OAT-1,1.29,EUR,x',
  '"Jam, plum",JAM-1,2.50,EUR,y',
  'Bad price,BAD-1,1.2345,EUR,z',
].join('\n');

/** By SKU: the rows of a list are performed at once, in no order. */
async function productsOf({ api }: Shop) {
  const { data } = (await api.get('/products')).body;
  return data.toSorted((a: { sku: string }, b: { sku: string }) => (a.sku < b.sku ? -1 : 1));
}

async function choose(page: Page, text: string) {
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
}

async function saved(page: Page, button: string): Promise<string> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  return await readFile(await file.path(), 'utf8');
}

test('a list is checked, imported once, and gives back the row that was refused', async () => {
  const { shop, page } = await enter();
  await choose(page, list);
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByText('2 new').waitFor();
  await page.getByText('1 refused').waitFor();
  expect((await shop.api.get('/products')).body.data).toEqual([]);
  await page.getByRole('button', { name: 'Import 2 rows' }).click();
  await page.getByText('The import is finished').waitFor();
  expect(await productsOf(shop)).toMatchObject([
    { name: 'Jam, plum', sku: 'JAM-1' },
    { name: 'Oat flakes', sku: 'OAT-1', price: { amount: '1.29', currency: 'EUR' } },
  ]);
  const refused = await saved(page, 'Download the refused rows');
  expect(refused.split('\n').slice(0, 2)).toEqual([
    'Name,Article number,Price,Currency,Remarks,refused_because',
    expect.stringMatching(/^Bad price,BAD-1,1\.2345,EUR,z,.*decimal places/),
  ]);
  await page.getByRole('button', { name: 'Import another file' }).click();
  await choose(page, list);
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByText('2 as it was').waitFor();
});

test('a new product without a name is refused before anything is sent', async () => {
  const { page } = await enter();
  await choose(page, 'SKU,Artikel\nPIE-1,Pie\n');
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByText('PIE-1: new, and has no name').waitFor();
  expect(await page.getByRole('button', { name: /^Import/ }).isDisabled()).toBe(true);
});

test('a list of prices without a currency asks for it once, for all of its rows', async () => {
  const { shop, page } = await enter();
  await choose(page, 'SKU,Name,Price\nFIG-1,Fig jam,3.20\nFIG-2,Fig syrup,4.10');
  await page.getByLabel('Currency of all prices').fill('EUR');
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByRole('button', { name: 'Import 2 rows' }).click();
  await page.getByText('The import is finished').waitFor();
  expect(await productsOf(shop)).toMatchObject([
    { sku: 'FIG-1', price: { amount: '3.20', currency: 'EUR' } },
    { sku: 'FIG-2', price: { amount: '4.10', currency: 'EUR' } },
  ]);
  await page.reload();
  await page.getByText('The import of list.csv is finished').waitFor();
  await choose(page, 'SKU,Name\nFIG-3,Fig mustard');
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByText('1 new').waitFor();
});

test('an import whose page was closed goes on when its file is chosen again', async () => {
  const { shop, page, id } = await enter();
  const rows = Array.from({ length: 450 }, (_, index) => `Tea ${index},TEA-${index}`);
  const text = ['name,sku', ...rows].join('\n');
  let batches = 0;
  await page.route('**/console/api/v1/batches', async (route) => {
    batches += 1;
    if (batches === 1) return route.continue();
    // The service does it; the answer is lost with the page.
    await route.fetch();
    return page.close();
  });
  await choose(page, text);
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByRole('button', { name: 'Import 450 rows' }).click({ noWaitAfter: true });
  await expect.poll(() => page.isClosed()).toBe(true);
  const again = await here.another({ page, id }, '/exchange');
  await again.getByText('The import of list.csv is not finished').waitFor();
  await choose(again, text);
  await again.getByText('The import is finished').waitFor();
  await again.getByText('450 new').waitFor();
  let found = 0;
  let cursor: string | undefined;
  do {
    const more: string = cursor === undefined ? '' : `&cursor=${cursor}`;
    const { body } = await shop.api.get(`/products?limit=200${more}`);
    found += body.data.length;
    cursor = body.meta.next_cursor;
  } while (cursor !== undefined);
  expect(found).toBe(450);
});

describe('counts', () => {
  /** Of the products A, B and C there are 5 each. */
  async function counting(text: string) {
    const shop = await here.shop();
    // Before the page is open: it asks for locations once a minute.
    const place = await shop.location('Store');
    const { page, id } = await enter(shop);
    const skus = ['A', 'B', 'C'];
    const ids = await Promise.all(
      skus.map((sku) => shop.product({ name: `Tin ${sku}`, sku }, place, '5')),
    );
    await page.getByRole('radio', { name: 'What was counted' }).check();
    await choose(page, text);
    await page.getByRole('combobox', { name: 'Where was it counted?' }).click();
    await page.getByRole('option', { name: 'Store' }).click();
    await page.getByLabel('Reference').fill('Shelf 4');
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('What the import would do').waitFor();
    const levels = () => Promise.all(ids.map((one) => shop.level(one, place)));
    const sellOne = (product: string | undefined) =>
      shop.api.post('/inventory/transfers', {
        ...{ from_location_id: place, reason: 'sale' },
        lines: [{ product_id: product, quantity: '1' }],
      });
    return { shop, page, id, place, ids, levels, sellOne };
  }

  test('set levels once, keep what was sold meanwhile, and give back refused rows', async () => {
    const text = 'SKU,Name,Counted\nA,Tin A,4\nB,Tin B,5\nC,Tin C,1.5\nX,Nothing,1\n';
    const { shop, page, id, place, ids, levels, sellOne } = await counting(text);
    await page.getByText('A: 5 → 4').waitFor();
    await page.getByText('X: no product has this ID').waitFor();
    expect(await levels()).toEqual(['5', '5', '5']);
    expect((await sellOne(ids[1])).status).toBe(201);
    await page.getByRole('button', { name: 'Import 2 rows' }).dblclick();
    await page.getByText('The import is finished').waitFor();
    await page.getByText('A: 5 → 4').waitFor();
    expect(await levels()).toEqual(['4', '4', '5']);
    const refused = await saved(page, 'Download the refused rows');
    expect(refused.split('\n')).toEqual([
      'SKU,Name,Counted,refused_because',
      expect.stringMatching(/^C,Tin C,1\.5,.*too_many_decimal_places/),
      'X,Nothing,1,no product has this ID',
      '',
    ]);
    const { body } = await shop.api.get('/inventory/counts');
    expect(body.data).toMatchObject([
      { location_id: place, reference: 'Shelf 4', lines: [{}, {}], actor: { credential_id: id } },
    ]);
    await page.getByRole('link', { name: 'See it in Movements' }).click();
    await page.getByRole('row').filter({ hasText: 'Tin A' }).filter({ hasText: '−1' }).waitFor();
  });

  test('that expected something else are shown, and overwrite nothing', async () => {
    const text = 'sku,expected_quantity,counted_quantity\nA,7,6\nB,5,6\n';
    const { page, levels } = await counting(text);
    await page.getByText('A: 7 was expected, and 5 was there').waitFor();
    await page.getByRole('button', { name: 'Import 1 row' }).click();
    await page.getByText('The import is finished').waitFor();
    expect(await levels()).toEqual(['5', '6', '5']);
    expect(await saved(page, 'Download the refused rows')).toContain('A,7,6,');
  });

  test('whose page was closed go on when the file is chosen again', async () => {
    const text = 'sku,counted_quantity\nA,4\nB,1\n';
    const { shop, page, id, levels, ids, sellOne } = await counting(text);
    await page.route('**/console/api/v1/inventory/counts', async (route) => {
      // The service does it; the answer is lost with the page.
      await route.fetch();
      return page.close();
    });
    await page.getByRole('button', { name: 'Import 2 rows' }).click({ noWaitAfter: true });
    await expect.poll(() => page.isClosed()).toBe(true);
    expect((await sellOne(ids[0])).status).toBe(201);
    const again = await here.another({ page, id }, '/exchange');
    await again.getByText('The import of list.csv is not finished').waitFor();
    await choose(again, text);
    await again.getByText('The import is finished').waitFor();
    expect(await levels()).toEqual(['3', '1', '5']);
    expect((await shop.api.get('/inventory/counts')).body.data).toHaveLength(1);
  });

  test('of another location, or without a column of counts, are not sent', async () => {
    const { page, levels } = await counting('sku,location_code,counted_quantity\nA,ELSE,4\n');
    await page.getByText('is of the location ELSE').waitFor();
    expect(await page.getByRole('button', { name: /^Import/ }).isDisabled()).toBe(true);
    await choose(page, 'sku,name\nA,Tin\n');
    await page.getByText('Say which column is Counted').waitFor();
    expect(await page.getByRole('button', { name: 'Check the file' }).isDisabled()).toBe(true);
    expect(await levels()).toEqual(['5', '5', '5']);
  });
});

test('an export is what is there, and no spreadsheet calculates it', async () => {
  const { shop, page } = await enter();
  await shop.product({ name: '=1+1', sku: 'SUM-1' });
  await page.getByRole('tab', { name: 'Export' }).click();
  const text = await saved(page, 'Download');
  const [head, row] = text.split('\n');
  expect(head).toMatch(/^id,name,description,sku,/);
  expect(row).toMatch(/^prod_\w+,'=1\+1,,SUM-1,/);
});
