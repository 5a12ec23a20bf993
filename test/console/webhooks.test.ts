// Webhooks in a browser: made, paused, and their secret read.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console, type Shop } from '../kit/console.ts';

let here: Console;
let shop: Shop;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  await shop.location();
});
afterAll(() => here.stop());

test('a webhook is made, shows its secret, and is paused', async () => {
  const { page, id } = await shop.enter();
  await page.goto(`${here.service.api.origin}/console/webhooks`);
  await page.getByRole('button', { name: 'Make a webhook' }).click();
  await page.getByLabel('Address').fill('https://shop.example.com/hook');
  await page.getByRole('combobox', { name: 'What is sent?' }).click();
  await page.getByRole('option', { name: 'Stock adjusted' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').getByRole('button', { name: 'Make a webhook' }).click();
  const secret = await page.getByRole('textbox', { name: 'Secret' }).inputValue();
  expect(secret).toMatch(/^whsec_/);
  expect(await page.evaluate<string>('JSON.stringify(localStorage)')).not.toContain('whsec_');
  const made = async () => (await shop.api.get('/webhooks')).body.data;
  expect(await made()).toMatchObject([
    {
      url: 'https://shop.example.com/hook',
      types: ['inventory.adjusted'],
      status: 'active',
      credential_id: id,
    },
  ]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^More about/ }).click();
  await page.getByRole('menuitem', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect.poll(async () => (await made())[0].status).toBe('paused');
  await page.getByText('Somebody paused it.').waitFor();
});
