// The screens of the console, with the demo's shop in it, for tests and pictures of all of them.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { connectDatabase } from '../../src/database/connect.ts';
import { createDemo, type Demo } from '../../src/demo/demo.ts';
import { Console, password, type Tab } from './console.ts';

export interface ScreenAddress {
  readonly name: string;
  readonly path: string;
}

/** Each, by the name of its picture. */
function screensOf(product: string, moment: string): readonly ScreenAddress[] {
  return [
    { name: 'stock', path: '/' },
    { name: 'stock-of-a-moment', path: `/?as_of=${moment}` },
    { name: 'product', path: `/products/${product}` },
    { name: 'overview', path: '/overview' },
    { name: 'count', path: '/count' },
    { name: 'move', path: '/move' },
    { name: 'movements', path: '/movements' },
    { name: 'requests', path: '/requests' },
    { name: 'customers', path: '/customers' },
    { name: 'locations', path: '/locations' },
    { name: 'import-and-export', path: '/exchange' },
    { name: 'webhooks', path: '/webhooks' },
    { name: 'people', path: '/people' },
    { name: 'me', path: '/me' },
    { name: 'nowhere', path: '/nowhere' },
  ];
}

export interface DemoConsole {
  readonly console: Console;
  readonly demo: Demo;
  readonly owner: Tab;
  readonly screens: readonly ScreenAddress[];
}

/** The demo's shop, and its owner, who is signed in. */
export async function startDemoConsole(): Promise<DemoConsole> {
  const console = await Console.start();
  const { service } = console;
  const access = connectDatabase({ url: service.db.serviceUrl, writers: 2 });
  const demo = await createDemo(service.service, access);
  await access.close();
  const page = await console.open(`/invitation#${demo.owner.invitation}`);
  await page.getByLabel('A password').fill(password);
  await page.getByRole('button', { name: 'Set the password and sign in' }).click();
  await page.getByRole('heading', { name: 'Stock', level: 1 }).waitFor();
  // A moment can be asked for when it is 5 s ago.
  const moment = new Date().toISOString();
  await page.waitForTimeout(5_500);
  await begin(page, service.api.origin);
  const { body } = await service.api.as(demo.token).get('/products?limit=1&sku=TEA-ASM-250');
  return {
    console,
    demo,
    owner: { page, id: demo.owner.id },
    screens: screensOf(body.data[0].id, moment),
  };
}

/** A sale and a count that are not finished: screens show them again. */
async function begin(page: Page, origin: string): Promise<void> {
  for (const path of ['/move', '/count']) {
    await openScreen(page, origin, path);
    if (path === '/count') await page.getByRole('button', { name: 'Begin a count' }).click();
    const field = page.getByRole('combobox', { name: 'Scan or search' });
    for (const sku of ['TEA-ASM-250', 'CHU-APL-280', 'TEA-ASM-250']) {
      await field.fill(sku);
      await field.press('Enter');
      await page.getByText(sku).first().waitFor();
    }
  }
}

/** Goes there and waits until nothing is on its way any more. */
export async function openScreen(page: Page, origin: string, path: string): Promise<void> {
  await page.goto(`${origin}/console${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  // Several parts may be on their way.
  const loading = page.getByRole('status', { name: 'Loading' });
  while ((await loading.count()) > 0) await page.waitForTimeout(50);
  await page.waitForTimeout(400);
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds on the page as it is, a line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  // The policy of the page lets no script in: the browser's own tools may.
  await page.evaluate(await readFile(axe, 'utf8'));
  const options = JSON.stringify({ runOnly: rules, resultTypes: ['violations'] });
  const found = await page.evaluate<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }[];
  }>(`axe.run(document, ${options})`);
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}
