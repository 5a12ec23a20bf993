// A product in a browser: made, changed beside somebody else's change, archived, and its history.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console, type Shop } from '../kit/console.ts';

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

async function product(quantity = '0') {
  products += 1;
  const form = { name: `Cup ${products}`, sku: `CUP-${products}` };
  return { id: await shop.product(form, place, quantity), ...form };
}

const addressOf = (id: string) => `${here.service.api.origin}/console/products/${id}`;
const read = async (id: string) => (await shop.api.get(`/products/${id}`)).body.data;

test('a new product is made once, and its page follows', async () => {
  const { page } = await shop.enter();
  await page.getByRole('button', { name: 'New product' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name').fill('Teapot');
  await form.getByLabel('SKU').fill('TEA-1');
  await form.getByLabel('Price').fill('12.5');
  await form.getByLabel('Currency').fill('eur');
  await form.getByLabel('Low at').fill('2');
  await form.getByRole('button', { name: 'Create the product' }).dblclick();
  await page.getByRole('heading', { level: 1, name: 'Teapot' }).waitFor();
  const { body } = await shop.api.get('/products?sku=TEA-1');
  expect(body.data).toMatchObject([
    { name: 'Teapot', price: { amount: '12.50', currency: 'EUR' }, low_stock_at: '2' },
  ]);
});

test('a change beside somebody else’s is shown with both, and keeps theirs', async () => {
  const { id, name } = await product();
  const [mine, theirs] = [await shop.enter(), await shop.enter()];
  for (const { page } of [mine, theirs]) {
    await page.goto(addressOf(id));
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
  }
  await theirs.page.getByLabel('Barcode').fill('111');
  await theirs.page.getByLabel('Name').fill('Mug');
  await theirs.page.getByRole('button', { name: 'Save' }).click();
  await theirs.page.getByRole('heading', { level: 1, name: 'Mug' }).waitFor();
  await mine.page.getByLabel('Name').fill('Beaker');
  await mine.page.getByRole('button', { name: 'Save' }).click();
  const conflict = mine.page.getByRole('dialog', { name: 'Somebody changed it meanwhile' });
  const row = conflict.getByRole('row').filter({ hasText: name });
  await expect.poll(() => row.innerText()).toMatch(/Mug\s+Beaker/);
  expect((await read(id)).name).toBe('Mug');
  await conflict.getByRole('button', { name: 'Save what I typed' }).click();
  await mine.page.getByRole('heading', { level: 1, name: 'Beaker' }).waitFor();
  expect(await read(id)).toMatchObject({ name: 'Beaker', barcode: '111', version: 3 });
});

test('two tabs of one person are one change', async () => {
  const { id } = await product();
  const tab = await shop.enter();
  await tab.page.goto(addressOf(id));
  await tab.page.getByRole('button', { name: 'Edit', exact: true }).click();
  await tab.page.getByLabel('Barcode').fill('222');
  const other = await here.another(tab, `/products/${id}`);
  await expect.poll(() => other.getByLabel('Barcode').inputValue()).toBe('222');
  await other.getByRole('button', { name: 'Save' }).click();
  await tab.page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
  expect(await read(id)).toMatchObject({ barcode: '222', version: 2 });
});

test('what is refused says so at the field, and can be mended', async () => {
  const [taken, { id }] = [await product(), await product()];
  const { page } = await shop.enter();
  await page.goto(addressOf(id));
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('SKU').fill(taken.sku);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => page.getByLabel('SKU').getAttribute('aria-invalid')).toBe('true');
  await page.getByLabel('SKU').fill('CUP-NEW');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
  expect((await read(id)).sku).toBe('CUP-NEW');
});

test('an archived product says so, and comes back', async () => {
  const { id } = await product();
  const { page } = await shop.enter();
  await page.goto(addressOf(id));
  await page.getByRole('button', { name: 'Archive' }).click();
  await page.getByText('Its stock cannot be changed until it is restored.').waitFor();
  expect((await read(id)).status).toBe('archived');
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('button', { name: 'Archive' }).waitFor();
  expect((await read(id)).status).toBe('active');
});

test('its stock and its history say who, why and by how much', async () => {
  const { id } = await product('5');
  await shop.setLevel(id, place, '3');
  const { page } = await shop.enter({ role: 'viewer' });
  await page.goto(addressOf(id));
  const [newest] = await shop.movements(id);
  const row = page.getByRole('row').filter({ hasText: '−2' });
  await expect.poll(() => row.innerText()).toContain(newest.actor.name);
  await page.getByRole('img', { name: /^On hand since/ }).waitFor();
  expect(await page.getByRole('button', { name: 'Edit', exact: true }).count()).toBe(0);
});

test('a barcode of another product is asked about, and taken when somebody means it', async () => {
  const first = await shop.product({ name: 'Mug, red', barcode: '4006381333931' });
  const { id } = await product();
  const { page } = await shop.enter();
  await page.goto(addressOf(id));
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Barcode').fill('4006381333931');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const asked = page.getByRole('alert').filter({ hasText: 'Another product has the barcode' });
  await asked.getByRole('link', { name: 'Mug, red' }).waitFor();
  expect((await read(id)).barcode).toBe(null);
  await asked.getByRole('button', { name: 'Go back' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await asked.getByRole('button', { name: 'Save it nevertheless' }).click();
  await expect.poll(async () => (await read(id)).barcode).toBe('4006381333931');
  expect((await read(first)).barcode).toBe('4006381333931');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Name').fill('Mug, blue');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(async () => (await read(id)).name).toBe('Mug, blue');
});
