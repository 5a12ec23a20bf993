// Stock moved in a browser, by scanning: sold, received, carried; and a sale of more than is there.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { created } from '../kit/again.ts';
import { Console, type Shop, type Tab } from '../kit/console.ts';

let here: Console;
let shop: Shop;
let place: string;
let store: string;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  place = await shop.location('Shop');
  store = await shop.location('Store');
});
afterAll(() => here.stop());

let products = 0;

async function product(quantity: string) {
  products += 1;
  const form = {
    name: `Jam ${products}`,
    sku: `JAM-${products}`,
    barcode: `50${10_000 + products}`,
  };
  return { id: await shop.product(form, place, quantity), ...form };
}

async function open(path = '/move'): Promise<Tab> {
  const tab = await shop.enter({ role: 'keeper' });
  await tab.page.goto(`${here.service.api.origin}/console${path}`);
  await tab.page.getByRole('combobox', { name: 'Scan or search' }).waitFor();
  return tab;
}

async function scan(page: Page, code: string) {
  await page.keyboard.type(code);
  await page.keyboard.press('Enter');
}

/** To the store. */
async function carryFour(page: Page, one: { readonly name: string; readonly barcode: string }) {
  await page.getByRole('tab', { name: 'Transfer' }).click();
  await page.getByRole('combobox', { name: 'To' }).click();
  await page.getByRole('option', { name: 'Store' }).click();
  await page.getByRole('combobox', { name: 'Scan or search' }).fill(one.barcode);
  await page.keyboard.press('Enter');
  await page.getByLabel(`Quantity of ${one.name}`).fill('4');
  await page.getByRole('button', { name: 'Record the transfer (1)' }).click();
  await page.getByText('Recorded: 1 line').waitFor();
}

