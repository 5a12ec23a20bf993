// How much a browser loads before somebody can work, as it was built.

import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console, password, type Shop } from '../kit/console.ts';

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
  const parts = new Set<string>();
  page.on('request', (request) => {
    const { pathname, origin } = new URL(request.url());
    expect(origin).toBe(here.service.api.origin);
    if (pathname.startsWith('/console/assets/')) parts.add(pathname);
  });
  const { invitation } = await shop.invite();
  await page.goto(`${here.service.api.origin}/console/invitation#${invitation}`);
  await page.reload();
  await page.goto(`${here.service.api.origin}/console/invitation#${invitation}`);
  await page.getByLabel('A password').fill(password);
  await page.getByRole('button', { name: 'Set the password and sign in' }).click();
  await page.getByRole('heading', { name: 'Stock', level: 1 }).waitFor();
  await page.waitForTimeout(500);
  let bytes = 0;
  for (const path of parts) {
    const answer = await fetch(here.service.api.origin + path);
    bytes += gzipSync(await answer.arrayBuffer()).length;
  }
  expect(parts.size).toBeGreaterThan(2);
  expect(bytes).toBeLessThan(250_000);
});
