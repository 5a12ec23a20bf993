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

  test('that was refused for want of stock names the product', async () => {
    const product = await shop.product({ name: 'Pepper' }, place, '1');
    const { code } = await shop.api.post('/inventory/transfers', {
      ...{ from_location_id: place, reason: 'sale' },
      lines: [{ product_id: product, quantity: '2' }],
    });
    expect(code).toBe('insufficient_quantity');
    const { page } = await shop.enter({ role: 'keeper' });
    await page.goto(pathOf('/requests?status=rejected'));
    const row = page.getByRole('row').filter({ hasText: 'Not enough was there' });
    await row.getByRole('link', { name: 'Pepper' }).waitFor();
    await row.getByRole('link', { name: 'Move stock' }).click();
    await page.getByRole('heading', { name: 'It was refused' }).waitFor();
    await page.getByRole('alert').getByRole('link', { name: 'Pepper' }).click();
    await page.getByRole('heading', { name: 'Pepper', level: 1 }).waitFor();
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
  await days.getByText(/^(Count: 1 · Sale: 1|Sale: 1 · Count: 1)$/).waitFor();
  await part('Running low').getByRole('link', { name: 'Open in Stock' }).click();
  await page.getByRole('row').filter({ hasText: 'Honey' }).waitFor();
});

test('the overview names what needs somebody, and leads to where it is mended', async () => {
  const alone = await here.shop();
  const mill = await alone.location('Mill');
  const make = async (path: string, body: object) => {
    const answer = await alone.api.post(path, body);
    expect(answer.status).toBe(201);
    return answer.body.data.id as string;
  };
  const { page } = await alone.enter({ name: 'Ada' });
  await page.goto(pathOf('/overview'));
  const panel = page.getByRole('region', { name: 'Needs somebody' });
  const lines = async () => (await panel.getByRole('listitem').allInnerTexts()).join('\n');
  await panel.waitFor();
  await panel.getByText('Nothing needs you. All is well.').waitFor();
  const scopes = ['products.read'];
  const till = await make('/tokens', { name: 'Till 7', scopes, all_locations: true });
  const scales = await make('/tokens', { name: 'Scales', scopes, all_locations: true });
  const late = await make('/people', { name: 'Bea', role: 'viewer', all_locations: true });
  const hook = await make('/webhooks', { url: 'https://a.example.com/x', status: 'paused' });
  const product = await alone.product({ name: 'Rye' }, mill, '5');
  const lines1 = [{ product_id: product, quantity: '1' }];
  const aside = await make('/inventory/reservations', { location_id: mill, lines: lines1 });
  const { sql } = here.service.db;
  const end = `update credential_tokens set created_at = now() - interval '80 days',
    expires_at = now() + $2::interval where credential_id = $1`;
  await sql(end, [till, '-1 day']);
  await sql(end, [scales, '13 days']);
  await sql('update credentials set invitation_expires_at = now() where id = $1', [late]);
  await sql(`update webhooks set pause_reason = 'receiver_gone' where id = $1`, [hook]);
  await sql(
    `update inventory_reservations set status = 'expired', ended_at = now(),
       end_operation_id = operation_id where id = $1`,
    [aside],
  );
  const { body } = await alone.api.get('/status');
  const codes = body.data.needs.map(({ code }: { readonly code: string }) => code);
  expect(codes).toEqual([
    ...['token_ended', 'token_ends', 'invitation_ended', 'webhook_paused', 'reservations_expired'],
  ]);
  await page.reload();
  await expect.poll(lines).toMatch(/Till 7\s+This token has ended/);
  expect(await lines()).toMatch(/Scales\s+This token ends soon/);
  expect(await lines()).toMatch(/Bea\s+The invitation was not used in time/);
  expect(await lines()).toMatch(/A webhook\s+It is paused/);
  expect(await lines()).toMatch(/Mill\s+Something put aside here was not fetched in time/);
  await panel.getByRole('link', { name: 'A webhook' }).click();
  await page.getByText('the receiver said that it is gone').waitFor();
  await page.goBack();
  await panel.getByRole('link', { name: 'Bea' }).click();
  await page.getByRole('row').filter({ hasText: 'Bea' }).getByText('Invitation ran out').waitFor();
});
