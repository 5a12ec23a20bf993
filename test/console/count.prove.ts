// A location counted in a browser: differences, sales meanwhile, a closed page, and sheets.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, type Shop, type Tab } from '../kit/console.ts';

let here: Console;
let shop: Shop;
let place: string;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  place = await shop.location('Shop');
});
afterAll(() => here.stop());

let products = 0;

async function product(quantity: string) {
  products += 1;
  const number = 10_000 + products;
  const form = { name: `Bean ${products}`, sku: `BEAN-${products}`, barcode: `60${number}` };
  return { id: await shop.product(form, place, quantity), ...form };
}

async function begin(): Promise<Tab> {
  const tab = await shop.enter({ role: 'keeper' });
  await tab.page.goto(`${here.service.api.origin}/console/count`);
  await tab.page.getByRole('button', { name: 'Begin a count' }).click();
  await tab.page.getByRole('combobox', { name: 'Scan or search' }).waitFor();
  return tab;
}

async function scan(page: Page, code: string) {
  await page.keyboard.type(code);
  await page.keyboard.press('Enter');
}

const read = (page: Page, csv: string) =>
  page.locator('input[type=file]').setInputFiles({
    name: 'sheet.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(csv),
  });

test('a count says the difference as it goes, and what it changed', async () => {
  const [less, same] = [await product('5'), await product('1')];
  const { page, id: person } = await begin();
  await scan(page, less.barcode);
  await scan(page, less.barcode);
  await scan(page, same.sku);
  await page.getByText('as expected').waitFor();
  await page.getByText('−3', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Record the count (2)' }).click();
  await page.getByText('Counted: 2 products, 1 changed').waitFor();
  await page.getByText('5 → 2 (−3)').waitFor();
  expect(await shop.level(less.id, place)).toBe('2');
  const [last] = await shop.movements(less.id);
  expect(last).toMatchObject({ reason: 'stock_count', actor: { credential_id: person } });
});

test('what is sold while somebody counts stays sold', async () => {
  const { id, name, barcode } = await product('10');
  const { page } = await begin();
  await scan(page, barcode);
  await page.getByLabel(`Counted of ${name}`).fill('9');
  const { status } = await shop.api.post('/inventory/transfers', {
    from_location_id: place,
    reason: 'sale',
    lines: [{ product_id: id, quantity: '4' }],
  });
  expect(status).toBe(201);
  await page.getByRole('button', { name: 'Record the count (1)' }).click();
  await page.getByText('6 → 5 (−1)').waitFor();
  expect(await shop.level(id, place)).toBe('5');
});

test('a count is there again after a reload and in another tab, and is recorded once', async () => {
  const { id, name, barcode } = await product('10');
  const tab = await begin();
  await scan(tab.page, barcode);
  await tab.page.getByLabel(`Counted of ${name}`).fill('8');
  await tab.page.reload();
  const counted = tab.page.getByLabel(`Counted of ${name}`);
  await expect.poll(() => counted.inputValue()).toBe('8');
  await tab.page.close();
  const page = await here.another(tab, '/count');
  await page.getByRole('button', { name: 'Record the count (1)' }).dblclick();
  await page.getByText('Counted: 1 product, 1 changed').waitFor();
  expect(await shop.level(id, place)).toBe('8');
  expect(await shop.movements(id)).toHaveLength(2);
});

describe('a sheet that was filled in', () => {
  test('becomes lines, which are recorded when somebody has looked at them', async () => {
    const [one, other] = [await product('5'), await product('5')];
    const { page } = await begin();
    await read(
      page,
      `\ufeffsku;barcode;name;counted\r\n${one.sku};;"Beans; dried";4\r\n` +
        `;${other.barcode};;6\r\nBEAN-0;;nobody counted it;\r\n`,
    );
    await page.getByText('2 lines were taken over.').waitFor();
    expect(await shop.level(one.id, place)).toBe('5');
    await page.getByRole('button', { name: 'Record the count (2)' }).click();
    await page.getByText('Counted: 2 products, 2 changed').waitFor();
    expect(await shop.level(one.id, place)).toBe('4');
    expect(await shop.level(other.id, place)).toBe('6');
  });

  test('tells its faults by line, and nothing of it is taken', async () => {
    const { sku, name } = await product('5');
    const { page } = await begin();
    await read(page, `sku,counted\n${sku},4\nNONE,1\n${sku},2\n${sku},many\n,3\n`);
    await page.getByText('Line 3: no product is found for “NONE”.').waitFor();
    await page.getByText(`Line 4: ${name} is in line 2 already.`).waitFor();
    await page.getByText('Line 6: it has no SKU and no barcode.').waitFor();
    expect(await page.getByLabel(`Counted of ${name}`).count()).toBe(0);
    await read(page, 'name,amount\nBeans,4\n');
    await page.getByText('Line 1: the first line must name the columns').waitFor();
  });

  test('begins as a file of the products of the location', async () => {
    const { sku, barcode, name } = await product('5');
    const { page } = await begin();
    await page.getByRole('button', { name: 'A sheet to fill in' }).click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Download it as CSV' }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toContain(`\r\n${sku},${barcode},${name},`);
  });
});

test('what was scanned and not found stays to be seen, and giving up asks first', async () => {
  const { barcode, name } = await product('5');
  const { page } = await begin();
  await scan(page, '9999999999999');
  await scan(page, barcode);
  await page.getByText(`Added: ${name}`).waitFor();
  await page.getByText('This was scanned, and is no product here').waitFor();
  await page.getByText('9999999999999', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Seen' }).click();
  await page.getByRole('button', { name: 'Give up this count' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: `Remove ${name}` }).waitFor();
  await page.getByRole('button', { name: 'Give up this count' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Give up this count' }).click();
  await page.getByRole('button', { name: 'Begin a count' }).waitFor();
});