describe('what is scanned', () => {
  test('is sold: twice the same product is two of it', async () => {
    const { id, name, barcode } = await product('5');
    const { page, id: person } = await open();
    await scan(page, barcode);
    await scan(page, barcode);
    const quantity = page.getByLabel(`Quantity of ${name}`);
    await expect.poll(() => quantity.inputValue()).toBe('2');
    await page.getByLabel('Reference').fill('receipt 7');
    await page.getByRole('button', { name: 'Record the sale (1)' }).click();
    await page.getByText('Recorded: 1 line').waitFor();
    expect(await shop.level(id, place)).toBe('3');
    expect((await shop.movements(id))[0]).toMatchObject({
      reason: 'sale',
      reference: 'receipt 7',
      actor: { credential_id: person },
    });
    expect(await quantity.count()).toBe(0);
    await page.locator('[role=combobox][placeholder]:focus').waitFor();
  });

  test('is received, in as many as somebody types', async () => {
    const { id, name, sku } = await product('5');
    const { page } = await open();
    await page.getByRole('tab', { name: 'Receipt' }).click();
    await page.getByRole('combobox', { name: 'Scan or search' }).fill(sku.toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByLabel(`Quantity of ${name}`).fill('24');
    await page.getByRole('button', { name: 'Record the receipt (1)' }).click();
    await page.getByText('Recorded: 1 line').waitFor();
    expect(await shop.level(id, place)).toBe('29');
  });

  test('is carried to another location', async () => {
    const { id, name, barcode } = await product('5');
    const { page } = await open();
    await carryFour(page, { name, barcode });
    expect([await shop.level(id, place), await shop.level(id, store)]).toEqual(['1', '4']);
  });

  test('is said to be unknown, and the next scan goes on', async () => {
    const { name, barcode } = await product('5');
    const { page } = await open();
    await scan(page, '999999');
    await page.getByText('No product is found for “999999”.').waitFor();
    await scan(page, barcode);
    await page.getByLabel(`Quantity of ${name}`).waitFor();
  });

  test('is there again after the page was closed, and posted once', async () => {
    const { id, name, barcode } = await product('5');
    const tab = await open();
    await scan(tab.page, barcode);
    await tab.page.getByLabel(`Quantity of ${name}`).fill('2');
    await tab.page.close();
    const page = await here.another(tab, '/move');
    const quantity = page.getByLabel(`Quantity of ${name}`);
    await expect.poll(() => quantity.inputValue()).toBe('2');
    await page.getByRole('button', { name: 'Record the sale (1)' }).dblclick();
    await page.getByText('Recorded: 1 line').waitFor();
    expect(await shop.level(id, place)).toBe('3');
    expect(await shop.movements(id)).toHaveLength(2);
  });
});

describe('a sale of more than is there', () => {
  test('moves nothing, says what is there, and sells that', async () => {
    const [scarce, other] = [await product('3'), await product('3')];
    const { page } = await open();
    await scan(page, other.barcode);
    await scan(page, scarce.barcode);
    await page.getByLabel(`Quantity of ${scarce.name}`).fill('7');
    await page.getByRole('button', { name: 'Record the sale (2)' }).click();
    await page.getByText(`${scarce.name}: 7 asked for, 3 available`).waitFor();
    expect(await shop.level(other.id, place)).toBe('3');
    await page.getByRole('button', { name: 'Take what is there' }).click();
    await page.getByRole('button', { name: 'Record the sale (2)' }).click();
    await page.getByText('Recorded: 2 lines').waitFor();
    expect(await shop.level(scarce.id, place)).toBe('0');
    expect(await shop.level(other.id, place)).toBe('2');
  });

  test('that has happened is recorded, with what was not there', async () => {
    const { id, name, barcode } = await product('3');
    const { page } = await open();
    await scan(page, barcode);
    await page.getByLabel(`Quantity of ${name}`).fill('5');
    await page.getByRole('button', { name: 'Record the sale (1)' }).click();
    await page.getByRole('button', { name: 'It has left already: record it' }).click();
    await page.getByText('(2 of it was not there)').waitFor();
    expect(await shop.level(id, place)).toBe('0');
  });
});

describe('what was recorded by mistake', () => {
  test('is taken back by its opposite, once, and both stand in the ledger', async () => {
    const { id, barcode } = await product('5');
    const { page } = await open();
    await scan(page, barcode);
    await page.getByLabel('Reference').fill('receipt 8');
    await page.getByRole('button', { name: 'Record the sale (1)' }).click();
    await page.getByText('Recorded: 1 line').waitFor();
    const [sale] = await shop.movements(id);
    await page.getByRole('button', { name: 'Undo' }).dblclick();
    await page.getByText('Undone.').waitFor();
    expect(await page.getByText('Recorded: 1 line').count()).toBe(0);
    expect(await shop.level(id, place)).toBe('5');
    const [back, ...before] = await shop.movements(id);
    expect(back).toMatchObject({
      ...{ quantity_delta: '1', reason: 'other', reference: 'receipt 8' },
      note: `Undoes ${sale.operation_id}`,
    });
    expect(before).toHaveLength(2);
  });

  test('is taken back as far as it moved, from the other location too', async () => {
    const { id, name, barcode } = await product('5');
    const { page } = await open();
    await carryFour(page, { name, barcode });
    // Somebody has sold it there meanwhile: it cannot come back.
    const gone = { from_location_id: store, reason: 'sale' };
    const lines = [{ product_id: id, quantity: '4' }];
    await created(shop.api, '/inventory/transfers', { ...gone, lines });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('alert').waitFor();
    expect([await shop.level(id, place), await shop.level(id, store)]).toEqual(['1', '0']);
    await created(shop.api, '/inventory/transfers', {
      ...{ to_location_id: store, reason: 'return', lines },
    });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone.').waitFor();
    expect([await shop.level(id, place), await shop.level(id, store)]).toEqual(['5', '0']);
  });
});

test('what a customer brings back is a return', async () => {
  const { id, barcode } = await product('5');
  const { page } = await open();
  await page.getByRole('tab', { name: 'Return' }).click();
  await scan(page, barcode);
  await page.getByRole('button', { name: 'Record the return (1)' }).click();
  await page.getByText('Recorded: 1 line').waitFor();
  const [last] = await shop.movements(id);
  expect(last).toMatchObject({ reason: 'return', quantity_delta: '1', quantity_after: '6' });
});

test('the keyboard leads to a receipt from anywhere, and the sheet says how', async () => {
  const { id, barcode } = await product('5');
  const { page } = await open();
  await page.goto(`${here.service.api.origin}/console/movements`);
  await page.getByRole('heading', { name: 'Movements', level: 1 }).waitFor();
  await page.keyboard.press('Control+/');
  await page
    .getByRole('row')
    .filter({ hasText: 'Alt + R' })
    .getByText('Record a receipt')
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Alt+R');
  await page.locator('[role=combobox][placeholder]:focus').waitFor();
  await scan(page, barcode);
  await page.keyboard.press('Alt+T');
  await page.getByRole('tab', { name: 'Transfer', selected: true }).waitFor();
  await page.keyboard.press('Alt+R');
  await page.getByRole('tab', { name: 'Receipt', selected: true }).waitFor();
  await page.getByRole('button', { name: 'Record the receipt (1)' }).press('Enter');
  await page.getByText('Recorded: 1 line').waitFor();
  expect(await shop.level(id, place)).toBe('6');
});
