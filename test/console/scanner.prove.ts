// A scanner types wherever the focus is: what it types is a code, never a quantity.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, type Shop } from '../kit/console.ts';

let here: Console;
let shop: Shop;
let place: string;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  place = await shop.location();
});
afterAll(() => here.stop());

let products = 0;

async function product(more: object = {}) {
  products += 1;
  const form = {
    name: `Oil ${products}`,
    sku: `OIL-${products}`,
    barcode: `70${10_000 + products}`,
  };
  const made = { ...form, ...more };
  return { id: await shop.product(made, place, '5'), ...made };
}

async function open(path: string): Promise<Page> {
  const { page } = await shop.enter({ role: 'keeper' });
  await page.goto(`${here.service.api.origin}/console${path}`);
  return page;
}

/** As fast as a scanner, however slow this machine is: the keys say when they were pressed. */
async function scan(page: Page, code: string): Promise<void> {
  const keyboard = await page.context().newCDPSession(page);
  const begin = Date.now() / 1_000;
  for (const [index, text] of [...code, '\r'].entries()) {
    const key = text === '\r' ? 'Enter' : text;
    const form = { key, timestamp: begin + index * 0.005 };
    const windowsVirtualKeyCode = text.charCodeAt(0);
    const down = { type: 'keyDown', text, windowsVirtualKeyCode, ...form } as const;
    await keyboard.send('Input.dispatchKeyEvent', down);
    await keyboard.send('Input.dispatchKeyEvent', { type: 'keyUp', ...form });
  }
  await keyboard.detach();
}

describe('a code that is scanned while a quantity has the focus', () => {
  test('is one more line of a sale, and the quantity stays', async () => {
    const [one, other] = [await product(), await product()];
    const page = await open('/move');
    const field = page.getByRole('combobox', { name: 'Scan or search' });
    await field.fill(one.sku);
    await field.press('Enter');
    const quantity = page.getByLabel(`Quantity of ${one.name}`);
    await quantity.fill('2');
    await scan(page, other.barcode);
    await page.getByLabel(`Quantity of ${other.name}`).waitFor();
    expect(await quantity.inputValue()).toBe('2');
    await quantity.focus();
    await scan(page, one.barcode);
    await expect.poll(() => quantity.inputValue()).toBe('3');
    await page.getByRole('button', { name: 'Record the sale (2)' }).click();
    await page.getByText('Recorded: 2 lines').waitFor();
    expect([await shop.level(one.id, place), await shop.level(other.id, place)]).toEqual([
      '2',
      '4',
    ]);
  });

  test('is found in the stock, and nothing is saved', async () => {
    const [one, other] = [await product(), await product()];
    const page = await open('/');
    const level = page.getByLabel(`On hand of ${one.name}`, { exact: true });
    await level.focus();
    await scan(page, other.barcode);
    await expect.poll(() => level.count()).toBe(0);
    await page.getByRole('link', { name: other.name, exact: true }).waitFor();
    await scan(page, one.barcode);
    await level.waitFor();
    expect(await level.inputValue()).toBe('5');
    expect(await shop.movements(one.id)).toHaveLength(1);
  });

  test('is no code when a person types it: it is a quantity', async () => {
    const { id, name } = await product();
    const page = await open('/');
    await page.getByLabel(`On hand of ${name}`, { exact: true }).focus();
    await page.keyboard.type('1200', { delay: 80 });
    await page.keyboard.press('Enter');
    await page.getByText(`${name}: now 1,200`).waitFor();
    expect(await shop.level(id, place)).toBe('1200');
  });
});

test('a code of two products asks which one, and meanwhile scans go on', async () => {
  const [small, large] = [
    await product({ barcode: '7777001' }),
    await product({ barcode: '7777001' }),
  ];
  const other = await product();
  const page = await open('/move');
  await page.getByRole('combobox', { name: 'Scan or search' }).focus();
  await scan(page, '7777001');
  const asked = page.getByRole('alert').filter({ hasText: '“7777001”: which one?' });
  await asked.waitFor();
  await scan(page, other.barcode);
  await page.getByLabel(`Quantity of ${other.name}`).waitFor();
  await asked.getByRole('button', { name: large.name }).click();
  await page.getByLabel(`Quantity of ${large.name}`).waitFor();
  expect(await asked.count()).toBe(0);
  expect(await page.getByLabel(`Quantity of ${small.name}`).count()).toBe(0);
});
