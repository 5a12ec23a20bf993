// What people allow applications of other sites, in a browser that keeps the rules about cookies:
// the session does not come along when another site leads there, and counts on our own page.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approve } from '../../src/access/operator/applications.ts';
import type { MerchantId, Scope } from '../../src/core/principal.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { Console, password, type Shop } from '../kit/console.ts';
import { authorizationRequest, type GivenApplication, givenApplication } from '../kit/oauth.ts';
import { axeFindings } from '../kit/screens.ts';

const scopes: readonly Scope[] = ['inventory.read', 'locations.read'];
const scope = scopes.join(' ');

let here: Console;
let shop: Shop;
let harbour: string;
let operator: Database;
let site: Server;
/** Of the application: another host than the service's. */
let origin: string;
let made: GivenApplication;
/** Where the application's page leads to. */
let leadsTo = '';

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  await shop.location('Main Street');
  harbour = await shop.location('Harbour');
  site = createServer((_, response) => {
    const link = leadsTo.replaceAll('&', '&amp;');
    response.setHeader('content-type', 'text/html');
    response.end(`<title>Site</title><link rel="icon" href="data:,"><a href="${link}">Connect</a>`);
  });
  await new Promise<void>((resolve) => site.listen(0, 'localhost', resolve));
  origin = `http://localhost:${(site.address() as AddressInfo).port}`;
  operator = connectDatabase({ url: here.service.db.serviceUrl, writers: 1 });
  const redirectUris = [`${origin}/callback`];
  made = await givenApplication(operator, here.service.api.origin, { scopes, redirectUris });
  const { body } = await shop.api.get('/credential');
  const merchant: MerchantId = body.data.merchant.id;
  await approve(operator, made.id, { merchant, scopes, locations: 'all' });
});
afterAll(async () => {
  await operator.close();
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
  await here.stop();
});

/** From the page of the application on. */
async function connect(page: Page) {
  const redirect_uri = `${origin}/callback`;
  const { url, exchange } = await authorizationRequest(made, {
    ...{ scope, redirect_uri, locations: harbour },
  });
  leadsTo = url;
  await page.goto(origin);
  await page.getByRole('link', { name: 'Connect' }).click();
  const allow = async () => {
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${redirect_uri}?*`);
    return (await exchange(page.url())).access_token;
  };
  return { allow };
}

const consent = { name: /^Allow Stock <Sync> at / } as const;

describe('an application of another site', () => {
  test('is allowed by who is signed in, listed with who that was, and withdrawn', async () => {
    const { page } = await shop.enter({ name: 'Olga' });
    const cookies: (string | undefined)[] = [];
    page.on('response', async (response) => {
      if (!new URL(response.url()).pathname.startsWith('/console/consent/')) return;
      if (response.request().method() === 'GET') {
        cookies.push((await response.request().allHeaders()).cookie);
      }
    });
    const { allow } = await connect(page);
    await page.getByRole('heading', consent).waitFor();
    await page.getByText('You are signed in as Olga.').waitFor();
    await expect.poll(() => cookies.length).toBe(2);
    expect(cookies.map((cookie) => cookie?.includes('tallybook_session='))).toEqual([false, true]);
    expect(await page.getByRole('checkbox', { name: /^Harbour/ }).isChecked()).toBe(true);
    expect(await page.content()).not.toContain('>loc_');
    const token = await allow();
    const theirs = here.service.api.as(token);
    const { body } = await theirs.get('/credential');
    expect(body.data).toMatchObject({ locations: [harbour], application: { id: made.id } });

    await page.goto(`${here.service.api.origin}/console/people?tab=programs`);
    const row = page.getByRole('row').filter({ hasText: 'allowed by Olga' });
    await row.getByRole('button', { name: 'Change Stock <Sync>' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await theirs.get('/credential')).status).toBe(401);
  });

  test('waits while somebody signs in, who comes back to what was asked', async () => {
    const { page } = await shop.enter({ name: 'Paul' });
    await page.getByRole('button', { name: 'Signed in: Paul' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const { allow } = await connect(page);
    await page.getByText('It asks for one location.').waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Paul');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', consent).waitFor();
    await page.getByText('You are signed in as Paul.').waitFor();
    const { body } = await here.service.api.as(await allow()).get('/credential');
    expect(body.data.locations).toEqual([harbour]);
  });

  test('gets nothing from who refuses', async () => {
    const { page } = await shop.enter();
    await connect(page);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.waitForURL(`${origin}/callback?error=access_denied*`);
  });
});

test('the way back from signing in leads to a request for consent, and nowhere else', async () => {
  const { page } = await shop.enter();
  for (const to of ['https:%2F%2Fevil.example', '%2F%2Fevil.example', '..%2F..%2Fdocs', 'short']) {
    await page.goto(`${here.service.api.origin}/console/allow/${to}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const at = new URL(page.url());
    expect([at.origin, at.pathname]).toEqual([
      here.service.api.origin,
      expect.stringMatching(/^\/console\/allow\//),
    ]);
  }
});

test('axe finds nothing on the page that asks, on any screen', async () => {
  const { page } = await shop.enter({ name: 'Ruth' });
  await connect(page);
  await page.getByRole('heading', consent).waitFor();
  const found: string[] = [];
  for (const width of [390, 1400]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      found.push(...(await axeFindings(page)), ...(wide > width ? [`${wide} wide`] : []));
    }
  }
  expect(found).toEqual([]);
});
