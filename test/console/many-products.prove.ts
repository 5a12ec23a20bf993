// The stock of a location with 100,000 products: there at once, and scrolled to the end of what a
// person scrolls.

import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console, Shop } from '../kit/console.ts';
import { addProducts, createMerchants, settle, single } from '../kit/many-rows.ts';

let here: Console;
let shop: Shop;

beforeAll(async () => {
  here = await Console.start();
  const owner = new pg.Client({ connectionString: here.service.db.ownerUrl });
  await owner.connect();
  const group = await addProducts(owner, await createMerchants(owner, 1), 100_000);
  await settle(owner);
  await owner.end();
  shop = new Shop(here.service.api.as(single(group).token), here);
}, 240_000);
afterAll(() => here.stop());

test('the first of 100,000 products are shown within 500 ms', async () => {
  const { page } = await shop.enter();
  const rows = page.locator('.rows [role=rowgroup]:last-child [role=row]');
  await rows.first().waitFor();
  const times: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    await page.goto(`${here.service.api.origin}/console/me`);
    await page.getByRole('heading', { name: 'Who am I?' }).waitFor();
    const started = performance.now();
    await page.getByRole('link', { name: 'Stock', exact: true }).click();
    await rows.first().waitFor();
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  process.stdout.write(`first rows: ${times.map((one) => one.toFixed(0)).join(', ')} ms\n`);
  // The best of five: this machine does other things as well.
  expect(times[0]).toBeLessThan(500);
}, 120_000);

/**
 * Notes when the third row is there, at the next frame. A locator would look again after up to half
 * a second.
 */
const noteReady = `
  const look = () => {
    if (document.querySelectorAll('.rows [role=row]').length < 3) requestAnimationFrame(look);
    else window.readyAfter = performance.now();
  };
  look();`;

test('the page is ready within a second', async () => {
  const { page } = await shop.enter();
  await page.addInitScript(noteReady);
  const times: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    await page.reload();
    await page.locator('.rows [role=row]').nth(2).waitFor();
    times.push(await page.evaluate('window.readyAfter'));
  }
  times.sort((a, b) => a - b);
  process.stdout.write(`ready: ${times.map((one) => one.toFixed(0)).join(', ')} ms\n`);
  expect(times[0]).toBeLessThan(1_000);
}, 120_000);

test('scrolling reads on, and keeps few rows in the page', async () => {
  const { page } = await shop.enter();
  const rows = page.locator('.rows [role=row]');
  await rows.nth(2).waitFor();
  for (let n = 0; n < 40; n += 1) {
    await page.mouse.wheel(0, 2_500);
    await page.waitForTimeout(50);
  }
  const lastIndex = () =>
    rows
      .last()
      .evaluate((row: { getAttribute(name: string): string | null }) =>
        Number(row.getAttribute('aria-rowindex')),
      );
  await expect.poll(lastIndex).toBeGreaterThan(1_000);
  expect(await rows.count()).toBeLessThan(80);
}, 120_000);
