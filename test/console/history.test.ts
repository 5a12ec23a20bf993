// What happened, as the console tells it: who changed a level, what became of a request, and what
// needs somebody.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, type Shop } from '../kit/console.ts';

let here: Console;
let shop: Shop;
let place: string;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  place = await shop.location('Harbour Street');
});
afterAll(() => here.stop());

const pathOf = (path: string) => `${here.service.api.origin}/console${path}`;

describe('movements', () => {
  test('say who changed a level, from what to what, why, and by which request', async () => {
    const product = await shop.product({ name: 'Rye', sku: 'RYE' }, place, '5');
    const keeper = await shop.enter({ name: 'Grace', role: 'keeper' });
    await keeper.page.getByLabel('On hand of Rye', { exact: true }).fill('7');
    await keeper.page.getByLabel('Note').fill('behind the crates');
    await keeper.page.getByRole('button', { name: 'Save' }).click();
    await keeper.page.getByText('Rye: now 7').waitFor();
    const [last] = await shop.movements(product);

    const { page } = await shop.enter();
    await page.goto(pathOf('/movements'));
    await page.getByRole('combobox', { name: 'Product' }).fill('RYE');
    await page.getByRole('option', { name: 'Rye · RYE' }).click();
    await expect.poll(() => page.getByRole('button', { name: /^Explain/ }).count()).toBe(2);
    await page
      .getByRole('button', { name: /^Explain/ })
      .first()
      .click();
    await page.getByText('Grace set the number from 5 to 7.').waitFor();
    const row = page.getByRole('row').filter({ hasText: 'behind the crates' }).first();
    expect(await row.innerText()).toMatch(/Rye[\s\S]*Harbour Street[\s\S]*\+2[\s\S]*7/);
    await page.getByRole('link', { name: last.operation_id }).first().click();
    await page.getByRole('heading', { name: 'It happened: set a level' }).waitFor();
    expect(last.actor.credential_id).toBe(keeper.id);
  });

  test('appear by themselves, marked as new', async () => {
    const product = await shop.product({ name: 'Oats' }, place, '5');
    const { page } = await shop.enter();
    const followed = page.waitForRequest(/events.*wait/);
    await page.goto(pathOf(`/movements?product=${product}`));
    await page.getByRole('button', { name: /^Explain/ }).waitFor();
    await followed;
    await shop.setLevel(product, place, '3');
    await page.getByText('1 new').waitFor();
    await page.getByRole('row').filter({ hasText: '−2' }).waitFor();
  });

  test('of another day, another reason or another place are left out', async () => {
    const product = await shop.product({ name: 'Lentils' }, place, '5');
    const { page } = await shop.enter({ role: 'viewer' });
    await page.goto(pathOf(`/movements?product=${product}&reason=stock_count`));
    await page.getByRole('button', { name: /^Explain/ }).waitFor();
    for (const query of ['reason=sale', 'to=2020-01-31', 'from=2100-01-01']) {
      await page.goto(pathOf(`/movements?product=${product}&${query}`));
      await page.getByText('No movement is found.').waitFor();
    }
  });
});

describe('what became of a request', () => {
  test('is found by its key, in words, for whoever sent it', async () => {
    const product = await shop.product({ name: 'Tea' }, place, '5');
    const key = 'till-3-sale-77-line-1';
    const form = { product_id: product, location_id: place, reason: 'correction' };
    const adjust = (target: string) =>
      shop.api.post('/inventory/adjustments', { ...form, target_quantity: target }, { key });
    const { body } = await adjust('4');
    const { page } = await shop.enter();
    await page.goto(pathOf('/requests'));
    await page.getByLabel('What became of my request?').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'It happened: set a level' }).waitFor();
    await page.getByText('It happened once.').waitFor();
    const moved = page.getByRole('table', { name: 'Movements' }).getByRole('row');
    await moved.filter({ hasText: 'Tea' }).filter({ hasText: '−1' }).waitFor();
    await page.goto(pathOf(`/requests?q=${body.meta.request_id}`));
    await page.getByRole('heading', { name: 'It happened: set a level' }).waitFor();
  });

  test('that was refused is why, and that nothing was changed', async () => {
    const product = await shop.product({ name: 'Salt' }, place, '5');
    const answer = await shop.api.post('/inventory/adjustments', {
      product_id: product,
      location_id: place,
      target_quantity: '9',
      expected_quantity: '6',
      reason: 'correction',
    });
    expect(answer.code).toBe('inventory_quantity_mismatch');
    const { page } = await shop.enter({ role: 'keeper' });
    await page.goto(pathOf('/requests?status=rejected'));
    const row = page.getByRole('row').filter({ hasText: 'The level was another one meanwhile' });
    await row.getByRole('link', { name: 'Set a level' }).click();
    await page.getByRole('heading', { name: 'It was refused' }).waitFor();
    await page.getByText('Nothing was changed, and nothing will be under this key.').waitFor();
    await page.getByText(answer.body.error.details[0].message).waitFor();
    expect(await shop.level(product, place)).toBe('5');
  });

  test('that nobody knows is said with what it means', async () => {
    const { page } = await shop.enter({ role: 'viewer' });
    await page.goto(pathOf('/requests?q=a-key-that-never-arrived'));
    await page.getByText('Nothing is known under this text').first().waitFor();
    await page.getByText('Send the same again with the same key').waitFor();
    await page.getByLabel('What became of my request?').fill('too short');
    await page.keyboard.press('Enter');
    await page.getByText('This is no ID, and no key either').waitFor();
  });
});

test('the overview shows what moved, what is low, and what was short', async () => {
  const market = await shop.location('Market');
  const form = { name: 'Honey', low_stock_at: '3' };
  const product = await shop.product(form, market, '2');
  const { status } = await shop.api.post('/inventory/transfers', {
    from_location_id: market,
    to_location_id: null,
    reason: 'sale',
    shortage: 'record',
    lines: [{ product_id: product, quantity: '5' }],
  });
  expect(status).toBe(201);
  const { page } = await shop.enter();
  await page.goto(pathOf(`/overview?location=${market}`));
  const part = (name: string) => page.getByRole('region', { name });
  await part('Running low').getByText('0 left (low at 3)').waitFor();
  await part('Was short').getByText('3 of 5 missing').waitFor();
  await part('Needs somebody').getByText(/./).first().waitFor();
  const days = part('Movements of the last 30 days');
  await days.getByText('2 movements here').waitFor();
  await days.getByText('Show the figures').click();
  await days.getByText(/^(Counted: 1 · Sold: 1|Sold: 1 · Counted: 1)$/).waitFor();
  await part('Running low').getByRole('link', { name: 'Open in Stock' }).click();
  await page.getByRole('row').filter({ hasText: 'Honey' }).waitFor();
});
