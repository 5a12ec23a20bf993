// How much a browser loads before somebody can work, as it was built.

import { gzipSync } from 'node:zlib';
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

test('the first screen is 250 kB at most, and comes from the service alone', async () => {
  const page = await here.open('/');
  const parts = new Map<string, number>();
  page.on('response', async (response) => {
    const { pathname, origin } = new URL(response.url());
    expect(origin).toBe(here.service.api.origin);
    if (!pathname.startsWith('/console/assets/')) return;
    parts.set(pathname, gzipSync(await response.body()).length);
  });
  const { invitation } = await shop.invite();
  await page.goto(`${here.service.api.origin}/console/invitation#${invitation}`);
  await page.reload();
  await page.goto(`${here.service.api.origin}/console/invitation#${invitation}`);
  await page.getByLabel('A password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Set the password and sign in' }).click();
  await page.getByRole('heading', { name: 'Stock', level: 1 }).waitFor();
  const bytes = [...parts.values()].reduce((sum, one) => sum + one, 0);
  expect(parts.size).toBeGreaterThan(2);
  expect(bytes).toBeLessThan(250_000);
});
