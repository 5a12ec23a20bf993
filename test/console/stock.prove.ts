// The stock of a location in a browser: found, changed where it stands, once, and never over
// somebody else's change.

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

async function product(quantity: string, more: object = {}) {
  products += 1;
  const name = `Rye ${products}`;
  const form = { name, sku: `RYE-${products}`, barcode: `40063${10_000 + products}`, ...more };
  return { id: await shop.product(form, place, quantity), ...form };
}

describe('a number that is changed where it stands', () => {
  test('is one adjustment that says why, what was there, and who', async () => {
    const { id, name } = await product('5');
    const { page, id: person } = await shop.enter({ role: 'keeper' });
    await page.getByLabel(`On hand of ${name}`, { exact: true }).fill('7');
    await page.getByRole('combobox', { name: 'Why?' }).click();
    await page.getByRole('option', { name: 'I counted' }).click();
    await page.getByLabel('Note').fill('behind the crates');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`${name}: now 7`).waitFor();
    const [last, ...before] = await shop.movements(id);
    expect(last).toMatchObject({
      quantity_before: '5',
      quantity_after: '7',
      reason: 'stock_count',
      note: 'behind the crates',
      actor: { credential_id: person },
    });
    expect(before).toHaveLength(1);
  });

  test('is taken back, unless somebody has changed it since', async () => {
    const { id, name } = await product('5');
    const { page } = await shop.enter({ role: 'keeper' });
    const level = page.getByLabel(`On hand of ${name}`, { exact: true });
    await level.fill('7');
    await level.press('Enter');
    await page.getByText(`${name}: now 7`).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone.').waitFor();
    await expect.poll(() => level.inputValue()).toBe('5');
    const [back, change] = await shop.movements(id);
    expect(back).toMatchObject({
      ...{ quantity_before: '7', quantity_after: '5', reason: 'correction' },
      note: `Undoes ${change.operation_id}`,
    });
    await level.fill('9');
    await level.press('Enter');
    await page.getByText(`${name}: now 9`).waitFor();
    await shop.setLevel(id, place, '8');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('alert').waitFor();
    expect(await shop.level(id, place)).toBe('8');
  });

  test('is once, however often somebody clicks', async () => {
    const { id, name } = await product('5');
    const { page } = await shop.enter();
    await page.getByLabel(`On hand of ${name}`, { exact: true }).fill('4');
    await page.getByRole('button', { name: 'Save' }).dblclick();
    await page.getByText(`${name}: now 4`).waitFor();
    expect(await shop.movements(id)).toHaveLength(2);
  });

  test('is shown beside the change of somebody else, and does not overwrite it', async () => {
    const { id, name } = await product('5');
    const { page } = await shop.enter();
    // The row does not learn of it: what counts is what the service says.
    await page.route('**/console/api/v1/events*', (route) => route.abort());
    await page.getByLabel(`On hand of ${name}`, { exact: true }).fill('9');
    await shop.setLevel(id, place, '3');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('It was 5 when you began, and is 3 now. You typed 9.').waitFor();
    expect(await shop.level(id, place)).toBe('3');
    await page.getByRole('button', { name: 'Set it to 9' }).click();
    await page.getByText(`${name}: now 9`).waitFor();
    expect(await shop.movements(id)).toMatchObject([
      { quantity_before: '3', quantity_after: '9' },
      { quantity_before: '5', quantity_after: '3' },
      {},
    ]);
  });

  test('is sent again under its key when the page was closed before the answer', async () => {
    const { id, name } = await product('5');
    const tab = await shop.enter();
    const { page } = tab;
    // The service does it; the answer is lost with the page.
    await page.route('**/inventory/adjustments', async (route) => {
      await route.fetch();
      await page.close({ runBeforeUnload: false });
    });
    await page.getByLabel(`On hand of ${name}`, { exact: true }).fill('8');
    await page.getByRole('button', { name: 'Save' }).click({ noWaitAfter: true });
    await expect.poll(() => page.isClosed()).toBe(true);
    const again = await here.another(tab);
    await again.getByText(`${name}: now 8`).waitFor();
    expect(await shop.movements(id)).toHaveLength(2);
  });

  test('waits for the network, and what was typed stays', async () => {
    const { id, name } = await product('5');
    const { page } = await shop.enter();
    const field = page.getByLabel(`On hand of ${name}`, { exact: true });
    await field.fill('6');
    await page.context().setOffline(true);
    await page.getByText('No network').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.context().setOffline(false);
    await page.getByText(`${name}: now 6`).waitFor();
    expect(await shop.movements(id)).toHaveLength(2);
  });

  test('says what is wrong with it before anything is sent', async () => {
    const { id, name } = await product('5');
    const { page } = await shop.enter();
    const field = page.getByLabel(`On hand of ${name}`, { exact: true });
    await field.fill('1.5');
    await page.getByText('Whole numbers only').waitFor();
    await field.fill('many');
    await page.getByText('Type a number').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
    await field.press('Escape');
    expect(await field.inputValue()).toBe('5');
    expect(await shop.movements(id)).toHaveLength(1);
  });

  test('keeps every digit', async () => {
    const unit = { code: 'kg', precision: 5 };
    const { id, name } = await product('123456789012.12345', { unit });
    const { page } = await shop.enter();
    const field = page.getByLabel(`On hand of ${name}`, { exact: true });
    expect(await field.inputValue()).toBe('123,456,789,012.12345');
    await field.fill('123456789012.12346');
    await field.press('Enter');
    await page.getByText(`${name}: now 123,456,789,012.12346`).waitFor();
    // Whoever types goes on where he was.
    expect(await field.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
    expect(await shop.level(id, place)).toBe('123456789012.12346');
  });
});

