// Who may do what: people who are invited, changed and revoked, and tokens of programs, in a
// browser.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { texts } from '../../console/src/texts.ts';
import { type Role, roles, scopesOfRole } from '../../src/access/roles.ts';
import { Console, password, type Shop } from '../kit/console.ts';

let here: Console;
let shop: Shop;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  await shop.location();
});
afterAll(() => here.stop());

async function enter(path: string, role?: Role) {
  const tab = await shop.enter(role === undefined ? {} : { role });
  await tab.page.goto(`${here.service.api.origin}/console${path}`);
  return tab;
}

const storageOf = (page: Page) =>
  page.evaluate<string>(
    'JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href',
  );

async function personCalled(name: string) {
  const { body } = await shop.api.get('/people?limit=200');
  return body.data.find((one: { name: string }) => one.name === name);
}

describe('a person', () => {
  test('is invited with a link, signs in, and is told when access is withdrawn', async () => {
    const { page } = await enter('/people');
    await page.getByRole('button', { name: 'Invite somebody' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Bea Becker');
    await page.getByRole('radio', { name: 'Cashier' }).check();
    await page.getByRole('button', { name: 'Make the link' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    const link = await page.getByLabel('Link', { exact: true }).inputValue();
    expect(await storageOf(page)).not.toContain('tb_inv_');
    expect(await personCalled('Bea Becker')).toMatchObject({ role: 'cashier', status: 'invited' });

    const hers = await here.open(link.slice(link.indexOf('/invitation')));
    await hers.getByLabel('A password').fill(password);
    await hers.getByRole('button', { name: 'Set the password and sign in' }).click();
    await hers.getByRole('button', { name: 'Signed in: Bea Becker' }).waitFor();

    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Change Bea Becker' }).click();
    await page.getByRole('menuitem', { name: 'Withdraw access' }).click();
    await page.getByRole('button', { name: 'Withdraw access' }).click();
    await expect.poll(async () => (await personCalled('Bea Becker')).status).toBe('revoked');
    await hers.getByText('You are no longer signed in').waitFor();
  });

  test('is changed; a change by somebody else meanwhile is shown, not overwritten', async () => {
    const { id } = await shop.invite({ name: 'Carl', role: 'viewer' });
    const { page } = await enter('/people');
    await page.getByRole('button', { name: 'Change Carl' }).click();
    await page.getByRole('menuitem', { name: 'Name, role' }).click();
    await page.getByRole('radio', { name: 'Stock keeper' }).check();
    await shop.api.patch(`/people/${id}`, { name: 'Carl Conrad' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody changed it meanwhile').waitFor();
    await page.getByRole('cell', { name: 'Carl Conrad' }).waitFor();
    expect(await personCalled('Carl Conrad')).toMatchObject({ role: 'viewer' });
    await page.getByRole('button', { name: 'Save mine' }).click();
    await expect.poll(async () => (await personCalled('Carl'))?.role).toBe('keeper');
  });

  test('is given another role and other locations, which count at once', async () => {
    const [mill, yard] = [await shop.location('Mill'), await shop.location('Yard')];
    const hers = await shop.enter({ name: 'Dora', role: 'viewer', locations: [mill] });
    await hers.page.getByRole('heading', { name: 'Stock', level: 1 }).waitFor();
    expect(await hers.page.getByRole('link', { name: 'Count' }).count()).toBe(0);
    const { page } = await enter('/people');
    await page.getByRole('button', { name: 'Change Dora' }).click();
    await page.getByRole('menuitem', { name: 'Name, role' }).click();
    await page.getByRole('radio', { name: 'Stock keeper' }).check();
    await page.getByRole('checkbox', { name: 'Mill' }).uncheck();
    await page.getByRole('checkbox', { name: 'Yard' }).check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await personCalled('Dora')).toMatchObject({
      ...{ role: 'keeper', all_locations: false, location_ids: [yard] },
    });
    await page.getByRole('row').filter({ hasText: 'Dora' }).filter({ hasText: 'Yard' }).waitFor();
    await hers.page.reload();
    await hers.page.getByRole('link', { name: 'Count' }).click();
    await expect
      .poll(() => hers.page.getByRole('combobox', { name: 'Location' }).inputValue())
      .toBe('Yard');
  });

  test('who is the last owner stays owner, and the page says so', async () => {
    const alone = await here.shop();
    const { page } = await alone.enter({ name: 'Only' });
    await page.goto(`${here.service.api.origin}/console/people`);
    await page.getByRole('button', { name: 'Change Only' }).click();
    await page.getByRole('menuitem', { name: 'Withdraw access' }).click();
    await page.getByRole('button', { name: 'Withdraw access' }).click();
    await page.getByRole('alert').waitFor();
    const { body } = await alone.api.get('/people');
    expect(body.data).toMatchObject([{ name: 'Only', status: 'active' }]);
  });
});

test('a token is shown once, works, and is not kept by the page', async () => {
  const { page } = await enter('/people?tab=programs');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByLabel('Name of the program').fill('Till 3');
  await page.getByLabel('See products').check();
  await page.getByLabel('Ends after so many days').fill('30');
  await page.getByRole('dialog').getByRole('button', { name: 'Make a token' }).click();
  const token = await page.getByLabel('Token', { exact: true }).inputValue();
  expect(await storageOf(page)).not.toContain('tb_pat_');
  const { status, body } = await here.service.api.as(token).get('/credential');
  expect([status, body.data.scopes]).toEqual([200, ['products.read']]);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  expect(await page.content()).not.toContain(token);
  await page.getByRole('button', { name: 'Change Till 3' }).click();
  await page.getByRole('menuitem', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await expect
    .poll(async () => (await here.service.api.as(token).get('/credential')).status)
    .toBe(401);
});

test('a program gets a new token, shown once, and the old one ends', async () => {
  const made = await shop.api.post('/tokens', { name: 'Till 9', scopes: ['products.read'] });
  const { id, token: old } = made.body.data;
  const { page } = await enter('/people?tab=programs');
  await page.getByRole('button', { name: 'Change Till 9' }).click();
  await page.getByRole('menuitem', { name: 'New token' }).click();
  await page.getByLabel('Somebody else may know the old one').check();
  await page.getByRole('dialog').getByRole('button', { name: 'New token' }).click();
  const token = await page.getByLabel('Token', { exact: true }).inputValue();
  expect(await storageOf(page)).not.toContain('tb_pat_');
  const { status, body } = await here.service.api.as(token).get('/credential');
  expect([status, body.data.id]).toEqual([200, id]);
  expect((await here.service.api.as(old).get('/credential')).status).toBe(401);
});

test('a token is given other rights, locations and another end, which count at once', async () => {
  const [mill, yard] = [await shop.location('Old mill'), await shop.location('Old yard')];
  const { body } = await shop.api.post('/tokens', {
    ...{ name: 'Scales', scopes: ['products.read'], location_ids: [mill], expires_in_days: 30 },
  });
  const till = here.service.api.as(body.data.token);
  const levelsAt = async (id: string) =>
    (await till.get(`/inventory/levels?location_id=${id}`)).status;
  expect(await levelsAt(yard)).toBe(403);
  const { page } = await enter('/people?tab=programs');
  await page.getByRole('button', { name: 'Change Scales' }).click();
  await page.getByRole('menuitem', { name: 'Name, rights, end' }).click();
  await page.getByLabel('Name of the program').fill('Scales 2');
  await page.getByLabel('See products').uncheck();
  await page.getByLabel('See stock').check();
  await page.getByRole('checkbox', { name: 'Old mill' }).uncheck();
  await page.getByRole('checkbox', { name: 'Old yard' }).check();
  await page.getByLabel('Give it another end').check();
  await page.getByLabel('Ends after so many days').fill('60');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const { data } = (await shop.api.get(`/tokens/${body.data.id}`)).body;
  expect(data).toMatchObject({
    ...{ name: 'Scales 2', scopes: ['inventory.read'], location_ids: [yard] },
  });
  const days = (Date.parse(data.expires_at) - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(60);
  expect([await levelsAt(yard), await levelsAt(mill)]).toEqual([200, 403]);
  expect((await till.get('/products')).status).toBe(403);
});

test('a token whose answer was lost is named without its text, which is said', async () => {
  const { page } = await enter('/people?tab=programs');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByLabel('Name of the program').fill('Till 4');
  await page.getByLabel('See stock').check();
  let isLost = false;
  await page.route('**/console/api/v1/tokens', async (route) => {
    if (isLost || route.request().method() !== 'POST') return route.continue();
    isLost = true;
    await route.fetch();
    return route.abort();
  });
  await page.getByRole('dialog').getByRole('button', { name: 'Make a token' }).click();
  await page.getByText('The token was lost on the way').waitFor();
  const { body } = await shop.api.get('/tokens?limit=200');
  const named = body.data.filter((one: { name: string }) => one.name === 'Till 4');
  expect(named).toHaveLength(1);
});

test('who may only look at work is told which right is missing', async () => {
  const { page } = await enter('/people', 'keeper');
  await page.getByText('It needs the right “See people and tokens”').waitFor();
  await page.goto(`${here.service.api.origin}/console/me`);
  await page.getByText('Stock keeper', { exact: true }).waitFor();
  await page.getByText('Change stock levels').waitFor();
});

test('a role is offered with what the service lets it do', async () => {
  const { page } = await enter('/people');
  await page.getByRole('button', { name: 'Invite somebody' }).click();
  for (const role of roles) {
    await page.getByRole('radio', { name: texts.roles[role] ?? role, exact: true }).check();
    const shown = page.getByRole('dialog').getByRole('listitem');
    const words: Readonly<Record<string, string>> = texts.scopes;
    const rights = scopesOfRole(role).map((scope) => words[scope]);
    await expect.poll(() => shown.allInnerTexts()).toEqual(rights);
  }
});
