// Lists in and out, in a browser.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console, type Shop } from '../kit/console.ts';

let here: Console;

beforeAll(async () => {
  here = await Console.start();
});
afterAll(() => here.stop());

async function enter() {
  const shop: Shop = await here.shop();
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
  expect((await shop.api.get('/products')).body.data).toMatchObject([
    { name: 'Oat flakes', sku: 'OAT-1', price: { amount: '1.29', currency: 'EUR' } },
    { name: 'Jam, plum', sku: 'JAM-1' },
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

test('a list of prices without a currency asks for it once, for all of its rows', async () => {
  const { shop, page } = await enter();
  await choose(page, 'SKU,Name,Price\nFIG-1,Fig jam,3.20\nFIG-2,Fig syrup,4.10');
  await page.getByLabel('Currency of all prices').fill('EUR');
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByRole('button', { name: 'Import 2 rows' }).click();
  await page.getByText('The import is finished').waitFor();
  expect((await shop.api.get('/products')).body.data).toMatchObject([
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

test('an export is what is there, and no spreadsheet calculates it', async () => {
  const { shop, page } = await enter();
  await shop.product({ name: '=1+1', sku: 'SUM-1' });
  await page.getByRole('tab', { name: 'Export' }).click();
  const text = await saved(page, 'Download');
  const [head, row] = text.split('\n');
  expect(head).toMatch(/^id,name,description,sku,/);
  expect(row).toMatch(/^prod_\w+,'=1\+1,,SUM-1,/);
});
