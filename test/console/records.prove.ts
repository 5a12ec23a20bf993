// Customers and locations in a browser: made, changed once, and never over somebody else's change.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { created } from '../kit/again.ts';
import { Console, type Shop } from '../kit/console.ts';

let here: Console;
let shop: Shop;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  await shop.location();
});
afterAll(() => here.stop());

const open = (page: Page, path: string) => page.goto(`${here.service.api.origin}/console${path}`);

async function customer(name: string): Promise<string> {
  const { status, body } = await shop.api.post('/customers', { name, email: 'c@example.com' });
  expect(status).toBe(201);
  return body.data.id;
}

const read = async (path: string) => (await shop.api.get(path)).body.data;

describe('a customer', () => {
  test('is made once, however often somebody clicks', async () => {
    const { page } = await shop.enter({ role: 'keeper' });
    await open(page, '/customers');
    await page.getByRole('button', { name: 'New customer' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Ingrid Olsen');
    await form.getByLabel('E-mail address').fill('i@example.com');
    await form.getByLabel('Telephone').fill('+44 20 7946 0000');
    await form.getByRole('button', { name: 'Save' }).dblclick();
    await page.getByText('Ingrid Olsen: saved').waitFor();
    const found = await read('/customers?q=Ingrid');
    expect(found).toMatchObject([{ email: 'i@example.com', phone: '+442079460000', note: null }]);
    expect(found).toHaveLength(1);
    await page.getByRole('button', { name: 'Ingrid Olsen' }).waitFor();
  });

  test('is found by name, changed and archived', async () => {
    const id = await customer('Wanda Nowak');
    const { page } = await shop.enter();
    await open(page, '/customers');
    await page.getByLabel('Search name or e-mail address').fill('wan');
    await page.getByRole('button', { name: 'Wanda Nowak' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Note').fill('Calls on Mondays.');
    await form.getByRole('combobox', { name: 'Status' }).click();
    await page.getByRole('option', { name: 'Archived' }).click();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Wanda Nowak: saved').waitFor();
    expect(await read(`/customers/${id}`)).toMatchObject({
      note: 'Calls on Mondays.',
      status: 'archived',
      version: 2,
    });
  });

  test('that two change at once shows both, and keeps what the other one did', async () => {
    const id = await customer('Olu Bello');
    const { page } = await shop.enter();
    // This browser does not learn of it before it saves.
    await page.route('**/console/api/v1/events*', (route) => route.abort());
    await open(page, `/customers?open=${id}`);
    const form = page.getByRole('dialog');
    await form.getByLabel('Note').fill('mine');
    const other = await shop.enter({ role: 'keeper' });
    await open(other.page, `/customers?open=${id}`);
    const theirs = other.page.getByRole('dialog');
    await theirs.getByLabel('Note').fill('theirs');
    await theirs.getByLabel('Telephone').fill('+442079460001');
    await theirs.getByRole('button', { name: 'Save' }).click();
    await other.page.getByText('Olu Bello: saved').waitFor();

    await form.getByRole('button', { name: 'Save' }).click();
    const both = form.getByRole('row').filter({ hasText: 'Note' });
    await both.filter({ hasText: 'theirs' }).filter({ hasText: 'mine' }).waitFor();
    expect(await read(`/customers/${id}`)).toMatchObject({ note: 'theirs', version: 2 });
    await form.getByRole('button', { name: 'Save mine' }).click();
    await page.getByText('Olu Bello: saved').waitFor();
    expect(await read(`/customers/${id}`)).toMatchObject({
      note: 'mine',
      phone: '+442079460001',
      version: 3,
    });
  });

  test('keeps what was typed when the page is closed', async () => {
    const id = await customer('Ray Quinn');
    const tab = await shop.enter();
    await open(tab.page, `/customers?open=${id}`);
    await tab.page.getByRole('dialog').getByLabel('Note').fill('half a sen');
    await tab.page.close();
    const page = await here.another(tab, `/customers?open=${id}`);
    const note = page.getByRole('dialog').getByLabel('Note');
    await expect.poll(() => note.inputValue()).toBe('half a sen');
    expect(await read(`/customers/${id}`)).toMatchObject({ note: null, version: 1 });
  });

  test('is only shown to who may look', async () => {
    const id = await customer('Uma Sen');
    const { page } = await shop.enter({ role: 'viewer' });
    await open(page, `/customers?open=${id}`);
    await page.getByRole('dialog').getByText(id).waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'New customer' }).count()).toBe(0);
  });
});

test('a location is made, refused under a code that is taken, and made inactive', async () => {
  await created(shop.api, '/locations', { name: 'First', code: 'TAKEN' });
  const { page } = await shop.enter();
  await open(page, '/locations');
  await page.getByRole('button', { name: 'New location' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name').fill('Quay');
  await form.getByLabel('Code').fill('TAKEN');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByRole('alert').waitFor();
  await form.getByLabel('Code').fill('QUAY');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Quay: saved').waitFor();
  const [made] = await read('/locations?code=QUAY');
  expect(made).toMatchObject({ name: 'Quay', status: 'active', timezone: 'Europe/Berlin' });

  await page.getByRole('button', { name: 'Quay' }).click();
  await form.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'Inactive' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row').filter({ hasText: 'Quay' }).getByText('Inactive').waitFor();
  expect(await read(`/locations/${made.id}`)).toMatchObject({ status: 'inactive', version: 2 });
});