test('what a scanner types is searched, wherever the page is', async () => {
  const { name, barcode } = await product('5');
  const { page } = await shop.enter();
  await page.getByLabel(`On hand of ${name}`, { exact: true }).waitFor();
  await page.keyboard.type(barcode);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  expect(await page.getByLabel(`On hand of ${name}`, { exact: true }).count()).toBe(1);
});

test('a sale elsewhere is seen without doing anything', async () => {
  const { id, name } = await product('5');
  const { page } = await shop.enter();
  const field = page.getByLabel(`On hand of ${name}`, { exact: true });
  await field.waitFor();
  const followed = page.waitForRequest(/events.*wait/);
  await followed;
  await shop.setLevel(id, place, '2');
  await expect.poll(() => field.inputValue()).toBe('2');
});

test('a moment shows what was there then, says so, and lets nobody change it', async () => {
  const { id, name } = await product('5');
  const moment = new Date(Date.now() + 1_000).toISOString();
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  await shop.setLevel(id, place, '1');
  const { page } = await shop.enter();
  await page.goto(`${here.service.api.origin}/console/?as_of=${moment}`);
  await page.getByText(/^Stock as it was on/).waitFor();
  const row = page.getByRole('row').filter({ hasText: name });
  await expect.poll(() => row.getByRole('cell').nth(1).innerText()).toContain('5');
  expect(await page.getByLabel(`On hand of ${name}`, { exact: true }).count()).toBe(0);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect
    .poll(() => page.getByLabel(`On hand of ${name}`, { exact: true }).inputValue())
    .toBe('1');
});

test('who may only look sees numbers, and no fields', async () => {
  const { name } = await product('5');
  const { page } = await shop.enter({ role: 'viewer' });
  await page.getByRole('row').filter({ hasText: name }).waitFor();
  expect(await page.getByLabel(`On hand of ${name}`, { exact: true }).count()).toBe(0);
  await page.goto(`${here.service.api.origin}/console/count`);
  await page.getByText('It needs the right “Change stock levels”').waitFor();
});

test('yesterday evening is one click away, and times there are no times ago', async () => {
  const { page } = await shop.enter({ role: 'viewer' });
  await page.getByRole('button', { name: 'Look back' }).click();
  await page.getByRole('button', { name: 'Yesterday evening' }).click();
  await page.getByText(/^Stock as it was on .*23:59$/).waitFor();
  const moment = new URL(page.url()).searchParams.get('as_of') ?? '';
  const shown = new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'medium' },
  });
  const yesterday = shown.format(Date.now() - 86_400_000).slice(0, 10);
  expect(shown.format(new Date(moment))).toBe(`${yesterday} 23:59:59`);
  await page.getByRole('button', { name: 'Look back' }).click();
  await page.getByRole('button', { name: 'End of last year' }).click();
  const year = new Date().getFullYear() - 1;
  await page.getByText(`Stock as it was on 31 Dec ${year}, 23:59`).waitFor();
});
